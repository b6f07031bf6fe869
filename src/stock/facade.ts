/**
 * The stock as one thing: writes, reads, the feed and what an operator wants to see.
 */
import type { EntityReport } from '../entity/index.ts'
import { fault, type Fault } from '../std/index.ts'
import type { CountBody, DeliveryBody, MoveBody, SaleBody } from './bodies.ts'
import { Feed } from './feed.ts'
import { LEVEL, levelsProjection, standingOf, type Levels } from './levels.ts'
import { notFound } from './locations/register.ts'
import { potPlace } from './names.ts'
import { explain, historyOf } from './past.ts'
import { FUTURE_SKEW_MS_DEFAULT, stockPot, stockPotWith, type PotReply } from './pot.ts'
import { guarded, Reading, STOCK_LIST_DEFAULT, STOCK_LIST_MAX } from './reading.ts'
import type {
  By,
  Count,
  Delivery,
  ExplainQuestion,
  Explanation,
  HistoryEntry,
  HistoryQuestion,
  Level,
  LevelQuestion,
  Listed,
  Move,
  MoveReport,
  PotLevel,
  PotReport,
  Recorded,
  RequestReport,
  Sale,
  Stock,
  StockChange,
  StockHealth,
  StockMetric,
  StockOptions,
  StockPage,
  StockReadRefusal,
  StockRefusal,
} from './stock.ts'
import { isoOf } from './time.ts'
import { Writing } from './writing.ts'

type Refused = Fault<StockRefusal>
type Unread = Fault<StockReadRefusal>

export function createFacade(options: StockOptions): Stock {
  return new Facade(options)
}

class Facade implements Stock {
  readonly #options: StockOptions
  readonly #writing: Writing
  readonly #reading: Reading
  readonly #levels: Levels
  readonly #feeds = new Set<Feed>()
  #areLevelsUp = true

