/**
 * A stream on its way to one caller.
 *
 *   asking ──item──▶ writing ──taken──▶ asking …      ──end of items──▶ ended
 *                       └──not taken──▶ waiting ──drained──▶ asking
 *                                          └──for too long──▶ cut off
 *
 * At most one item is asked for ahead of what the caller has taken. Ending does not wait for an item
 * that is being made.
 */
import type { Clock, Timer } from '../std/index.ts'
import { HEARTBEAT_MS, STALL_MS } from './limits.ts'

/** What a stream needs of a response. */
export interface StreamTarget {
  /** What the caller has not taken yet. */
  readonly writableLength: number
  flushHeaders(): void
  write(piece: string | Uint8Array): boolean
  end(): unknown
  destroy(): unknown
  on(event: 'drain', listener: () => void): unknown
  once(event: 'close', listener: () => void): unknown
}

export type StreamEnd = 'complete' | 'ended' | 'left' | 'stalled' | 'failed'

export class Streaming {
  readonly #response: StreamTarget
  readonly #items: AsyncIterator<string | Uint8Array>
  readonly #heartbeat: string | undefined
  readonly #clock: Clock
  readonly #onEnd: (how: StreamEnd, error?: unknown) => void
  #timer: Timer
  #writtenMs: number
  #isWaiting = false
  #hasEnded = false

  constructor(
    response: StreamTarget,
    stream: AsyncIterable<string | Uint8Array>,
    options: Readonly<{
      heartbeat: string | undefined
      clock: Clock
      /** Called once. */
      onEnd: (how: StreamEnd, error?: unknown) => void
    }>,
  ) {
    this.#response = response
    this.#items = stream[Symbol.asyncIterator]()
    this.#heartbeat = options.heartbeat
    this.#clock = options.clock
    this.#onEnd = options.onEnd
    this.#writtenMs = this.#clock.monotonic()
    this.#timer = this.#inAWhile()
    response.on('drain', () => {
      if (this.#isWaiting) this.#ask()
    })
    response.once('close', () => this.#finish('left'))
    response.flushHeaders()
    this.#ask()
  }

  /** The items end here for this caller, as they do when there are no more. */
  end(): void {
    this.#finish('ended')
  }

  #ask(): void {
    this.#isWaiting = false
    if (this.#hasEnded) return
    this.#items.next().then(
      (item) => this.#onItem(item),
      (error: unknown) => this.#finish('failed', error),
    )
  }

  #onItem(item: IteratorResult<string | Uint8Array>): void {
    if (this.#hasEnded) return
    if (item.done === true) this.#finish('complete')
    else this.#write(item.value)
  }

  #write(item: string | Uint8Array): void {
    this.#writtenMs = this.#clock.monotonic()
    if (this.#response.write(item)) this.#ask()
    else this.#isWaiting = true
  }

  #inAWhile(): Timer {
    return this.#clock.setTimer(this.#clock.monotonic() + HEARTBEAT_MS, () => this.#look())
  }

  #look(): void {
    const silentMs = this.#clock.monotonic() - this.#writtenMs
    const untaken = this.#response.writableLength > 0
    if (untaken && silentMs >= STALL_MS) return this.#finish('stalled')
    if (!untaken && this.#heartbeat !== undefined && silentMs >= HEARTBEAT_MS) {
      this.#writtenMs = this.#clock.monotonic()
      this.#response.write(this.#heartbeat)
    }
    this.#timer = this.#inAWhile()
  }

  #finish(how: StreamEnd, error?: unknown): void {
    if (this.#hasEnded) return
    this.#hasEnded = true
    this.#timer.cancel()
    // A generator that is in the middle of an item hears of it when that is made; nobody waits for it.
    this.#items.return?.().catch(() => {})
    // A stream that broke must not look complete, so its connection is cut within the chunk.
    if (how === 'failed' || how === 'stalled') this.#response.destroy()
    else if (how !== 'left') this.#response.end()
    this.#onEnd(how, error)
  }
}
