/**
 * Preloaded into a process under test, this takes back what its code asks of SQLite: whatever it says
 * about flushing, nothing is flushed.
 */
import { DatabaseSync } from 'node:sqlite'

const exec: (this: unknown, sql: string) => void = Reflect.get(DatabaseSync.prototype, 'exec')

DatabaseSync.prototype.exec = function weakened(sql: string): void {
  exec.call(this, sql.replaceAll(/\bsynchronous\s*=\s*\w+/gi, 'synchronous = off'))
}
