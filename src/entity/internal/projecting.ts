/**
 * A projection at work: it follows the journal and keeps its values there.
 *
 * The values of a page and the position they reflect are one batch under a fence, so each event has its
 * effect once: after a crash the view goes on from the stored position, and whoever starts the projection
 * a second time takes it over. A view that cannot go on rejects `ended` and every read from there on; only
 * a journal that is full or overloaded is waited for.
 *
 * Between two pages a view rests while nobody waits for it: under load it then takes many events at a
 * time, and leaves the journal to those who write.
 */
import {
  BATCH_BYTES_MAX,
  READ_LIMIT_MAX,
  type Journal,
  type RecordWrite,
  type StoredEvent,
  type Subscription,
} from '../../journal/index.ts'
import { Accident, assert, fault, type Clock } from '../../std/index.ts'
import { changesIn } from '../changes.ts'
import type { Projection, ReadOptions, View } from '../projection.ts'
import { Arrivals } from './arrivals.ts'
import { KnownValues } from './known-values.ts'
import { touchesOf, valueOf, writesOf, type Touching } from './touching.ts'

/** Where the positions of all views are kept, under `name@version`. */
const POSITIONS = 'views'
/** Values one batch changes at most, unless a single event touches more. */
const VALUES_MAX = 4_096
/** The same in UTF-8 bytes. */
const VALUES_BYTES_MAX = BATCH_BYTES_MAX / 2
/** A view that no event touches stores its position once in so many events. */
const POSITION_EVERY = 1_000
/** How long a view rests after a page, unless somebody waits for the next. */
const REST_MS = 50
/** How long a view waits before it tries again what the journal could not do. */
const RETRY_MS = 1_000
const TRANSIENT: ReadonlySet<string> = new Set([
  'journal-overloaded',
  'read-only',
  'unknown-outcome',
])

/** What a page of events comes to, and what was stored of the values that it depends on. */
type Writes = Readonly<{
  writes: readonly RecordWrite[]
  before: ReadonlyMap<string, string | undefined>
}>

const NO_WRITES: Writes = { writes: [], before: new Map() }

export class Projecting<Value> implements View<Value> {
  readonly ended: Promise<void>
  readonly #journal: Journal
  readonly #projection: Projection<Value>
  readonly #clock: Clock
  /** The key of its position. */
  readonly #name: string
  readonly #collection: string
  readonly #fence: string
  readonly #arrivals: Arrivals
  readonly #known = new KnownValues()
  /** Ends the pause that it is in. */
  #wake: (() => void) | undefined
  #isClosed = false
  #token = 0
  #storedPosition = 0
  #subscription: Subscription | undefined

  constructor(journal: Journal, projection: Projection<Value>, clock: Clock) {
    this.#journal = journal
    this.#projection = projection
    this.#clock = clock
    this.#name = `${projection.name}@${projection.version}`
    this.#collection = collectionOf(this.#name)
    this.#fence = collectionOf(projection.name)
    this.#arrivals = new Arrivals(this.#name, clock)
    this.ended = this.#run()
  }

  get position(): number {
    return this.#arrivals.position
  }

  async get(key: string, options: ReadOptions = {}): Promise<Value | undefined> {
    await this.#arrivals.seen(options)
    const [record] = await this.#journal.getRecords(this.#collection, [key])
    return record === undefined ? undefined : valueOf(this.#projection, record.value)
  }

  async getAll(
    keys: readonly string[],
    options: ReadOptions = {},
  ): Promise<ReadonlyMap<string, Value>> {
    await this.#arrivals.seen(options)
    const values = new Map<string, Value>()
    for (let n = 0; n < keys.length; n += READ_LIMIT_MAX) {
      const some = keys.slice(n, n + READ_LIMIT_MAX)
      for (const { key, value } of await this.#journal.getRecords(this.#collection, some))
        values.set(key, valueOf(this.#projection, value))
    }
    return values
  }

  async list(
    prefix: string,
    options: ReadOptions & Readonly<{ after?: string; limit?: number }> = {},
  ): Promise<readonly Readonly<{ key: string; value: Value }>[]> {
    const { after, limit } = options
    await this.#arrivals.seen(options)
    const records = await this.#journal.readRecords(this.#collection, prefix, {
      ...(after === undefined ? undefined : { after }),
      ...(limit === undefined ? undefined : { limit }),
    })
    return records.map(({ key, value }) => ({ key, value: valueOf(this.#projection, value) }))
  }

  async close(): Promise<void> {
    this.#isClosed = true
    this.#wake?.()
    await this.#subscription?.close()
    await this.ended.catch(() => undefined) // whoever looks at `ended` is told why
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }

  async #run(): Promise<void> {
    try {
      await Promise.resolve() // so that `on` runs after whoever starts it has the view
      await this.#patiently(async () => {
        this.#token = await this.#journal.takeFence(this.#fence)
      })
      await this.#patiently(() => this.#sweep())
      await this.#patiently(() => this.#follow())
      this.#arrivals.end()
    } catch (error) {
      this.#arrivals.end(error)
      throw error
    }
  }

  /** Does it, again if need be, unless the view is closed. */
  async #patiently(work: () => Promise<void>): Promise<void> {
    while (!this.#isClosed) {
      try {
        await work()
        return
      } catch (error) {
        if (!(error instanceof Accident) || !TRANSIENT.has(error.code)) throw error
        await this.#pause(RETRY_MS)
      }
    }
  }

  async #rest(): Promise<void> {
    const arrivals = this.#arrivals
    if (arrivals.isAwaited) return
    arrivals.onAwaited = () => this.#wake?.()
    await this.#pause(REST_MS)
    arrivals.onAwaited = undefined
  }

  async #pause(ms: number): Promise<void> {
    if (this.#isClosed) return
    await new Promise<void>((resolve) => {
      const timer = this.#clock.setTimer(this.#clock.monotonic() + ms, resolve)
      this.#wake = () => {
        timer.cancel()
        resolve()
      }
    })
    this.#wake = undefined
  }

