/**
 * Logging as a port. What the house logs is a message for people and fields for machines; where it
 * goes is decided once, by whoever composes the system.
 *
 * Logging never throws, whatever it is given and however broken the thing is that it writes to, and
 * a line has a bound (`plain.ts`).
 */
import { systemClock, type Clock } from './clock.ts'
import { PLAIN_VALUES_MAX, plainFields, plainText, type PlainFields } from './plain.ts'

export type LogFields = Readonly<Record<string, unknown>>

export interface Log {
  debug(message: string, fields?: LogFields): void
  info(message: string, fields?: LogFields): void
  warn(message: string, fields?: LogFields): void
  error(message: string, fields?: LogFields): void
  /** The same log with these fields in every line; a line's own fields win. */
  child(fields: LogFields): Log
}

export type LogLevel = 'debug' | 'info' | 'warn' | 'error'

export type LineLogOptions = Readonly<{
  /** Lines below it are not written. Default `info`. */
  level?: LogLevel
  clock?: Pick<Clock, 'now'>
}>

const RANK: Readonly<Record<LogLevel, number>> = { debug: 0, info: 1, warn: 2, error: 3 }

export const silentLog: Log = {
  debug: ignore,
  info: ignore,
  warn: ignore,
  error: ignore,
  child: () => silentLog,
}

/**
 * One JSON object a line: `at` (wall time in ms), `level` and `message`, then the fields. A field
 * that bears one of these three names is written with an underscore behind it.
 */
export function lineLog(write: (line: string) => void, options: LineLogOptions = {}): Log {
  const { level: threshold = 'info', clock = systemClock } = options
  return withFields({}, PLAIN_VALUES_MAX)

  function withFields(kept: PlainFields, valuesLeft: number): Log {
    const at = (level: LogLevel): Log[LogLevel] =>
      RANK[level] < RANK[threshold]
        ? ignore
        : (message, fields) =>
            writeLine(level, message, { ...kept, ...plainFields(fields, valuesLeft) })
    return {
      debug: at('debug'),
      info: at('info'),
      warn: at('warn'),
      error: at('error'),
      child(fields) {
        const own = plainFields(fields, valuesLeft)
        return withFields({ ...kept, ...own }, valuesLeft - Object.keys(own).length)
      },
    }
  }

  function writeLine(level: LogLevel, message: string, fields: PlainFields): void {
    const head = { at: clock.now(), level, message: plainText(message) }
    for (const name of ['at', 'level', 'message']) {
      if (!(name in fields)) continue
      fields[`${name}_`] = fields[name]
      delete fields[name]
    }
    try {
      write(JSON.stringify({ ...head, ...fields }))
    } catch {
      // There is nowhere left to say it, and the caller's work must not fail for it.
    }
  }
}

function ignore(): void {}
