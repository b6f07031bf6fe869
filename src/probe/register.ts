/**
 * What is known of tests, in the journal.
 *
 *   stream      probe-test-<id>   its events
 *   collection  probe-tests       the fold of them, by id
 *               probe-live        ids of those that have to be looked after
 *               probe-order       ids by age, the latest first
 *               probe-queue       whether the queue is paused
 *
 * An event and the record after it are one batch, under the fence `probe`: of two servers on one store
 * only the one that came last can write. Where the journal does not know what became of a batch, the
 * version of the stream tells, so that whoever appends is given a sure answer.
 */
import { fingerprintOf } from '../journal/index.ts'
import type { Batch, Fence, Journal, LedgerEntry, NewEvent, RecordWrite } from '../journal/index.ts'
import { Accident, fault, type Clock, type Fault } from '../std/index.ts'
import { LIST_SCAN_MAX } from './limits.ts'
import type { ProbeFault, QueueMode } from './protocol.ts'
import { evolve, isLive, type TestEvent, type TestRecord } from './record.ts'

export const TESTS = 'probe-tests'
const LIVE = 'probe-live'
const ORDER = 'probe-order'
const QUEUE = 'probe-queue'
const STREAM = 'probe-test-'
const EVENT_VERSION = 1
/** Larger than any time in milliseconds, so that its distance to a time falls with age. */
const TIME_END = 9_999_999_999_999
const TIME_DIGITS = 13
const PAGE = 1_000
/** How long to wait before a batch of unknown outcome is looked up again. */
const LOOK_MS_MIN = 10
const LOOK_MS_MAX = 1_000

export type Appended =
  | Readonly<{ type: 'appended'; record: TestRecord | undefined; position: number }>
  /** The request was answered before, with this test. */
  | Readonly<{ type: 'duplicate'; testId: string }>
  | Readonly<{ type: 'mismatch'; fields: readonly string[] }>

/** One that takes effect once, however often it comes. */
export type RepeatedRequest = Readonly<{
  id: string
  content: Readonly<Record<string, string | number>>
}>

/** Hears of every event when it is durable, by position. */
export type OnAppended = (testId: string, events: readonly TestEvent[], position: number) => void

export type Found = Readonly<{ records: readonly TestRecord[]; next: string | undefined }>

export class Register {
  readonly #journal: Journal
  readonly #fence: Fence
  readonly #clock: Clock
  readonly #inFlight = new Map<string, Promise<unknown>>()
  #lost: ProbeFault | undefined
  #told: Promise<void> = Promise.resolve()
  onAppended: OnAppended = () => undefined
  /** Called once when this server can write no more. */
  onLost: (reason: ProbeFault) => void = () => undefined
  commits = 0

  constructor(journal: Journal, fence: Fence, clock: Clock) {
    this.#journal = journal
    this.#fence = fence
    this.#clock = clock
  }

  now(): number {
    return Math.floor(this.#clock.now())
  }

  /** Whoever calls has the record in hand; events of one test are appended one after the other. */
  append(
    testId: string,
    record: TestRecord | undefined,
    events: readonly TestEvent[],
    request?: RepeatedRequest,
  ): Promise<Appended> {
    const appending = this.#append(testId, record, events, request)
    const settling = appending.catch(() => undefined)
    this.#inFlight.set(testId, settling)
    void this.#forgetSettled(testId, settling)
    this.#told = this.#tell(this.#told, settling, testId, events)
    return appending
  }

  /** By position, which is the order of the calls: what became of a batch may be known late. */
  async #tell(
    before: Promise<void>,
    settling: Promise<Appended | undefined>,
    testId: string,
    events: readonly TestEvent[],
  ): Promise<void> {
    const appended = await settling
    await before
    if (appended?.type === 'appended') this.onAppended(testId, events, appended.position)
  }

  async #forgetSettled(testId: string, settling: Promise<unknown>): Promise<void> {
    await settling
    if (this.#inFlight.get(testId) === settling) this.#inFlight.delete(testId)
  }

  /** Settles when nothing is on its way that was appended before. */
  async settled(testId?: string): Promise<void> {
    if (testId !== undefined) await this.#inFlight.get(testId)
    else await Promise.all(this.#inFlight.values())
  }

  async read(testId: string): Promise<TestRecord | undefined> {
    await this.settled(testId)
    const [found] = await this.#journal.getRecords(TESTS, [testId])
    return found === undefined ? undefined : recordFrom(found.value)
  }

  /** Those that have not ended, or whose evidence is not stored. */
  async live(): Promise<readonly TestRecord[]> {
    await this.settled()
    const found: TestRecord[] = []
    for (let after: string | undefined; ;) {
      const page = await this.#journal.readRecords(LIVE, '', {
        limit: PAGE,
        ...(after !== undefined && { after }),
      })
      if (page.length === 0) return found
      const ids = page.map(({ key }) => key)
      for (const { value } of await this.#journal.getRecords(TESTS, ids))
        found.push(recordFrom(value))
      after = ids.at(-1)
    }
  }

