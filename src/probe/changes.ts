/**
 * What happens to tests, for whoever watches.
 *
 * A reader is given every event of its tests once and in order, from where it wants to begin, and progress
 * as it comes. Events that happen wait in a buffer for it. If it is too slow for that it reads them from
 * the journal until it has caught up, and misses nothing but progress.
 */
import type { Journal } from '../journal/index.ts'
import { Deque } from '../std/index.ts'
import { CHANGES_MAX } from './limits.ts'
import type { ChangesOptions, TestChange } from './probe.ts'
import type { TestEvent } from './record.ts'
import { eventOf, testOfStream } from './register.ts'
import type { Progress } from './runner/runner.ts'

const PAGE = 1_000

export class Changes {
  readonly #journal: Journal
  readonly #readers = new Set<Reader>()
  readonly #ending = new AbortController()

  constructor(journal: Journal) {
    this.#journal = journal
  }

  /** These are durable; the last of them is at `position`. */
  onEvents(testId: string, events: readonly TestEvent[], position: number): void {
    if (this.#readers.size === 0) return
    const first = position - events.length + 1
    for (const [at, event] of events.entries())
      this.#give({ type: 'event', testId, position: first + at, event })
  }

  onProgress(testId: string, progress: Progress): void {
    if (this.#readers.size > 0) this.#give({ type: 'progress', testId, position: 0, progress })
  }

  async *read({ after, testId, signal }: ChangesOptions): AsyncGenerator<TestChange> {
    const ending = AbortSignal.any([signal, this.#ending.signal])
    const reader = new Reader(testId, after !== undefined)
    let position = after
    this.#readers.add(reader)
    try {
      while (!ending.aborted) {
        if (reader.isBehind) {
          reader.isBehind = false
          for await (const { at, change } of this.#stored(position ?? reader.before)) {
            if (ending.aborted) return
            position = at
            if (change !== undefined && reader.wants(change)) yield change
          }
          continue
        }
        const change = reader.waiting.popFront()
        if (change === undefined) await reader.more(ending)
        else if (change.type === 'progress') yield { ...change, position: position ?? 0 }
        else if (change.position > (position ?? 0)) {
          position = change.position
          yield change
        }
      }
    } finally {
      this.#readers.delete(reader)
    }
  }

  /** Ends all reading. */
  close(): void {
    this.#ending.abort()
  }

  #give(change: TestChange): void {
    for (const reader of this.#readers) if (reader.wants(change)) reader.give(change)
  }

  async *#stored(
    from: number,
  ): AsyncGenerator<Readonly<{ at: number; change: TestChange | undefined }>> {
    for (let after = from; ;) {
      const page = await this.#journal.readAll({ after, limit: PAGE })
      if (page.length === 0) return
      for (const { stream, position, data } of page) {
        const testId = testOfStream(stream)
        const change: TestChange | undefined =
          testId === undefined
            ? undefined
            : { type: 'event', testId, position, event: eventOf(data) }
        yield { at: position, change }
        after = position
      }
    }
  }
}

class Reader {
  readonly waiting: Deque<TestChange> = new Deque()
  isBehind: boolean
  readonly #testId: string | undefined
  /** The position of the first event that it was given. */
  #first: number | undefined
  #wake: (() => void) | undefined

  constructor(testId: string | undefined, isBehind: boolean) {
    this.#testId = testId
    this.isBehind = isBehind
  }

  /** Where one begins to read that wants only what has come since. */
  get before(): number {
    return this.#first === undefined ? 0 : this.#first - 1
  }

  wants({ testId }: TestChange): boolean {
    return this.#testId === undefined || this.#testId === testId
  }

  /** Progress for which there is no room is lost, and nothing else. */
  give(change: TestChange): void {
    const isEvent = change.type === 'event'
    if (isEvent) this.#first ??= change.position
    if (this.waiting.length < CHANGES_MAX) this.waiting.pushBack(change)
    else if (isEvent) {
      this.waiting.clear()
      this.isBehind = true
    }
    this.#wake?.()
  }

  more(signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const wake = (): void => {
        this.#wake = undefined
        signal.removeEventListener('abort', wake)
        resolve()
      }
      this.#wake = wake
      if (signal.aborted) wake()
      else signal.addEventListener('abort', wake)
    })
  }
}