  /** Deletes what earlier versions of the projection have left, a page at a time. */
  async #sweep(): Promise<void> {
    const { name, version } = this.#projection
    for (const { key } of await this.#journal.readRecords(POSITIONS, `${name}@`)) {
      if (Number(key.slice(name.length + 1)) >= version) continue
      const collection = collectionOf(key)
      for (;;) {
        const records = await this.#journal.readRecords(collection, '')
        if (this.#isClosed) return
        if (records.length === 0) break
        await this.#commit(
          records.map((record) => ({ collection, key: record.key, deleted: true })),
        )
      }
      await this.#commit([{ collection: POSITIONS, key, deleted: true }])
    }
  }

  async #follow(): Promise<void> {
    this.#known.clear() // what was tried before may have become durable or not
    const [stored] = await this.#journal.getRecords(POSITIONS, [this.#name])
    this.#storedPosition = stored === undefined ? 0 : Number(stored.value)
    if (this.#isClosed) return
    this.#arrivals.arrive(this.#storedPosition)
    this.#subscription = this.#journal.subscribe({
      after: this.#storedPosition,
      handle: async (events) => {
        await this.#take(events)
        await this.#rest()
      },
    })
    await this.#subscription.ended
  }

  /** In halves, if what becomes of the values is too much for one batch. */
  async #take(events: readonly StoredEvent[]): Promise<void> {
    const made = await this.#writesFor(events)
    if (made === undefined) {
      const half = events.length >> 1
      await this.#take(events.slice(0, half))
      await this.#take(events.slice(half))
      return
    }
    const { writes } = made
    const { position } = events.at(-1)!
    if (writes.length > 0 || position - this.#storedPosition >= POSITION_EVERY) {
      const value = String(position)
      await this.#commit([...writes, { collection: POSITIONS, key: this.#name, value }])
      this.#storedPosition = position
    }
    this.#remember(made)
    this.#arrivals.arrive(position)
  }

  async #writesFor(events: readonly StoredEvent[]): Promise<Writes | undefined> {
    const projection = this.#projection
    const touches = touchesOf(projection, changesIn(projection.of, events))
    if (touches.length === 0) return NO_WRITES
    const isDivisible = events.length > 1
    if (isDivisible && touches.length > VALUES_MAX && keysOf(touches).size > VALUES_MAX)
      return undefined
    const before = await this.#before(touches)
    const writes = await writesOf(projection, this.#collection, touches, before)
    if (isDivisible && bytesOf(writes) > VALUES_BYTES_MAX) return undefined
    return { writes, before }
  }

  /** What is stored of the values that become something else by what they are. */
  async #before(
    touches: readonly Touching<Value>[],
  ): Promise<ReadonlyMap<string, string | undefined>> {
    const before = new Map<string, string | undefined>()
    const unknown: string[] = []
    for (const { touch } of touches) {
      const { key } = touch
      if ('value' in touch || before.has(key)) continue
      if (!this.#known.has(key)) unknown.push(key)
      before.set(key, this.#known.get(key))
    }
    if (unknown.length > 0)
      for (const { key, value } of await this.#journal.getRecords(this.#collection, unknown))
        before.set(key, value)
    return before
  }

  /** The values are durable. */
  #remember({ writes, before }: Writes): void {
    for (const [key, text] of before) this.#known.set(key, text)
    for (const write of writes)
      if (before.has(write.key))
        this.#known.set(write.key, 'value' in write ? write.value : undefined)
  }

  async #commit(records: readonly RecordWrite[]): Promise<void> {
    const fence = { name: this.#fence, token: this.#token }
    const { type } = await this.#journal.commit({ records, fence })
    if (type === 'fenced')
      throw new Accident(
        fault('view-taken', `the projection ${this.#projection.name} was started again elsewhere`, {
          projection: this.#projection.name,
          remedy: 'start each projection once, and read from the view that was started last',
        }),
      )
    assert(type === 'committed', 'a batch of records is committed or fenced')
  }
}

function collectionOf(view: string): string {
  return `view/${view}`
}

function keysOf(
  touches: readonly Readonly<{ touch: Readonly<{ key: string }> }>[],
): ReadonlySet<string> {
  return new Set(touches.map(({ touch }) => touch.key))
}

function bytesOf(writes: readonly RecordWrite[]): number {
  let bytes = 0
  for (const write of writes) bytes += 'value' in write ? Buffer.byteLength(write.value) : 0
  return bytes
}
