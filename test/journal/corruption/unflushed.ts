/** Whatever is asked of SQLite, it flushes nothing: thousands of journals that nobody will miss. */
import { DatabaseSync } from 'node:sqlite'

const exec: (this: unknown, sql: string) => void = Reflect.get(DatabaseSync.prototype, 'exec')

DatabaseSync.prototype.exec = function unflushed(sql: string): void {
  exec.call(this, sql.replaceAll(/\bsynchronous\s*=\s*\w+/gi, 'synchronous = off'))
}
