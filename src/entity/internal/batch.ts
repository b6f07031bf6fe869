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
      addMore((more ??= { ledger: [], legs: new Map(), records: new Map() }), request)
  }
  const own: StreamAppend = { stream, expected: base.version, events: all ?? events }
  if (more === undefined && entity.kind.definition.alarm === undefined && core.fence === undefined)
    return { batch: { streams: [own] }, legs: NO_LEGS, due: undefined }
  return assembleMore(entity, own, more ?? { ledger: [], legs: new Map(), records: new Map() })
}

/** What a batch has besides the events of its own stream. */
type More = Readonly<{
  ledger: LedgerEntry[]
  legs: Map<string, SentLeg>
  records: Map<string, RecordWrite>
}>

function addMore({ ledger, legs, records }: More, request: Request): void {
  const { extra } = request
  const { requestId, fingerprint = '' } = request.asking
  if (requestId !== undefined)
    ledger.push({ key: requestId, fingerprint, response: extra?.response ?? '' })
  if (extra === undefined) return
  for (const leg of extra.legs) addLeg(legs, leg)
  for (const { key, value } of extra.reactions) records.set(key, { collection: OUTBOX, key, value })
}

function assembleMore(entity: Active, own: StreamAppend, more: More): Sent {
  const { ledger, legs, records } = more
  const { fence } = entity.core
  addAlarms(entity, legs, records)
  return {
    batch: {
      streams: legs.size === 0 ? [own] : [own, ...appendsOf(legs)],
      ...(records.size > 0 && { records: [...records.values()] }),
      ...(ledger.length > 0 && { ledger }),
      ...(fence !== undefined && { fence }),
    },
    legs: legs.size === 0 ? NO_LEGS : [...legs.values()],
    due: entity.tipDue,
  }
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
function addAlarms(
  entity: Active,
  legs: ReadonlyMap<string, SentLeg>,
  records: Map<string, RecordWrite>,
): void {
  const { core, next, alarmDue, tipDue, stream } = entity
  const drop = (key: string): unknown =>
    records.set(key, { collection: ALARMS, key, deleted: true })
  const put = (key: string, value: string): unknown =>
    records.set(key, { collection: ALARMS, key, value })
  for (const { wakeKey } of next) if (wakeKey !== undefined) drop(wakeKey)
  if (entity.kind.definition.alarm !== undefined) {
    if (alarmDue !== undefined && alarmDue !== tipDue) drop(alarmKey(alarmDue, stream))
    if (tipDue !== undefined && (alarmDue !== tipDue || !entity.isAlarmSure))
      put(alarmKey(tipDue, stream), stream)
    if (entity.isSealed) put(wakeUpKey(entity, stream), stream)
  }
  for (const [legStream, { kind }] of legs)
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
