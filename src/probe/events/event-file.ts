/**
 * The events of a test as evidence: one line of JSON each, in the order they came, as they come.
 *
 * Lines are masked before they leave. Writing never holds up a test: what waits to be written is no more
 * than what the log keeps. A disk that fails is reported by `close`.
 */
import { appendFile } from 'node:fs/promises'

import { Accident, fault } from '../../std/index.ts'
import type { Mask } from '../secrets/secrets.ts'

export interface EventSink {
  write(event: unknown): void
  /** Resolves when all is written, and rejects if anything was not. */
  close(): Promise<void>
}

export const EVENTS_FILE = 'events.jsonl'

/** The file is made with the first event, and open only while it is written to: not every test is sealed. */
export function eventFile(path: string, mask: Pick<Mask, 'text'>): EventSink {
  let waiting: string[] = []
  let writing: Promise<void> | undefined
  let failure: unknown

  return {
    write(event) {
      if (failure !== undefined) return
      waiting.push(`${mask.text(JSON.stringify(event))}\n`)
      writing ??= drain()
    },
    async close() {
      await writing
      if (failure !== undefined) throw unwritable(path, failure)
    },
  }

  async function drain(): Promise<void> {
    try {
      while (waiting.length > 0) {
        const lines = waiting.join('')
        waiting = []
        await appendFile(path, lines)
      }
    } catch (error) {
      failure = error
      waiting = []
    } finally {
      writing = undefined
    }
  }
}

function unwritable(path: string, cause: unknown): Accident {
  const reason = cause instanceof Error ? cause.message : String(cause)
  return new Accident(
    fault('events-not-kept', `the events could not be written to ${path}: ${reason}`, {
      path,
      remedy: 'look for room and rights on that disk',
    }),
    { cause },
  )
}
