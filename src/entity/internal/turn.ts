/**
 * What a decision comes to before it is committed: events as they will be stored, legs for other
 * streams, and what others are to be told.
 *
 * Everything that a definition's own code can throw over is done here, before anything is changed: a
 * command whose turn cannot be made is refused alone.
 */
import type { NewEvent } from '../../journal/index.ts'
import type { Leg, Message } from '../entity.ts'
import type { Active } from './active.ts'
import { encodeEvent, lastingJson, streamOf, type Recording } from './codec.ts'
import { badMessage } from './faults.ts'
import type { Kind } from './kind.ts'
import { streamTag } from './naming.ts'
import type { Request } from './request.ts'

type Event = { type: string }

/** Events for the stream of another entity. */
export type EncodedLeg = Readonly<{
  kind: Kind
  id: string
  stream: string
  events: readonly Event[]
  encoded: readonly NewEvent[]
}>

/** A command for another entity, which is a record in the outbox until it has been delivered. */
export type Reaction = Readonly<{
  /** Of the record, and the request id of the command: the event it comes from and a count. */
  key: string
  value: string
  kind: Kind
  id: string
  command: unknown
}>

/** Fills in what the request is to write, and gives the events of its own stream. */
export function makeTurn(
  entity: Active,
  request: Request,
  events: readonly Event[],
  also: readonly Leg[],
  at: number,
): readonly Event[] {
  const { definition } = entity.kind
  const recording = recordingOf(request, at)
  const own = also.length > 0 ? addLegs(entity, request, events, also, recording) : events
  const encoded: NewEvent[] = []
  for (const event of own) {
    const each = encodeEvent(definition, event, recording)
    encoded.push(each)
    request.chars += each.data.length
  }
  request.events = encoded
  request.items += encoded.length
  if (definition.react !== undefined) {
    for (const [n, event] of own.entries())
      addReactions(entity, request, definition.react(event, entity.id), entity.tip.version + n + 1)
  }
  return own
}

function recordingOf({ asking }: Request, at: number): Recording {
  const { requestId, actor, trace } = asking
  const recording: { -readonly [Name in keyof Recording]: Recording[Name] } = { at }
  if (requestId !== undefined) recording.requestId = requestId
  if (actor !== undefined) recording.actor = actor
  if (trace !== undefined) recording.trace = trace
  return recording
}

/** A leg that leads back to the entity itself is part of its own events. */
function addLegs(
  entity: Active,
  request: Request,
  events: readonly Event[],
  also: readonly Leg[],
  recording: Recording,
): readonly Event[] {
  const own = [...events]
  const { legs } = request.extras
  for (const leg of also) {
    const kind = entity.core.kindOf(leg.entity)
    const stream = streamOf({ type: kind.type, id: leg.id })
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- `leg` took events of this definition
    const legEvents = leg.events as readonly Event[]
    if (stream === entity.stream) {
      own.push(...legEvents)
      continue
    }
    const { definition } = kind
    const encoded = legEvents.map((event) => encodeEvent(definition, event, recording))
    legs.push({ kind, id: leg.id, stream, events: legEvents, encoded })
    request.items += encoded.length + 2
    for (const { data } of encoded) request.chars += data.length
    if (definition.react !== undefined)
      for (const event of legEvents)
        addReactions(entity, request, definition.react(event, leg.id), undefined)
  }
  return own
}

/** The number of an event on another stream is not known yet, so what it leads to is named by a draw. */
function addReactions(
  entity: Active,
  request: Request,
  messages: readonly Message[],
  seq: number | undefined,
): void {
  if (messages.length === 0) return
  const { core } = entity
  const tag = streamTag(entity.stream)
  const from = seq === undefined ? `${tag}@${core.freshNonce()}` : `${tag}@${seq}`
  const made = messages.map((message, n): Reaction => {
    const kind = core.kindOf(message.entity)
    const { id, command } = message
    streamOf({ type: kind.type, id }) // is checked while the command can still be refused for it
    const parcel = { type: kind.type, id, command }
    const value = lastingJson(parcel, (place, cause) => badMessage({ kind, id }, place, cause))
    return { key: `${from}.${n}`, value, kind, id, command }
  })
  request.extras.reactions.push(...made)
  request.items += made.length
  for (const { value } of made) request.chars += value.length
}
