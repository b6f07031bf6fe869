/** Somebody else's log, which may throw: a turn must not end for want of a line. */
import type { Log, LogFields } from '../../std/index.ts'

export function guardedLog(log: Log): Log {
  const guarded =
    (level: 'debug' | 'info' | 'warn' | 'error') =>
    (message: string, fields?: LogFields): void => {
      try {
        log[level](message, fields)
      } catch {
        // There is nowhere left to say it.
      }
    }
  return {
    debug: guarded('debug'),
    info: guarded('info'),
    warn: guarded('warn'),
    error: guarded('error'),
    child: (fields) => guardedLog(log.child(fields)),
  }
}
