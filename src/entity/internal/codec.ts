/**
 * How entities are written down: names of streams, events as JSON, and which fold made a snapshot.
 *
 * What must stay true: `decodeEvent` of what `encodeEvent` made is the event again, in every later
 * version of the program too, or is refused by name; two entities never share a stream; and a
 * definition that could fold the same events to another state has another fingerprint.
 */
import { createHash } from 'node:crypto'

import { NAME_BYTES_MAX, type NewEvent, type StoredEvent } from '../../journal/index.ts'
import { Accident, fault } from '../../std/index.ts'
import type { AnyEntity, EntityDefinition, EntityKey, Upcast } from '../entity.ts'

/** What folding needs of a definition. */
export type Folding<State, Event> = Pick<
  EntityDefinition<State, unknown, Event, unknown>,
  'type' | 'version' | 'initial' | 'evolve' | 'effectiveAt' | 'upcast' | 'fold' | 'snapshots'
>

/** What is recorded with every event of a command. */
export type Recording = Readonly<{
  at: number
  requestId?: string
  actor?: string
  trace?: string
}>

/** How events are read: today's version of them, and the way there from earlier ones. */
export type Decoding<Event> = AnyEntity &
  Readonly<{ evolve?: (state: never, event: Event) => unknown }>

/** All that has a part in what comes out of a fold. */
type FoldSource = AnyEntity &
  Readonly<{
    initial: (id: string) => unknown
    evolve: (state: never, event: never) => unknown
    fold?: number
  }>

/** The name of the stream of an entity. A type has no slash, so the first one ends it. */
export function streamOf(key: EntityKey): string {
  const { type, id } = key
  const stream = `${type}/${id}`
  if (id === '') throw badId(key, 'is empty')
  if (!stream.isWellFormed()) throw badId(key, 'has half a character in it')
  if (id.includes('\0')) throw badId(key, 'has a NUL in it')
  if (stream.length * 3 > NAME_BYTES_MAX && Buffer.byteLength(stream) > NAME_BYTES_MAX)
    throw badId(key, `is longer than ${NAME_BYTES_MAX} bytes with its type`)
  return stream
}

/** Whose stream it is; nobody's if entities do not name theirs so. */
export function keyOf(stream: string): EntityKey | undefined {
  const slash = stream.indexOf('/')
  if (slash < 1 || slash === stream.length - 1) return undefined
  return { type: stream.slice(0, slash), id: stream.slice(slash + 1) }
}

/** An event as the journal takes it; `at` is when it is recorded. */
export function encodeEvent(
  definition: AnyEntity,
  event: Readonly<{ type: string }>,
  { at, requestId, actor, trace }: Recording,
): NewEvent {
  const { type, ...data } = event
  const effectiveAt = effectiveAtOf(definition, event, at)
  const encoded: { -readonly [Name in keyof NewEvent]: NewEvent[Name] } = {
    type: nameOf(definition, type),
    version: definition.version,
    at,
    data: dataOf(definition, type, data),
  }
  if (effectiveAt !== at) encoded.effectiveAt = effectiveAt
  if (requestId !== undefined) encoded.requestId = requestId
  if (actor !== undefined) encoded.actor = actor
  if (trace !== undefined) encoded.trace = trace
  return encoded
}

/** When an event took effect, which is when it was recorded unless the definition says otherwise. */
export function effectiveAtOf(
  definition: AnyEntity,
  event: Readonly<{ type: string }>,
  at: number,
): number {
  if (definition.effectiveAt === undefined) return at
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- an event of this definition
  const effectiveAt = definition.effectiveAt(event as never)
  if (Number.isSafeInteger(effectiveAt)) return effectiveAt
  throw badEvent(definition, event.type, `took effect at ${effectiveAt}`, {
    remedy: 'let effectiveAt answer whole milliseconds since the epoch',
  })
}

/** The event that was stored, as today's version would have made it. */
export function decodeEvent<Event>(definition: Decoding<Event>, stored: StoredEvent): Event {
  const { type, version } = stored
  if (version > definition.version)
    throw unknownEvent(
      stored,
      `is of version ${version}, and this program knows up to ${definition.version}`,
      {
        remedy: 'run the program that wrote it or a newer one',
      },
    )
  let event: { type: string } = { ...parse(stored), type }
  for (let from = version; from < definition.version; from++) {
    const upcast = definition.upcast?.[from]
    if (upcast === undefined)
      throw unknownEvent(stored, `is of version ${version}, and there is no upcast from ${from}`, {
        remedy: `add upcast ${from} to the definition`,
      })
    event = upcasted(stored, upcast, event)
  }
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- what was encoded under this type and version
  return event as Event
}

const fingerprints = new WeakMap<object, string>()

/**
 * Which fold it is. The source text stands for what cannot be compared otherwise; what it calls is not
 * in it, which is what `fold` in the definition is for.
 */
