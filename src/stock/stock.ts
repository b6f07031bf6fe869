/**
 * The stock: deliveries, sales, moves and counts, and what they come to.
 *
 * Writes ask one pot and are durable when they are answered. Reads never wake a pot: levels come from a
 * projection, which waits for the writes the reader has `seen`; the past comes from history.
 *
 * Quantities and times come in as they are kept (`quantityOf`, `timeOf`) and checked: positive where
 * something moves, not negative where it is counted, ids that are ids. Bodies are what goes out as JSON.
 */
import type { Entities, EntityPhase } from '../entity/index.ts'
import type { Fault, Log } from '../std/index.ts'
import type { LocationDirectory } from './locations/directory.ts'
import type { CountBody, DeliveryBody, MoveBody, SaleBody } from './bodies.ts'
import { createFacade } from './facade.ts'
import type { CountReason, DeliveryLine, MoveReason, PotEvent, PotRules } from './pot.ts'
import type { Quantity } from './quantity.ts'

export type By = Readonly<{
  /** Who asks; stored with every event. */
  actor: string
  /** A W3C `traceparent`; stored with every event, and sent along to the directory. */
  trace?: string
  /** The version the pot must have; that of the source for a move. */
  expected?: number
  deadlineMs?: number
}>

export type Delivery = Readonly<{
  requestId: string
  locationId: string
  supplierId: string
  supplierRef: string
  deliveredAt: number
  products: readonly DeliveryLine[]
}>

export type Sale = Readonly<{
  requestId: string
  locationId: string
  productId: string
  quantity: Quantity
  soldAt: number
}>

export type Move = Readonly<{
  requestId: string
  sourceLocationId: string
  destinationLocationId: string
  productId: string
  quantity: Quantity
  reason: MoveReason
  movedAt: number
}>

export type Count = Readonly<{
  requestId: string
  locationId: string
  productId: string
  quantity: Quantity
  reason: CountReason
  countedAt: number
}>

export type StockRefusal =
  | 'location-not-found'
  | 'location-not-tracked' // detail: locationId, redirect? (the nearest tracked ancestor; never for a destination)
  | 'insufficient-stock' // detail: quantity, missing
  | 'same-location'
  | 'request-mismatch' // detail: fields
  | 'version-mismatch' // detail: expected, actual?
  | 'books-closed'
  | 'in-the-future'
  | 'upstream-unavailable'
  | 'overloaded'
  | 'shutting-down'
  | 'pot-unavailable' // detail: retryAtMs?, mayHaveTakenEffect?

export type StockReadRefusal =
  | 'location-not-found'
  | 'upstream-unavailable'
  | 'view-behind'
  | 'overloaded'
  | 'shutting-down'
  | 'pot-unavailable'
  | 'history-too-long'
  | 'bad-cursor'
  | 'no-such-version'
  | 'no-such-request'
  | 'no-such-move'
  | 'no-such-pot'

export type Recorded<Body> = Readonly<{
  ok: true
  body: Body
  /** The version of the pot after it: of the source for a move, of the first by key for a delivery. */
  version: number
  /** Give it to a read as `seen` to read your own writes. */
  position: number
  /** The request had been granted before, and this is that answer. */
  replayed: boolean
}>

export type LevelQuestion = Readonly<{
  locationId: string
  productId: string
  includeChildren: boolean
  /** As it was at that time, with all that is known now; over the tree of today. */
  asOf?: number
  /** As it was believed to be at that time. */
  asAt?: number
  /** The view has got this far; unless given, to the last write that this stock has answered. */
  seen?: number
  trace?: string
}>

/** Zero pending and children that are not there are left out, as is the quantity of an untracked place. */
export type LevelNode = Readonly<{
  locationId: string
  quantity?: number
  pendingAdjustment?: number
  totalQuantity: number
  childLocations?: readonly LevelNode[]
}>

export type LevelBody = Readonly<{
  locationId: string
  productId: string
  quantity?: number
  pendingAdjustment?: number
  lastUpdated?: string
  totalQuantity?: number
  childLocations?: readonly LevelNode[]
}>

/** `version` is that of the pot itself, 0 before its first event. */
export type Level = Readonly<{ ok: true; body: LevelBody; version: number; position: number }>

export type StockPage = Readonly<{ after?: string; limit?: number; seen?: number }>

export type Listed<Item> = Readonly<{
  ok: true
  items: readonly Item[]
  /** Where to go on; none at the end. */
  next?: string
  position: number
}>

/** One pot in a list. */
export type PotLevel = Readonly<{
  locationId: string
  productId: string
  quantity: number
  pendingAdjustment?: number
  lastUpdated: string
  version: number
}>

export type HistoryQuestion = Readonly<{
  locationId: string
  productId: string
  /** By when things took effect, or by when they were recorded. */
  order: 'effective' | 'recorded'
  /** From and up to these times of effect or of recording, both included. */
  from?: number
  to?: number
  after?: string
  limit?: number
}>

/** One event, with what the pot came to after it in the order that was asked for. */
export type HistoryEntry = Readonly<{
  version: number
  position: number
  /** Events with the same one were recorded as one thing. */
  batch: number
  type: PotEvent['type']
  effectiveAt: string
  recordedAt: string
  requestId: string
  actor?: string
  /** What the event says it was about: pieces, or what was counted. */
  amount: number
  quantity: number
  pendingAdjustment: number
  moveId?: string
  /** The other end of a move. */
  counterpart?: string
  reason?: string
  supplierId?: string
  supplierRef?: string
  /** Of a count: counted minus what was expected there in this order. */
  variance?: number
  /** It was recorded after something that took effect later. */
  late: boolean
}>

