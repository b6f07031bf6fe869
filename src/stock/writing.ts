/**
 * Deliveries, sales, moves and counts on their way to the pot that decides them.
 *
 * Where a place is found at once, a write is one ask and waits for nothing else. A refusal that does not
 * come from the pot is held against the request id first: what was granted once gets its answer again,
 * whatever has become of the place since.
 */
import type { AskOptions, Entities } from '../entity/index.ts'
import { withContext } from '../kernel/index.ts'
import {
  fault,
  parseTraceparent,
  silentLog,
  type Fault,
  type Log,
  type LogFields,
  type TraceContext,
} from '../std/index.ts'
import { mishapOf, WRITE_MISHAPS } from './accidents.ts'
import type { CountBody, DeliveryBody, MoveBody, SaleBody } from './bodies.ts'
import {
  isTracked,
  tracing,
  type FindOptions,
  type Later,
  type Location,
  type LocationDirectory,
} from './locations/directory.ts'
import { notFound } from './locations/register.ts'
import { potKey } from './names.ts'
import { deliveredTo, type PotCommand, type PotDefinition } from './pot.ts'
import type {
  By,
  Count,
  Delivery,
  Move,
  Recorded,
  Sale,
  StockOptions,
  StockRefusal,
} from './stock.ts'

type Unplaced = Fault<
  'location-not-found' | 'location-not-tracked' | 'upstream-unavailable' | 'version-mismatch'
>
/** What is the caller's business alone. */
const EXPECTED: ReadonlySet<string> = new Set(['request-mismatch', 'version-mismatch'])

type Content = Readonly<Record<string, unknown>>

export class Writing {
  readonly #entities: Entities
  readonly #locations: LocationDirectory
  readonly #pot: PotDefinition
  readonly #log: Log
  /** The position after the last write that was answered. */
  answered: number
  readonly recorded: Map<string, number> = new Map()
  readonly refused: Map<string, number> = new Map()

  constructor(options: StockOptions, pot: PotDefinition) {
    const { entities, locations, log = silentLog, answered = 0 } = options
    this.#entities = entities
    this.#locations = locations
    this.#pot = pot
    this.#log = log
    this.answered = answered
  }

  async deliver(delivery: Delivery, by: By): Promise<Recorded<DeliveryBody> | Fault<StockRefusal>> {
    const { requestId, locationId, supplierId, supplierRef, deliveredAt, products } = delivery
    const command: PotCommand = {
      type: 'deliver',
      requestId,
      locationId,
      supplierId,
      supplierRef,
      effectiveAt: deliveredAt,
      products,
    }
    const pots = deliveredTo(command)
    const content = {
      operation: 'delivery',
      locationId,
      supplierId,
      supplierRef,
      deliveredAt,
      products: pots.map(({ key, event }) => [key, event.quantity]),
    }
    const severalVersions = by.expected !== undefined && pots.length > 1
    const refusal = severalVersions ? manyVersions(by) : await this.#unplaced(locationId, by)
    return this.#record(pots[0]?.key ?? '', command, content, by, refusal)
  }

  async sell(sale: Sale, by: By): Promise<Recorded<SaleBody> | Fault<StockRefusal>> {
    const { requestId, locationId, productId, quantity, soldAt } = sale
    const command: PotCommand = {
      type: 'sell',
      requestId,
      locationId,
      productId,
      quantity,
      effectiveAt: soldAt,
    }
    const content = { locationId, operation: 'sale', productId, quantity, soldAt }
    const unplaced = this.#unplaced(locationId, by)
    const refusal = unplaced instanceof Promise ? await unplaced : unplaced
    return this.#record(potKey(sale), command, content, by, refusal)
  }

  async move(move: Move, by: By): Promise<Recorded<MoveBody> | Fault<StockRefusal>> {
    const { requestId, productId, quantity, reason, movedAt } = move
    const { sourceLocationId: from, destinationLocationId: to } = move
    const command: PotCommand = {
      type: 'move',
      requestId,
      productId,
      from,
      to,
      quantity,
      reason,
      effectiveAt: movedAt,
    }
    const content = {
      destinationLocationId: to,
      movedAt,
      operation: 'move',
      productId,
      quantity,
      reason,
      sourceLocationId: from,
    }
    const source = this.#unplaced(from, by)
    const noSource = source instanceof Promise ? await source : source
    const either = noSource ?? this.#unplaced(to, by, 'end')
    const refusal = either instanceof Promise ? await either : either
    return this.#record(potKey({ productId, locationId: from }), command, content, by, refusal)
  }

