/** Whatever is asked of SQLite, it flushes nothing: thousands of journals that nobody will miss. */
import { DatabaseSync } from 'node:sqlite'

const exec: (this: unknown, sql: string) => void = Reflect.get(DatabaseSync.prototype, 'exec')

export function flushNothing(): void {
  DatabaseSync.prototype.exec = unflushed
}

function unflushed(this: DatabaseSync, sql: string): void {
  exec.call(this, sql.replaceAll(/\bsynchronous\s*=\s*\w+/gi, 'synchronous = off'))
}