export function foldOf(definition: FoldSource): string {
  const known = fingerprints.get(definition)
  if (known !== undefined) return known
  const { type, version, fold = 0, initial, evolve, effectiveAt, upcast = {} } = definition
  const parts = [
    type,
    version,
    fold,
    effectiveAt === undefined ? 'recorded' : 'effective',
    String(initial),
    String(evolve),
    ...Object.entries(upcast).flatMap(([from, step]) => [from, String(step)]),
  ]
  const print = createHash('sha256').update(JSON.stringify(parts)).digest('base64url').slice(0, 22)
  fingerprints.set(definition, print)
  return print
}

/** What comes back from JSON as it is. */
export const JSON_DATA = 'texts, finite numbers, booleans, null, arrays and plain objects'

/**
 * A value as JSON that it comes back from as it is. Throws what `refuse` makes of the place that would
 * not, if it is known.
 */
export function lastingJson(
  value: unknown,
  refuse: (place: string | undefined, cause?: unknown) => Accident,
): string {
  let json: string | undefined
  try {
    json = JSON.stringify(value)
  } catch (cause) {
    throw refuse(undefined, cause)
  }
  const lost = lostInJson(value)
  if (json === undefined || lost !== undefined) throw refuse(lost ?? '')
  return json
}

/**
 * Where a value would not come back from JSON as it went in, as one would write it behind the value;
 * undefined if it would. A property that is undefined counts as none.
 */
export function lostInJson(value: unknown): string | undefined {
  switch (typeof value) {
    case 'string':
    case 'boolean':
    case 'undefined':
      return undefined
    case 'number':
      return Number.isFinite(value) ? undefined : ''
    case 'object':
      return value === null ? undefined : lostInside(value)
    case 'bigint':
    case 'symbol':
    case 'function':
      return ''
  }
}

function lostInside(value: object): string | undefined {
  if (Array.isArray(value)) return lostInElements(value)
  const kind: unknown = Object.getPrototypeOf(value)
  const plain = kind === null || Object.getPrototypeOf(kind) === null
  if (!plain || 'toJSON' in value) return ''
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- a plain object is its properties
  const properties = value as Readonly<Record<string, unknown>>
  // Every event is looked at, and a list of its properties would cost more than the look.
  for (const key in properties) {
    const lost = lostInJson(properties[key])
    if (lost !== undefined) return `.${key}${lost}`
  }
  return undefined
}

function lostInElements(value: readonly unknown[]): string | undefined {
  for (let i = 0; i < value.length; i++) {
    const lost = value[i] === undefined ? '' : lostInJson(value[i])
    if (lost !== undefined) return `[${i}]${lost}`
  }
  return undefined
}

function nameOf(definition: AnyEntity, type: unknown): string {
  if (typeof type === 'string' && type !== '' && type.isWellFormed()) return type
  throw badEvent(definition, String(type), 'has no name', { remedy: 'give every event a type' })
}

function dataOf(definition: AnyEntity, type: string, data: object): string {
  return lastingJson(data, (place, cause) =>
    badEvent(
      definition,
      type,
      `is not JSON${place === undefined ? '' : ` at event${place}`}`,
      { remedy: `make events of ${JSON_DATA}` },
      cause,
    ),
  )
}

function parse(stored: StoredEvent): object {
  let data: unknown
  try {
    data = JSON.parse(stored.data)
  } catch (cause) {
    throw unknownEvent(stored, 'is not JSON', { remedy: FOREIGN }, cause)
  }
  if (typeof data === 'object' && data !== null && !Array.isArray(data)) return data
  throw unknownEvent(stored, 'is not an object', { remedy: FOREIGN })
}

const FOREIGN = 'find out who else writes to this stream'

function upcasted(stored: StoredEvent, upcast: Upcast, event: { type: string }): { type: string } {
  try {
    return upcast(event)
  } catch (cause) {
    throw unknownEvent(stored, 'cannot be upcast', { remedy: 'correct the upcast' }, cause)
  }
}

type Place = Pick<StoredEvent, 'stream' | 'seq' | 'type'> & Readonly<{ version?: number }>

/** An event that today's code cannot make sense of; the entity rests until it can. */
export function unknownEvent(
  { stream, seq, type, version }: Place,
  what: string,
  detail: Readonly<{ remedy: string }>,
  cause?: unknown,
): Accident<'unknown-event'> {
  return new Accident(
    fault('unknown-event', `event ${seq} of ${stream}, ${type}, ${what}`, {
      stream,
      seq,
      type,
      ...(version === undefined ? undefined : { version }),
      ...detail,
    }),
    { cause },
  )
}

function badEvent(
  { type: of }: AnyEntity,
  type: string,
  what: string,
  detail: Readonly<{ remedy: string }>,
  cause?: unknown,
): Accident<'bad-event'> {
  return new Accident(
    fault('bad-event', `the event ${type} of ${of} ${what}`, { entity: of, type, ...detail }),
    { cause },
  )
}

function badId({ type, id }: EntityKey, what: string): Accident<'bad-entity-id'> {
  return new Accident(
    fault('bad-entity-id', `the id of the ${type} ${what}`, {
      type,
      id: id.toWellFormed().slice(0, 100),
      remedy: `use well-formed text without NUL, with the type up to ${NAME_BYTES_MAX} bytes of it`,
    }),
  )
}
