/**
 * Commands that events led to, on their way to other entities.
 *
 * Each is a record from the batch of its event until it has been delivered, so none is lost; each has a
 * request id of its own, so that one which is delivered again has no second effect. What cannot be
 * delivered is tried again for as long as it takes.
 */
import type { StoredRecord } from '../../journal/index.ts'
import { Deque } from '../../std/index.ts'
import { OUTBOX } from './batch.ts'
import type { Core } from './core.ts'
import { pauseAfter } from './failing.ts'
import { reasonOf } from './faults.ts'
import type { Kind } from './kind.ts'
import { askFor } from './routing.ts'

/** Commands that are on their way at the same time. */
const DELIVERIES = 256
/** Commands that wait in memory; what is beyond them waits on record. */
export const OUTBOX_QUEUED_MAX = 10_000
const PAGE = 1_000
/** Records that are deleted with one batch. */
const DELETES = 1_000

type Parcel = Readonly<{ key: string; kind: Kind; id: string; command: unknown }>
type Stored = Readonly<{ type: string; id: string; command?: unknown }>

export class Outbox {
  readonly #core: Core
  readonly #queue = new Deque<Parcel>()
  /** Everything that is queued, on its way, waiting to be tried again or to be deleted. */
  readonly #known = new Set<string>()
  readonly #delivered: string[] = []
  #underWay = 0
  #isDeleting = false
  /** Where reading the records goes on; undefined where nothing is left behind on record. */
  #unread: string | undefined = ''
  #isReading = false
  /** What is being read may have been written since. */
  #isStale = false
  #isStopped = false
  #failures = 0

  constructor(core: Core) {
    this.#core = core
  }

  /** There may be records that nobody has said anything of. */
  lookAgain(): void {
    this.#unread = ''
    this.#isStale = this.#isReading
    void this.#readOn()
  }

  stop(): void {
    this.#isStopped = true
    this.#queue.clear()
  }

  deliver(parcels: readonly Parcel[]): void {
    for (const parcel of parcels) this.#add(parcel)
    this.#work()
  }

  #add(parcel: Parcel): void {
    if (this.#isStopped || this.#known.has(parcel.key)) return
    if (this.#known.size >= OUTBOX_QUEUED_MAX) {
      this.#unread = '' // it may be anywhere among those that have been read
      return
    }
    this.#known.add(parcel.key)
    this.#queue.pushBack(parcel)
  }

  /** Those of a kind that is not known here wait until it is. */
  #addStored({ key, value }: StoredRecord): void {
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- written by `makeTurn`
    const { type, id, command } = JSON.parse(value) as Stored
    const kind = this.#core.kinds.get(type)
    if (kind !== undefined) this.#add({ key, kind, id, command })
  }

  #work(): void {
    while (this.#underWay < DELIVERIES && !this.#isStopped) {
      const parcel = this.#queue.popFront()
      if (parcel === undefined) break
      this.#underWay++
      this.#try(parcel, 1)
    }
    if (this.#queue.length === 0 && this.#unread !== undefined) void this.#readOn()
  }

  #try(parcel: Parcel, attempt: number): void {
    const { key, kind, id, command } = parcel
    askFor(this.#core, kind.definition, id, command, { requestId: key }).then(
      () => this.#done(parcel),
      (error: unknown) => this.#later(parcel, attempt, error),
    )
  }

  #done({ key }: Parcel): void {
    this.#core.counts.reactions++
    this.#underWay--
    this.#delivered.push(key)
    void this.#delete()
    this.#work()
  }

  #later(parcel: Parcel, attempt: number, error: unknown): void {
    if (this.#isStopped) return
    const { log, timers, random } = this.#core
    const { key, kind, id } = parcel
    log.warn('a command from the outbox could not be delivered', {
      key,
      type: kind.type,
      id,
      attempt,
      ...reasonOf(error),
    })
    this.#underWay--
    timers.after(pauseAfter(attempt) * (0.8 + 0.2 * random.next()), () => {
      if (this.#isStopped) return
      this.#underWay++
      this.#try(parcel, attempt + 1)
    })
    this.#work()
  }

  async #delete(): Promise<void> {
    if (this.#isDeleting) return
    this.#isDeleting = true
    const { journal, fence, log } = this.#core
    while (this.#delivered.length > 0) {
      const keys = this.#delivered.splice(0, DELETES)
      const records = keys.map((key) => ({ collection: OUTBOX, key, deleted: true }) as const)
      try {
        await journal.commit({ records, ...(fence !== undefined && { fence }) })
      } catch (error) {
        // They are delivered once more after the next start, and have no second effect.
        log.warn('delivered commands could not be deleted', reasonOf(error))
      }
      for (const key of keys) this.#known.delete(key)
    }
    this.#isDeleting = false
    this.#work()
  }

  async #readOn(): Promise<void> {
    if (this.#isReading || this.#isStopped || this.#unread === undefined) return
    if (this.#known.size >= OUTBOX_QUEUED_MAX) return
    this.#isReading = true
    const after = this.#unread
    try {
      const page = await this.#core.journal.readRecords(OUTBOX, '', {
        limit: PAGE,
        ...(after !== '' && { after }),
      })
      this.#failures = 0
      if (this.#isStale) this.#isStale = false
      else if (this.#unread === after) this.#unread = page.at(-1)?.key
      for (const record of page) this.#addStored(record)
    } catch (error) {
      this.#core.log.warn('the outbox could not be read', reasonOf(error))
      this.#core.timers.after(pauseAfter(++this.#failures), () => void this.#readOn())
    } finally {
      this.#isReading = false
    }
    if (this.#queue.length > 0) this.#work()
    else if (this.#failures === 0) void this.#readOn()
  }
}
