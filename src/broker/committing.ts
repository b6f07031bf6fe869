/**
 * One batch of the broker into the journal, and a sure answer whether it is there.
 *
 * Where the journal cannot say what has become of a batch, it is looked up: a batch is there as a whole or not at
 * all, so one of its records tells. Only where nothing can be read any more is the outcome left unknown. Whoever
 * finds out that another broker has the fence says so once, and from then on everything is refused.
 */
import type { Fence, Journal, RecordWrite } from '../journal/index.ts'
import { Accident, fault, type Clock } from '../std/index.ts'
import type { QueueFault } from './broker.ts'

/** How long to wait before a batch of unknown outcome is looked up again. */
const LOOK_MS_MIN = 10
const LOOK_MS_MAX = 1_000

export class Committing {
  readonly #journal: Journal
  readonly #fence: Fence
  readonly #clock: Clock
  /** Called once when this broker can write no more. */
  onLost: (reason: QueueFault) => void = () => undefined
  #lost: QueueFault | undefined
  commits = 0
  records = 0
  refusals = 0

  constructor(journal: Journal, fence: Fence, clock: Clock) {
    this.#journal = journal
    this.#fence = fence
    this.#clock = clock
  }

  /** Undefined once all of it is durable; a reason if nothing of it is, or if nobody knows. */
  async commit(records: readonly RecordWrite[]): Promise<QueueFault | undefined> {
    const refusal = await this.#commit(records)
    if (refusal === undefined) {
      this.commits++
      this.records += records.length
    } else this.refusals++
    return refusal
  }

  async #commit(records: readonly RecordWrite[]): Promise<QueueFault | undefined> {
    if (this.#lost !== undefined) return this.#lost
    try {
      const { type } = await this.#journal.commit({ records, fence: this.#fence })
      return type === 'committed' ? undefined : this.#lose(takenOver())
    } catch (error) {
      if (!(error instanceof Accident)) throw error
      const { message, detail } = error.fault
      switch (error.code) {
        case 'read-only':
          return fault('store-read-only', message, detail)
        case 'journal-overloaded':
          return fault('broker-overloaded', message, detail)
        case 'damaged':
          return fault('unreadable', message, detail)
        case 'journal-closed':
          return this.#lose(fault('broker-closed', message, detail))
        case 'unknown-outcome':
          return this.#find(records)
        default:
          throw error
      }
    }
  }

  async #find(records: readonly RecordWrite[]): Promise<QueueFault | undefined> {
    const [mark] = records
    if (mark === undefined) return undefined
    for (let ms = LOOK_MS_MIN; ; ms = Math.min(ms * 2, LOOK_MS_MAX)) {
      const { state } = this.#journal
      if (state === 'failed' || state === 'closed') {
        this.#lose(fault('broker-closed', `the store is ${state}`))
        return fault('unknown-outcome', 'it may be on disk or not, and the store does not say')
      }
      try {
        const [found] = await this.#journal.getRecords(mark.collection, [mark.key])
        const isThere =
          'deleted' in mark
            ? found === undefined
            : found !== undefined && found.value === mark.value
        if (isThere) return undefined
        return fault('broker-overloaded', 'the store has not taken it', {
          remedy: 'try again, nothing has happened',
        })
      } catch (error) {
        if (!(error instanceof Accident)) throw error
      }
      await new Promise<void>((resolve) =>
        this.#clock.setTimer(this.#clock.monotonic() + ms, resolve),
      )
    }
  }

  #lose(reason: QueueFault): QueueFault {
    if (this.#lost === undefined) {
      this.#lost = reason
      this.onLost(reason)
    }
    return this.#lost
  }
}

function takenOver(): QueueFault {
  return fault('broker-closed', 'another broker has taken over', {
    remedy: 'ask the one that runs',
  })
}
