/**
 * Writes what a run tells while it runs, so that it is there however the run ends.
 *
 * What comes in is masked already. What it is told by a disk that fails comes out of `close`.
 */
import { createWriteStream, type WriteStream } from 'node:fs'
import { once } from 'node:events'
import { join } from 'node:path'

export const MESSAGES_FILE = 'messages.ndjson'
export const LOG_FILE = 'run.log'

/** Bytes of all messages of a run. */
export const MESSAGES_BYTES_MAX = 67_108_864

export interface Recording {
  /** False if they are more than a run may have. */
  message(envelope: unknown): boolean
  /** Whether more is waiting for the disk than it should. */
  readonly isBehind: boolean
  /** Resolves when the disk has caught up. */
  caughtUp(): Promise<void>
  log(line: string): void
  close(): Promise<void>
}

export function openRecording(directory: string): Recording {
  const messages = createWriteStream(join(directory, MESSAGES_FILE))
  const log = createWriteStream(join(directory, LOG_FILE))
  let failure: unknown
  for (const stream of [messages, log])
    stream.on('error', (error) => {
      failure ??= error
    })
  let left = MESSAGES_BYTES_MAX
  return {
    message(envelope) {
      const line = `${JSON.stringify(envelope)}\n`
      left -= Buffer.byteLength(line)
      if (left < 0) return false
      messages.write(line)
      return true
    },
    get isBehind() {
      return messages.writableNeedDrain
    },
    async caughtUp() {
      if (messages.writableNeedDrain && !messages.destroyed)
        await Promise.race([once(messages, 'drain'), once(messages, 'close')])
    },
    log(line) {
      log.write(`${line}\n`)
    },
    async close() {
      await Promise.all([ended(messages), ended(log)])
      if (failure !== undefined) throw failure
    },
  }
}

async function ended(stream: WriteStream): Promise<void> {
  if (stream.destroyed) return
  await new Promise<void>((resolve) => {
    stream.once('close', resolve)
    stream.end()
  })
}
