/**
 * Clients of a journal that write all kinds of batches at once, some of which are to be refused.
 *
 * A batch is said before it is committed and its answer as soon as there is one, so whoever listens
 * knows no less than any client did.
 */
import {
  fingerprintOf,
  type Batch,
  type Journal,
  type LedgerEntry,
  type NewEvent,
  type RecordWrite,
  type StreamAppend,
} from '../../src/journal/index.ts'
import { Accident, random, type Random } from '../../src/std/index.ts'
import { FOLD } from './dump.ts'
import { keyOf, markOf, type Saying, type Start } from './history.ts'

export type Size = 'small' | 'large' | 'bulky'

export type LoadOptions = Start &
  Readonly<{
    seed: number
    /** Ends after so many batches; without it, never. */
    batches?: number
    clients?: number
    /** Batches a client has under way at most. */
    burst?: number
    /**
     * Small batches are as small as can be, none is refused, and no fence is taken. Large ones fill in
     * a few dozen whatever is filled by turns; bulky ones do too, but mostly with records that are replaced,
     * so that what is kept grows slowly.
     */
    size?: Size
    /** Of the fence that an earlier load of the same process has taken. */
    token?: number
  }>

export const FENCE = 'load'
const STREAMS = ['account-1', 'account-2', 'account-3', 'cart-7', 'cart-8', 'größe-😀', 'x', 'y']
const KEYS = Array.from({ length: 48 }, (_, i) => `key-${String(i).padStart(2, '0')}`)
/** How often an event is large, and how large at most. */
const LARGEST: Readonly<Record<Size, readonly [oneIn: number, most: number]>> = {
  small: [40, 9_000],
  large: [4, 800_000],
  bulky: [10, 100_000],
}
const AT = 1_790_000_000_000

export async function load(
  journal: Journal,
  options: LoadOptions,
  say: (saying: Saying) => void,
): Promise<void> {
  const { clients = 6, burst = 3, batches = Infinity, seed } = options
  const dice = random(seed)
  let token = options.size === 'small' ? 0 : options.token
  if (token === undefined) {
    token = await journal.takeFence(FENCE)
    say({ type: 'took', fence: FENCE, token })
  }
  const writer = new BatchWriter(options, token, dice.fork())
  const end = options.next + batches
  await Promise.all(Array.from({ length: clients }, () => client(dice.fork())))

  async function client(own: Random): Promise<void> {
    while (writer.next < end) {
      const wanted = Math.min(1 + own.below(burst), end - writer.next)
      await Promise.all(Array.from({ length: wanted }, commitOne))
    }
  }

  function commitOne(): Promise<void> {
    const n = writer.next
    const batch = options.size === 'small' ? writer.smallOne() : writer.anyOne()
    say({ type: 'asked', n, batch })
    return commit(journal, n, batch, say)
  }
}

/** Says what came of it; only what is no accident of the journal is thrown. */
export async function commit(
  journal: Journal,
  n: number,
  batch: Batch,
  say: (saying: Saying) => void,
): Promise<void> {
  try {
    say({ type: 'answered', n, result: await journal.commit(batch) })
  } catch (error) {
    if (!(error instanceof Accident) || error.code === 'bad-batch') throw error
    say({ type: 'rejected', n, code: error.code })
  }
}

/** Batches that follow each other as if every one before took effect. */
class BatchWriter {
  next: number
  readonly #versions: Map<string, number>
  readonly #keys: string[]
  readonly #token: number
  readonly #dice: Random
  readonly #size: Size | undefined

  constructor({ next, versions, keys, size }: LoadOptions, token: number, dice: Random) {
    this.#size = size
    this.next = next
    this.#versions = new Map(Object.entries(versions))
    this.#keys = [...keys]
    this.#token = token
    this.#dice = dice
  }