  constructor(options: StockOptions) {
    const { entities } = options
    const pot =
      options.options === undefined
        ? stockPot
        : stockPotWith({
            futureSkewMs: FUTURE_SKEW_MS_DEFAULT,
            oversell: 'accept',
            ...options.options,
          })
    this.#options = options
    this.#levels = entities.project(levelsProjection(entities))
    this.#levels.ended.then(
      () => (this.#areLevelsUp = false),
      () => (this.#areLevelsUp = false), // the runtime has said why in its log
    )
    this.#writing = new Writing(options, pot)
    this.#reading = new Reading(options, this.#levels, () => this.#writing.answered)
  }

  deliver(delivery: Delivery, by: By): Promise<Recorded<DeliveryBody> | Refused> {
    return this.#writing.deliver(delivery, by)
  }

  sell(sale: Sale, by: By): Promise<Recorded<SaleBody> | Refused> {
    return this.#writing.sell(sale, by)
  }

  move(move: Move, by: By): Promise<Recorded<MoveBody> | Refused> {
    return this.#writing.move(move, by)
  }

  count(count: Count, by: By): Promise<Recorded<CountBody> | Refused> {
    return this.#writing.count(count, by)
  }

  level(question: LevelQuestion): Promise<Level | Unread> {
    return this.#reading.level(question)
  }

  productsAt(locationId: string, page?: StockPage): Promise<Listed<PotLevel> | Unread> {
    return this.#reading.productsAt(locationId, page)
  }

  locationsOf(productId: string, page?: StockPage): Promise<Listed<PotLevel> | Unread> {
    return this.#reading.locationsOf(productId, page)
  }

  history(question: HistoryQuestion): Promise<Listed<HistoryEntry> | Unread> {
    const { locationId } = question
    return guarded(async () =>
      (await this.#options.locations.find(locationId)) === undefined
        ? notFound(locationId)
        : historyOf(this.#options.entities, question),
    )
  }

  explain(question: ExplainQuestion): Promise<Explanation | Unread> {
    const { locationId } = question
    return guarded(async () =>
      (await this.#options.locations.find(locationId)) === undefined
        ? notFound(locationId)
        : explain(this.#options.entities, question),
    )
  }

  request(requestId: string): Promise<RequestReport | Unread> {
    return guarded(async () => {
      const answered = await this.#options.entities.answered(requestId)
      const reply = answered?.reply
      if (answered === undefined || !isReply(reply)) return noSuchRequest(requestId)
      const { version, position, at } = answered
      const { operation, body } = reply
      return { ok: true, requestId, operation, recordedAt: isoOf(at), position, version, body }
    })
  }

  moveOf(
    moveId: string,
    seen?: number,
  ): Promise<Readonly<{ ok: true; move: MoveReport }> | Unread> {
    return this.#reading.move(moveId, seen)
  }

  moves(page?: StockPage): Promise<Listed<MoveReport> | Unread> {
    return this.#reading.moves(page)
  }

  changes(after: number): AsyncIterableIterator<StockChange, undefined> {
    const feed = new Feed(this.#options.entities, after, (ended) => this.#feeds.delete(ended))
    this.#feeds.add(feed)
    return feed
  }

  pots(page: Readonly<{ after?: string; limit?: number }> = {}): Listed<PotReport> {
    const { after, limit = STOCK_LIST_DEFAULT } = page
    const most = Math.min(Math.max(1, limit), STOCK_LIST_MAX)
    const found = this.#awake()
      .filter(({ id }) => after === undefined || id > after)
      .toSorted((a, b) => (a.id < b.id ? -1 : 1))
    const items = found.slice(0, most).flatMap((report) => reportOf(report) ?? [])
    const next = found.length > most ? items.at(-1)?.key : undefined
    const position = this.#levels.position
    return { ok: true, items, ...(next === undefined ? undefined : { next }), position }
  }

  pot(key: string): Promise<Readonly<{ ok: true; pot: PotReport }> | Unread> {
    return guarded(async () => {
      const place = potPlace(key)
      if (place === undefined) return noSuchPot(key)
      const awake = this.#awake().find(({ id }) => id === key)
      const report = awake && reportOf(awake)
      if (report !== undefined) return { ok: true, pot: report }
      const version = standingOf(
        await this.#levels.get(LEVEL + key, { seen: this.#writing.answered }),
      )?.version
      if (version === undefined) return noSuchPot(key)
      const resting = { phase: 'resting', pending: 0, replayedEvents: 0, activationMs: 0 } as const
      return { ok: true, pot: { key, ...place, version, ...resting } }
    })
  }

  async passivate(key: string): Promise<Readonly<{ ok: true }> | Unread> {
    if (potPlace(key) === undefined) return noSuchPot(key)
    await this.#options.entities.passivate({ type: stockPot.type, id: key })
    return { ok: true }
  }

  async health(): Promise<StockHealth> {
    const { locations, isStorageUp = () => true } = this.#options
    const checks = [
      { name: 'locationApi', up: await isUp(() => locations.health()) },
      { name: 'eventRepository', up: isStorageUp() },
      { name: 'snapshotRepository', up: isStorageUp() },
      { name: 'levels', up: this.#areLevelsUp },
    ]
    return { up: checks.every(({ up }) => up), checks }
  }

  metrics(): readonly StockMetric[] {
    const { ledgerHits, ledgerMisses, ledgerMismatches, coalesced } =
      this.#options.entities.metrics()
    return [
      counter('idempotency_domain_hits', 'requests that were granted before', ledgerHits),
      counter('idempotency_domain_misses', 'requests that were not known', ledgerMisses),
      counter('idempotency_domain_mismatches', 'request ids with other content', ledgerMismatches),
      counter('idempotency_domain_coalesced', 'requests that joined one on its way', coalesced),
      labelled('stock_recorded_total', 'what was recorded', 'operation', this.#writing.recorded),
      labelled('stock_refused_total', 'writes that were refused', 'code', this.#writing.refused),
      {
        name: 'stock_feeds',
        help: 'readers of the change feed',
        type: 'gauge',
        samples: [{ value: this.#feeds.size }],
      },
    ]
  }

  async close(): Promise<void> {
    await Promise.all([...[...this.#feeds].map((feed) => feed.return()), this.#levels.close()])
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close()
  }

  #awake(): readonly EntityReport[] {
    return this.#options.entities.list().filter(({ type }) => type === stockPot.type)
  }
}

function isReply(reply: unknown): reply is Extract<PotReply, { ok: true }> {
  return typeof reply === 'object' && reply !== null && 'operation' in reply && 'body' in reply
}

function reportOf({ id, type: _type, ...report }: EntityReport): PotReport | undefined {
  const place = potPlace(id)
  return place === undefined ? undefined : { key: id, ...place, ...report }
}

async function isUp(check: () => boolean | Promise<boolean>): Promise<boolean> {
  try {
    return await check()
  } catch {
    return false
  }
}

function counter(name: string, help: string, value: number): StockMetric {
  return { name, help, type: 'counter', samples: [{ value }] }
}

function labelled(
  name: string,
  help: string,
  label: string,
  counts: ReadonlyMap<string, number>,
): StockMetric {
  const samples = [...counts].map(([is, value]) => ({ labels: { [label]: is }, value }))
  return { name, help, type: 'counter', samples }
}

function noSuchRequest(requestId: string): Fault<'no-such-request'> {
  return fault('no-such-request', 'no request of that id was granted, as far as is remembered', {
    requestId,
    remedy: 'repeat the request: it has one effect',
  })
}

function noSuchPot(key: string): Fault<'no-such-pot'> {
  return fault('no-such-pot', 'there is no such pot', {
    key: key.slice(0, 100),
    remedy: 'give product and location, percent-encoded, with a bar between them',
  })
}