  /** The latest first; `next` is where to go on, if there may be more. */
  async find(
    isWanted: (record: TestRecord) => boolean,
    limit: number,
    cursor: string | undefined,
  ): Promise<Found> {
    const records: TestRecord[] = []
    let after = cursor
    for (let scanned = 0; scanned < LIST_SCAN_MAX;) {
      const page = await this.#journal.readRecords(ORDER, '', {
        limit: Math.min(PAGE, LIST_SCAN_MAX - scanned),
        ...(after !== undefined && { after }),
      })
      if (page.length === 0) return { records, next: undefined }
      scanned += page.length
      const keyOf = new Map(page.map(({ key, value }) => [value, key]))
      for (const { key, value } of await this.#journal.getRecords(TESTS, [...keyOf.keys()])) {
        const record = recordFrom(value)
        if (!isWanted(record)) continue
        records.push(record)
        if (records.length === limit) return { records, next: keyOf.get(key) }
      }
      after = page.at(-1)?.key
    }
    return { records, next: after }
  }

  /** Ids from the given age on, or beyond so many, the latest of them first. */
  async *old(before: number, beyond: number): AsyncGenerator<readonly string[]> {
    const limitKey = orderKey(before, '')
    let seen = 0
    for (let after: string | undefined; ;) {
      const page = await this.#journal.readRecords(ORDER, '', {
        limit: PAGE,
        ...(after !== undefined && { after }),
      })
      if (page.length === 0) return
      const from = seen
      seen += page.length
      yield page
        .filter(({ key }, at) => key > limitKey || from + at >= beyond)
        .map(({ value }) => value)
      after = page.at(-1)?.key
    }
  }

  /** Removes the record of a test that has ended; false for any other. */
  async forget(testId: string): Promise<boolean> {
    const record = await this.read(testId)
    if (record === undefined || isLive(record)) return false
    await this.append(testId, record, [{ type: 'forgotten', at: this.now() }])
    return true
  }

  async history(testId: string): Promise<readonly TestEvent[]> {
    await this.settled(testId)
    const events: TestEvent[] = []
    for (let after = 0; ;) {
      const page = await this.#journal.readStream(STREAM + testId, { after, limit: PAGE })
      if (page.length === 0) return events
      for (const { data } of page) events.push(eventOf(data))
      after += page.length
    }
  }

  async mode(): Promise<QueueMode> {
    const [found] = await this.#journal.getRecords(QUEUE, ['mode'])
    return found?.value === 'paused' ? 'paused' : 'open'
  }

  async setMode(mode: QueueMode): Promise<void> {
    await this.#commit({ records: [{ collection: QUEUE, key: 'mode', value: mode }] })
  }

  async #append(
    testId: string,
    record: TestRecord | undefined,
    events: readonly TestEvent[],
    request: RepeatedRequest | undefined,
  ): Promise<Appended> {
    let after = record
    for (const event of events) after = evolve(testId, after, event)
    const version = record?.version ?? 0
    const written = events.map((event) => ({
      type: event.type,
      version: EVENT_VERSION,
      at: event.at,
      data: JSON.stringify(event),
    }))
    const result = await this.#commit(
      {
        streams: [
          {
            stream: STREAM + testId,
            expected: version === 0 ? 'none' : version,
            events: written,
          },
        ],
        records: recordsOf(testId, record, after),
        ...(request !== undefined && { ledger: [ledgerOf(testId, request)] }),
      },
      () => this.#lookUp(STREAM + testId, version, written),
    )
    if (result.type === 'duplicate') return { type: 'duplicate', testId: result.response }
    if (result.type === 'mismatch') return { type: 'mismatch', fields: result.fields }
    return { type: 'appended', record: after, position: result.position }
  }

  async #commit(
    batch: Batch,
    lookUp?: () => Promise<number | undefined>,
  ): Promise<
    | Readonly<{ type: 'committed'; position: number }>
    | Readonly<{ type: 'duplicate'; response: string }>
    | Readonly<{ type: 'mismatch'; fields: readonly string[] }>
  > {
    if (this.#lost !== undefined) throw new Accident(this.#lost)
    const result = await this.#journal
      .commit({ ...batch, fence: this.#fence })
      .catch((error: unknown) => this.#lookedUp(error, lookUp))
    if (result.type === 'fenced') throw new Accident(this.#lose(takenOver()))
    if (result.type === 'conflict') throw new Accident(movedOn(result.stream))
    if (result.type === 'committed') this.commits++
    return result
  }

  /** What became of a batch that the journal does not know of. */
  async #lookedUp(
    error: unknown,
    lookUp?: () => Promise<number | undefined>,
  ): Promise<Readonly<{ type: 'committed'; position: number }>> {
    if (!(error instanceof Accident) || error.code !== 'unknown-outcome' || !lookUp)
      throw this.#inWords(error)
    const position = await lookUp()
    if (position === undefined) throw new Accident(notTaken())
    return { type: 'committed', position }
  }

  /** The position of the last of these events after `version`; undefined if they are not there. */
  async #lookUp(
    stream: string,
    version: number,
    written: readonly NewEvent[],
  ): Promise<number | undefined> {
    for (let ms = LOOK_MS_MIN; ; ms = Math.min(ms * 2, LOOK_MS_MAX)) {
      const { state } = this.#journal
      if (state === 'failed' || state === 'closed') throw new Accident(this.#lose(shut(state)))
      try {
        const found = await this.#journal.readStream(stream, { after: version })
        const isThere = written.every(({ data }, at) => found[at]?.data === data)
        return isThere ? found[written.length - 1]?.position : undefined
      } catch (error) {
        if (!(error instanceof Accident)) throw error
      }
      await new Promise<void>((resolve) => {
        this.#clock.setTimer(this.#clock.monotonic() + ms, resolve)
      })
    }
  }

  #inWords(error: unknown): unknown {
    if (!(error instanceof Accident)) return error
    const { code, message, detail } = error.fault
    if (code === 'journal-overloaded' || code === 'read-only')
      return new Accident(fault('probe-overloaded', message, detail), { cause: error })
    if (code === 'journal-closed')
      return new Accident(this.#lose(fault('probe-closed', message, detail)), { cause: error })
    return error
  }

  #lose(reason: ProbeFault): ProbeFault {
    if (this.#lost === undefined) {
      this.#lost = reason
      this.onLost(reason)
    }
    return this.#lost
  }
}

/** An event as it was written. */
export function eventOf(data: string): TestEvent {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- only events are written to its streams
  return JSON.parse(data) as TestEvent
}

/** The test of a stream; undefined where it is of somebody else. */
export function testOfStream(stream: string): string | undefined {
  return stream.startsWith(STREAM) ? stream.slice(STREAM.length) : undefined
}

function recordFrom(value: string): TestRecord {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- only records are written there
  return JSON.parse(value) as TestRecord
}

function recordsOf(
  testId: string,
  before: TestRecord | undefined,
  after: TestRecord | undefined,
): readonly RecordWrite[] {
  const createdAt = after?.createdAt ?? before?.createdAt ?? 0
  const order = { collection: ORDER, key: orderKey(createdAt, testId) }
  const live = { collection: LIVE, key: testId }
  const writes: RecordWrite[] = []
  if (after === undefined) {
    writes.push({ collection: TESTS, key: testId, deleted: true }, { ...order, deleted: true })
  } else {
    writes.push({ collection: TESTS, key: testId, value: JSON.stringify(after) })
    if (before === undefined) writes.push({ ...order, value: testId })
  }
  const wasLive = before !== undefined && isLive(before)
  const staysLive = after !== undefined && isLive(after)
  if (staysLive && !wasLive) writes.push({ ...live, value: '1' })
  if (wasLive && !staysLive) writes.push({ ...live, deleted: true })
  return writes
}

function orderKey(at: number, testId: string): string {
  return `${String(TIME_END - at).padStart(TIME_DIGITS, '0')}-${testId}`
}

function ledgerOf(testId: string, { id, content }: RepeatedRequest): LedgerEntry {
  return {
    key: `probe-request-${id}`,
    fingerprint: fingerprintOf(content),
    response: testId,
  }
}

function takenOver(): ProbeFault {
  return fault('probe-closed', 'another server has taken over the tests of this store', {
    remedy: 'ask the one that runs',
  })
}

function shut(state: string): ProbeFault {
  return fault('probe-closed', `the store is ${state}`, { remedy: 'start the server again' })
}

function movedOn(stream: string): Fault<'unknown-outcome'> {
  return fault('unknown-outcome', `${stream} has events that were not expected`, {
    remedy: 'ask for the status of the test',
  })
}

function notTaken(): ProbeFault {
  return fault('probe-overloaded', 'the store has not taken it', {
    remedy: 'try again, nothing has happened',
  })
}