  smallOne(): Batch {
    const n = this.next++
    return { streams: [this.#append(n, 'small', 1)] }
  }

  anyOne(): Batch {
    const kind = this.#dice.below(20)
    if (kind < 2 && this.#keys.length > 0) return this.#repeated(kind === 0)
    if (kind === 2) return this.#outdated()
    const n = this.next++
    const streams = kind < 16 ? this.#appends(n, kind < 8 ? 1 : 3) : []
    const records = kind > 6 ? this.#records(n) : []
    return {
      ...(streams.length > 0 && { streams }),
      ...(records.length > 0 && { records }),
      ...(kind % 2 === 0 && { ledger: [this.#answer(n)] }),
      ...(kind % 5 === 0 && streams.length > 0 && { snapshots: [this.#snapshot(n, streams[0]!)] }),
      ...(kind % 3 === 0 && { fence: { name: FENCE, token: this.#token } }),
    }
  }

  /** A request that was answered before, as it was or with something else behind the same key. */
  #repeated(isSame: boolean): Batch {
    const n = this.next++
    const key = this.#dice.pick(this.#keys)
    const asked = isSame ? key : `not ${key}`
    const entry = { key, fingerprint: fingerprintOf({ asked }), response: markOf(n) }
    const event = { stream: this.#dice.pick(STREAMS), expected: 'any', events: [this.#event(n)] }
    return { streams: [event as StreamAppend], ledger: [entry] }
  }

  /** Refused as a whole: by its second stream, or by its fence. */
  #outdated(): Batch {
    const n = this.next++
    const events = [this.#event(n)]
    const good: StreamAppend = { stream: 'x', expected: 'any', events }
    const records: RecordWrite[] = [{ collection: 'marks', key: 'never', value: markOf(n) }]
    if (this.#dice.below(2) === 0)
      return { streams: [good], records, fence: { name: FENCE, token: this.#token + 1 } }
    const expected = (this.#versions.get('y') ?? 0) + 1
    return { streams: [good, { stream: 'y', expected, events }], records }
  }

  #appends(n: number, most: number): StreamAppend[] {
    const count = 1 + this.#dice.below(most)
    const names = new Set(Array.from({ length: count }, () => this.#dice.pick(STREAMS)))
    if (this.#dice.below(12) === 0) names.add(`fresh-${n}`)
    return [...names].map((stream) => this.#append(n, stream, 1 + this.#dice.below(3)))
  }

  #append(n: number, stream: string, count: number): StreamAppend {
    const version = this.#versions.get(stream) ?? 0
    this.#versions.set(stream, version + count)
    const exact = version === 0 ? 'none' : version
    const expected = this.#dice.below(4) === 0 ? 'any' : exact
    return { stream, expected, events: Array.from({ length: count }, () => this.#event(n)) }
  }

  #event(n: number): NewEvent {
    const [oneIn, most] = LARGEST[this.#size ?? 'small']
    const size = this.#dice.below(this.#dice.below(oneIn) === 0 ? most : 120)
    return {
      type: 'moved',
      version: 1,
      at: AT + n,
      data: markOf(n) + 'd'.repeat(size),
      ...(this.#dice.below(3) === 0 && { effectiveAt: AT - this.#dice.below(1_000) }),
      ...(this.#dice.below(3) === 0 && { requestId: keyOf(n), actor: '/a', trace: 't-1' }),
    }
  }

  #records(n: number): RecordWrite[] {
    const [among, most] = this.#size === 'bulky' ? [KEYS.slice(0, 12), 400_000] : [KEYS, 200]
    const keys = new Set(
      Array.from({ length: 1 + this.#dice.below(4) }, () => this.#dice.pick(among)),
    )
    const writes = [...keys].map((key): RecordWrite => {
      const collection = this.#dice.pick(['queue', 'leases'])
      if (this.#dice.below(2) === 0) return { collection, key, deleted: true }
      return { collection, key, value: markOf(n) + 'v'.repeat(this.#dice.below(most)) }
    })
    return [...writes, { collection: 'marks', key: 'last', value: markOf(n) }]
  }

  #answer(n: number): LedgerEntry {
    const key = keyOf(n)
    this.#keys.push(key)
    return { key, fingerprint: fingerprintOf({ asked: key }), response: `${markOf(n)} done` }
  }

  #snapshot(n: number, { stream }: StreamAppend): NonNullable<Batch['snapshots']>[number] {
    const seq = this.#versions.get(stream)!
    return { stream, seq, topAt: AT + n, topSeq: seq, fold: FOLD, state: markOf(n) }
  }
}
