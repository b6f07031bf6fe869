/**
 * Cuts what a run prints into lines that are masked, and no longer and no more than a log may have.
 *
 * A line is masked as it comes and cut afterwards, so that no part of a secret is left at the cut. What
 * is over the bounds is counted and dropped: a run that prints without end costs neither memory nor disk.
 */
import { StringDecoder } from 'node:string_decoder'

import type { MaskedStream } from '../secrets/secrets.ts'

export interface LogLines {
  /** One reader for each stream. */
  reader(): LineReader
}

export interface LineReader {
  write(chunk: Buffer): void
  end(): void
}

export type LogLinesOptions = Readonly<{
  /** Called for each line. */
  masked: () => MaskedStream
  onLine: (line: string) => void
}>

/** Characters of one line of the log of a run. */
export const LOG_LINE_CHARACTERS_MAX = 10_000

/** Characters of the log of a run. */
export const LOG_CHARACTERS_MAX = 10_000_000

export function createLogLines({ masked, onLine }: LogLinesOptions): LogLines {
  let left = LOG_CHARACTERS_MAX
  return {
    reader() {
      const decoder = new StringDecoder('utf8')
      let masking = masked()
      let line = ''
      let isBegun = false
      return {
        write(chunk) {
          if (left <= 0) return
          const [first = '', ...others] = decoder.write(chunk).split('\n')
          add(first)
          for (const other of others) {
            tell()
            add(other)
          }
        },
        end() {
          add(decoder.end())
          if (isBegun) tell()
        },
      }

      function add(part: string): void {
        isBegun ||= part !== ''
        if (line.length <= LOG_LINE_CHARACTERS_MAX) line += masking.push(part)
      }

      function tell(): void {
        if (left <= 0) return
        if (line.length <= LOG_LINE_CHARACTERS_MAX) line += masking.end()
        const whole = line.endsWith('\r') ? line.slice(0, -1) : line
        const isCut = whole.length > LOG_LINE_CHARACTERS_MAX
        const kept = isCut ? `${whole.slice(0, LOG_LINE_CHARACTERS_MAX)}… (cut)` : whole
        masking = masked()
        line = ''
        isBegun = false
        left -= kept.length + 1
        onLine(kept)
        if (left <= 0) onLine('(the log is full; nothing more of it is kept)')
      }
    },
  }
}