  async count(count: Count, by: By): Promise<Recorded<CountBody> | Fault<StockRefusal>> {
    const { requestId, locationId, productId, quantity, reason, countedAt } = count
    const command: PotCommand = {
      type: 'count',
      requestId,
      locationId,
      productId,
      quantity,
      reason,
      effectiveAt: countedAt,
    }
    const content = {
      operation: 'count',
      locationId,
      productId,
      quantity,
      reason,
      countedAt,
    }
    const refusal = await this.#unplaced(locationId, by)
    return this.#record(potKey(count), command, content, by, refusal)
  }

  async #record<Body>(
    key: string,
    command: PotCommand,
    content: Content,
    by: By,
    refusal: Unplaced | undefined,
  ): Promise<Recorded<Body> | Fault<StockRefusal>> {
    const { requestId } = command
    const context = parseTraceparent(by.trace)
    try {
      if (refusal !== undefined && (await this.#entities.answered(requestId)) === undefined)
        return this.#refuse(refusal)
      const options = askOptions(by, requestId, content)
      const answer = await within(context, () =>
        this.#entities.ask(this.#pot, key, command, options),
      )
      const { reply, version, position, replayed } = answer
      if (position > this.answered) this.answered = position
      if (!reply.ok) return this.#refuse(reply)
      if (!replayed) increase(this.recorded, reply.operation)
      const { operation } = reply
      const told = { operation, pot: key, requestId, version, replayed }
      this.#log.debug('recorded', traced(told, context))
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the content names the operation
      return { ok: true, body: reply.body as Body, version, position, replayed }
    } catch (error) {
      const mishap = mishapOf(error, WRITE_MISHAPS)
      const { code, message, detail } = mishap
      if (!EXPECTED.has(code))
        this.#log.warn(message, traced({ code, ...detail, requestId }, context))
      return this.#refuse(mishap)
    }
  }

  #refuse<Code extends StockRefusal>(refusal: Fault<Code>): Fault<Code> {
    increase(this.refused, refusal.code)
    return refusal
  }

  /** Why nothing can be recorded there; at once where the directory answers at once. */
  #unplaced(id: string, by: By, end?: 'end'): Later<Unplaced | undefined> {
    const options = tracing(by.trace)
    const found = this.#locations.find(id, options)
    if (!(found instanceof Promise) && found !== undefined && isTracked(found)) return undefined
    return this.#judged(id, found, options, end)
  }

  async #judged(
    id: string,
    found: Later<Location | undefined>,
    options: FindOptions | undefined,
    end: 'end' | undefined,
  ): Promise<Unplaced | undefined> {
    try {
      const place = await found
      if (place === undefined) return notFound(id)
      if (isTracked(place)) return undefined
      if (end !== undefined) return untracked(id, undefined)
      const path = (await this.#locations.path(id, options)) ?? []
      return untracked(id, path.findLast((above) => above.id !== id && isTracked(above))?.id)
    } catch (error) {
      return mishapOf(error, ['upstream-unavailable'])
    }
  }
}

/** Whoever waited for a place is no longer where the call was made; the trace goes along all the same. */
function within<Value>(context: TraceContext | undefined, work: () => Value): Value {
  return context === undefined ? work() : withContext(context, work)
}

/** What finds a line again by the trace of its request. */
function traced(told: LogFields, context: TraceContext | undefined): LogFields {
  if (context === undefined) return told
  return { ...told, trace_id: context.traceId, span_id: context.spanId }
}

function askOptions(
  { actor, trace, expected, deadlineMs }: By,
  requestId: string,
  content: Content,
): AskOptions {
  const options: { -readonly [Name in keyof AskOptions]: AskOptions[Name] } = {
    actor,
    requestId,
    content,
  }
  if (trace !== undefined) options.trace = trace
  if (expected !== undefined) options.expected = expected
  if (deadlineMs !== undefined) options.deadlineMs = deadlineMs
  return options
}

function increase(counts: Map<string, number>, name: string): void {
  counts.set(name, (counts.get(name) ?? 0) + 1)
}

function untracked(id: string, redirect: string | undefined): Fault<'location-not-tracked'> {
  return fault('location-not-tracked', 'no stock is kept at that location', {
    locationId: id,
    ...(redirect === undefined ? undefined : { redirect }),
    remedy:
      redirect === undefined
        ? 'name a location that is tracked'
        : 'record it at the tracked location around it',
  })
}

function manyVersions({ expected }: By): Fault<'version-mismatch'> {
  return fault('version-mismatch', 'a delivery of several products has several versions', {
    expected,
    remedy: 'deliver one product, or expect no version',
  })
}
