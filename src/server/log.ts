/**
 * The log of the server: pino behind the port of `std`.
 *
 * A line is a JSON object with `time`, `level`, `msg`, then what the caller gave, among it `component`,
 * `traceId` and `spanId`; or the same for people, where the config says `pretty`. What bears the name of
 * a secret is not written, at any depth a log has. Like every log it never throws.
 */
import { writeSync } from 'node:fs'
import { pino, stdTimeFunctions, type Logger } from 'pino'

import { plainFields, plainText, type Log, type LogFields, type LogLevel } from '../std/index.ts'
import { REDACTED } from './config-keys.ts'

export type LogOptions = Readonly<{
  level: LogLevel
  format: 'json' | 'pretty'
  /** Where lines go; standard output unless said otherwise. */
  write?: (line: string) => void
  colors?: boolean
}>

/** In lower case; a field is secret whatever stands around the word. */
const SECRET = /authorization|cookie|password|secret|sha256|token$|^jwt$/i

export function serverLog(options: LogOptions): Log {
  const { level, format, colors = false } = options
  const write = options.write ?? toStandardOutput
  const destination = {
    write: format === 'json' ? write : (line: string) => write(prettyLine(line, colors)),
  }
  const logger = pino(
    {
      level,
      base: null,
      timestamp: stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
    },
    destination,
  )
  return over(logger)
}

function over(logger: Logger): Log {
  const at =
    (level: LogLevel): Log[LogLevel] =>
    (message, fields) => {
      if (!logger.isLevelEnabled(level)) return
      try {
        logger[level](clean(fields), plainText(message))
      } catch {
        // There is nowhere left to say it, and the caller's work must not fail for it.
      }
    }
  return {
    debug: at('debug'),
    info: at('info'),
    warn: at('warn'),
    error: at('error'),
    child: (fields) => over(logger.child(clean(fields))),
  }
}

/** Names that the line itself uses get an underscore behind them. */
function clean(fields: LogFields | undefined): Record<string, unknown> {
  const plain = plainFields(fields)
  for (const name of ['time', 'level', 'msg']) {
    if (!(name in plain)) continue
    plain[`${name}_`] = plain[name]
    delete plain[name]
  }
  redact(plain)
  return { ...plain } // pino asks its own objects for inherited methods
}

/** What is plain is neither cyclic nor deep. */
function redact(value: object): void {
  for (const [name, inner] of Object.entries(value)) {
    if (SECRET.test(name)) Reflect.set(value, name, REDACTED)
    else if (typeof inner === 'object' && inner !== null) redact(inner)
  }
}

const COLORS: Readonly<Record<string, number>> = { debug: 90, info: 36, warn: 33, error: 31 }

/** Time of day, level, who, what, and the rest as `name=value`. */
export function prettyLine(line: string, colors: boolean): string {
  const { time, level, msg, component, ...rest }: Readonly<Record<string, unknown>> =
    JSON.parse(line)
  const paint = (text: string, color: number): string =>
    colors ? `\u001b[${color}m${text}\u001b[0m` : text
  const word = String(level).toUpperCase().padEnd(5)
  const more = Object.entries(rest).map(
    ([name, value]) => `${name}=${typeof value === 'string' ? value : JSON.stringify(value)}`,
  )
  return [
    paint(String(time).slice(11, 23), 90),
    paint(word, COLORS[String(level)] ?? 0),
    ...(typeof component === 'string' ? [`${component}:`] : []),
    typeof msg === 'string' ? msg : '',
    paint(more.join(' '), 90),
  ]
    .join(' ')
    .trimEnd()
    .concat('\n')
}

const STANDARD_OUTPUT = 1

/** A line is out before the process can end. Whoever reads too slowly loses lines, not the service. */
function toStandardOutput(line: string): void {
  try {
    writeSync(STANDARD_OUTPUT, line)
  } catch {
    // The reader has gone (EPIPE) or is behind (EAGAIN).
  }
}