export type ExplainQuestion = Readonly<{
  locationId: string
  productId: string
  /** Versions: what came after the first, up to the second. */
  from: number
  to: number
}>

export type Standing = Readonly<{
  version: number
  quantity: number
  pendingAdjustment: number
}>

export type Explanation = Readonly<{
  ok: true
  locationId: string
  productId: string
  before: Standing
  after: Standing
  /** In the order they were recorded; each with what it changed in the level of that moment. */
  events: readonly (HistoryEntry &
    Readonly<{
      quantityChange: number
      pendingChange: number
      /** How many events that had been recorded before took effect after it. */
      overtook: number
    }>)[]
  /** Versions of the events that came late and so changed the order of history. */
  lateFacts: readonly number[]
  /** The sum over the counts in between. */
  variance: number
}>

export type RequestReport = Readonly<{
  ok: true
  requestId: string
  operation: string
  recordedAt: string
  position: number
  version: number
  body: unknown
}>

/** Moves are whole when they are recorded, so there is one state. */
export type MoveReport = Readonly<{
  moveId: string
  requestId: string
  state: 'completed'
  productId: string
  sourceLocationId: string
  destinationLocationId: string
  quantity: number
  reason: MoveReason
  movedAt: string
  recordedAt: string
  position: number
  actor?: string
}>

/** One event on the feed; `position` is where to go on after it. */
export type StockChange = Readonly<{
  position: number
  batch: number
  type: PotEvent['type']
  locationId: string
  productId: string
  version: number
  effectiveAt: string
  recordedAt: string
  requestId: string
  amount: number
  actor?: string
  moveId?: string
  counterpart?: string
  reason?: string
  /** It came late, and levels that were reported from its time of effect on are other ones since. */
  discrepancy?: Readonly<{ since: string; before: Standing; after: Standing }>
}>

export type PotReport = Readonly<{
  key: string
  locationId: string
  productId: string
  phase: EntityPhase | 'resting'
  version: number
  /** Commands that wait or are being made durable. */
  pending: number
  replayedEvents: number
  activationMs: number
  fault?: Readonly<{ code: string; message: string }>
  retryAtMs?: number
}>

export type StockHealth = Readonly<{
  up: boolean
  checks: readonly Readonly<{ name: string; up: boolean }>[]
}>

/** As the exposition format wants it. */
export type StockMetric = Readonly<{
  name: string
  help: string
  type: 'counter' | 'gauge'
  samples: readonly Readonly<{ labels?: Readonly<Record<string, string>>; value: number }>[]
}>

type Refused = Fault<StockRefusal>
type Unread = Fault<StockReadRefusal>

export type StockOptions = Readonly<{
  entities: Entities
  locations: LocationDirectory
  /** Is told of writes that failed for reasons of ours. */
  log?: Log
  /** What is not said is as by default: five minutes, open books, and oversold sales accepted. */
  options?: Partial<PotRules>
  /** Whether history can be written, for `health`. */
  isStorageUp?: () => boolean
}>

export interface Stock extends AsyncDisposable {
  deliver(delivery: Delivery, by: By): Promise<Recorded<DeliveryBody> | Refused>
  sell(sale: Sale, by: By): Promise<Recorded<SaleBody> | Refused>
  move(move: Move, by: By): Promise<Recorded<MoveBody> | Refused>
  count(count: Count, by: By): Promise<Recorded<CountBody> | Refused>
  level(question: LevelQuestion): Promise<Level | Unread>
  /** Every product that ever was at a place, by id. */
  productsAt(locationId: string, page?: StockPage): Promise<Listed<PotLevel> | Unread>
  /** Every place that a product ever was at, by id. */
  locationsOf(productId: string, page?: StockPage): Promise<Listed<PotLevel> | Unread>
  history(question: HistoryQuestion): Promise<Listed<HistoryEntry> | Unread>
  explain(question: ExplainQuestion): Promise<Explanation | Unread>
  /** What became of a request, as long as it is remembered. */
  request(requestId: string): Promise<RequestReport | Unread>
  moveOf(moveId: string, seen?: number): Promise<Readonly<{ ok: true; move: MoveReport }> | Unread>
  moves(page?: StockPage): Promise<Listed<MoveReport> | Unread>
  /** Every event after a position, in order, for as long as it is read; ends when the stock is closed. */
  changes(after: number): AsyncIterableIterator<StockChange, undefined>
  /** Pots that are awake or in trouble, by key. */
  pots(page?: Readonly<{ after?: string; limit?: number }>): Listed<PotReport>
  pot(key: string): Promise<Readonly<{ ok: true; pot: PotReport }> | Unread>
  /** Puts a pot away; it is settled when it rests. */
  passivate(key: string): Promise<Readonly<{ ok: true }> | Unread>
  health(): Promise<StockHealth>
  metrics(): readonly StockMetric[]
  /** Ends the projection and the feeds. The entities are the caller's. */
  close(): Promise<void>
}

/** One for a runtime: it starts the projection of levels, which whoever starts it again takes over. */
export function createStock(options: StockOptions): Stock {
  return createFacade(options)
}
