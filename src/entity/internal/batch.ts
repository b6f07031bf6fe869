/**
 * The batch of an entity: everything that was decided since the last one, as one thing.
 *
 * Its own stream is always in it, also without an event: the decisions are good only if nobody else has
 * written to it. Legs for the same stream are one append.
 */
import type {
  Batch,
  LedgerEntry,
  NewEvent,
  RecordWrite,
  StreamAppend,
} from '../../journal/index.ts'
import type { Active } from './active.ts'
import type { Kind } from './kind.ts'
import { streamTag } from './naming.ts'
import type { Request } from './request.ts'
import type { EncodedLeg } from './turn.ts'

/** Records of alarms: the key begins with the time, so that the earliest come first. */
export const ALARMS = 'entity-alarms'
/** Records of commands for others that have not been delivered. */
export const OUTBOX = 'entity-outbox'

/** What was written to the stream of another entity. */
export type SentLeg = Readonly<{
  kind: Kind
  id: string
  events: { type: string }[]
  encoded: NewEvent[]
}>

export type Sent = Readonly<{
  batch: Batch
  /** In the order of the streams of the batch, after the entity's own. */
  legs: readonly SentLeg[]
  /** The alarm on record after it. */
  due: number | undefined
}>

const NO_LEGS: readonly SentLeg[] = []
const NO_EVENTS: readonly NewEvent[] = []
const DUE_DIGITS = 16

export function assemble(entity: Active): Sent {
  const { next, base, stream, core } = entity
  let events: readonly NewEvent[] = NO_EVENTS
  let all: NewEvent[] | undefined
  let more: More | undefined
  for (const request of next) {
    if (request.outcome !== 'accept') continue
    if (next.length === 1) events = request.events
    else for (const event of request.events) (all ??= []).push(event)
    const { extra, asking, wakeKey } = request
    if (extra !== undefined || asking.requestId !== undefined || wakeKey !== undefined)
      addMore((more ??= { ledger: [], legs: undefined, records: undefined }), request)
  }
  const own: StreamAppend = { stream, expected: base.version, events: all ?? events }
  if (more === undefined && entity.kind.definition.alarm === undefined && core.fence === undefined)
    return { batch: { streams: [own] }, legs: NO_LEGS, due: undefined }
  return assembleMore(entity, own, more ?? { ledger: [], legs: undefined, records: undefined })
}

/** What a batch has besides the events of its own stream. */
type More = {
  readonly ledger: LedgerEntry[]
  legs: Map<string, SentLeg> | undefined
  records: Map<string, RecordWrite> | undefined
}

function addMore(more: More, request: Request): void {
  const { extra } = request
  const { requestId, fingerprint = '' } = request.asking
  if (requestId !== undefined)
    more.ledger.push({ key: requestId, fingerprint, response: extra?.response ?? '' })
  if (extra === undefined) return
  for (const leg of extra.legs) addLeg((more.legs ??= new Map()), leg)
  for (const { key, value } of extra.reactions) write(more, { collection: OUTBOX, key, value })
}

function assembleMore(entity: Active, own: StreamAppend, more: More): Sent {
  const { fence } = entity.core
  addAlarms(entity, more)
  const { ledger, legs, records } = more
  const batch: { -readonly [Part in keyof Batch]: Batch[Part] } = {
    streams: legs === undefined ? [own] : [own, ...appendsOf(legs)],
  }
  if (records !== undefined) batch.records = [...records.values()]
  if (ledger.length > 0) batch.ledger = ledger
  if (fence !== undefined) batch.fence = fence
  return { batch, legs: legs === undefined ? NO_LEGS : [...legs.values()], due: entity.tipDue }
}

function write(more: More, record: RecordWrite): void {
  more.records ??= new Map()
  more.records.set(record.key, record)
}

function addLeg(legs: Map<string, SentLeg>, leg: EncodedLeg): void {
  const { stream, kind, id, events, encoded } = leg
  const sent = legs.get(stream)
  if (sent === undefined) {
    legs.set(stream, { kind, id, events: [...events], encoded: [...encoded] })
    return
  }
  sent.events.push(...events)
  sent.encoded.push(...encoded)
}

function* appendsOf(legs: ReadonlyMap<string, SentLeg>): Iterable<StreamAppend> {
  for (const [stream, { encoded }] of legs) yield { stream, expected: 'any', events: encoded }
}

/**
 * An entity has a record that wakes it no later than it wants to be woken. Who writes to another's
 * stream does not know what that one wants, and has it woken at once.
 */
function addAlarms(entity: Active, more: More): void {
  const { core, next, alarmDue, tipDue, stream } = entity
  const drop = (key: string): void => write(more, { collection: ALARMS, key, deleted: true })
  const put = (key: string, value: string): void => write(more, { collection: ALARMS, key, value })
  for (const { wakeKey } of next) if (wakeKey !== undefined) drop(wakeKey)
  if (entity.kind.definition.alarm !== undefined) {
    if (alarmDue !== undefined && alarmDue !== tipDue) drop(alarmKey(alarmDue, stream))
    if (tipDue !== undefined && (alarmDue !== tipDue || !entity.isAlarmSure))
      put(alarmKey(tipDue, stream), stream)
    if (entity.isSealed) put(wakeUpKey(entity, stream), stream)
  }
  if (more.legs === undefined) return
  for (const [legStream, { kind }] of more.legs)
    if (kind.definition.alarm !== undefined) put(wakeUpKey(entity, legStream), legStream)

  function wakeUpKey({ core: { steady } }: Active, of: string): string {
    return `${alarmKey(steady.now(), of)}/${core.freshNonce()}`
  }
}

export function alarmKey(due: number, stream: string): string {
  return `${digitsOf(due)}/${streamTag(stream)}`
}

/** The last key there can be of an alarm that is due by then. */
export function afterAllDueBy(due: number): string {
  return digitsOf(due + 1)
}

function digitsOf(due: number): string {
  return String(due).padStart(DUE_DIGITS, '0')
}

export function dueOfKey(key: string): number {
  return Number(key.slice(0, DUE_DIGITS))
}

/** Whether any of these commands writes to that stream. */
export function writesTo(requests: readonly Request[], stream: string): boolean {
  return requests.some(({ extra }) => extra?.legs.some((leg) => leg.stream === stream))
}
