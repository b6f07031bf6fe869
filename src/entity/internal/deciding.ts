/**
 * One command is decided, on the state that everything before it leads to.
 *
 * What happens is appended to `next` and shows in `tip`. What does not happen, an answer or a refusal,
 * stands in `next` as well if anything is on its way before it: it was decided on a state that is not
 * durable yet, and must not be heard of before it is.
 */
import { Accident, unreachable } from '../../std/index.ts'
import { NONE, type Active } from './active.ts'
import { lastingJson } from './codec.ts'
import { badAlarm, badReply, decideFailed, reasonOf, versionMismatch } from './faults.ts'
import { postpone } from './postponing.ts'
import { release } from './releasing.ts'
import type { Request } from './request.ts'
import { makeTurn } from './turn.ts'
import type { Decision } from '../entity.ts'

type Event = { type: string }
type Accepted = Extract<Decision<Event, unknown>, { type: 'accept' }>

/** Items and characters that a batch of several commands may have: well below what a journal takes. */
const BATCH_ITEMS = 8_000
const BATCH_CHARS = 4_194_304

export function decide(entity: Active, request: Request): void {
  const { core, tip } = entity
  const at = core.steady.now()
  entity.usedAt = at
  if (!request.isStarted && request.postponement === undefined) core.counts.commands++
  request.start()
  if (request.wakeKey !== undefined) {
    decideAlarm(entity, request, at)
    return
  }
  const { expected } = request.asking
  if (expected !== undefined && expected !== tip.version) {
    refuse(entity, request, versionMismatch(request, expected, tip.version))
    return
  }
  const decision = decisionOn(entity, request, request.command, at)
  if (decision instanceof Accident) refuse(entity, request, decision)
  else if (decision.type === 'postpone') putOff(entity, request, decision.until, at)
  else if (decision.type === 'answer') answer(entity, request, decision.reply)
  else {
    const refusal = accept(entity, request, decision, at)
    if (refusal !== undefined) refuse(entity, request, refusal)
  }
}

function putOff(entity: Active, request: Request, until: number, at: number): void {
  const refusal = postpone(entity, request, until, at)
  if (refusal !== undefined) refuse(entity, request, refusal)
}

/**
 * The alarm may have been put off since it was set. Whatever comes of it, its record goes: one that
 * changes nothing would change nothing again until something else has.
 */
function decideAlarm(entity: Active, request: Request, at: number): void {
  const { core, kind, id, tip } = entity
  const due = dueOf(entity, tip.state)
  if (typeof due === 'number' && due <= at) {
    core.counts.alarms++
    const decision = decisionOn(entity, request, kind.definition.alarm?.(tip.state)?.command, at)
    const isAccepted = !(decision instanceof Accident) && decision.type === 'accept'
    const refusal = isAccepted ? accept(entity, request, decision, at) : decision
    if (refusal === undefined) return
    if (refusal instanceof Accident)
      core.log.error('an alarm failed', { type: kind.type, id, ...reasonOf(refusal) })
    entity.tipDue = undefined
  } else if (due instanceof Accident)
    core.log.error('an alarm failed', { type: kind.type, id, ...reasonOf(due) })
  else entity.tipDue = due
  request.clear()
  request.outcome = 'accept'
  request.items = 1
  enqueue(entity, request)
}

function decisionOn(
  entity: Active,
  request: Request,
  command: unknown,
  at: number,
): Decision<Event, unknown> | Accident {
  try {
    const decision = entity.kind.definition.decide(entity.tip.state, command, at)
    switch (decision.type) {
      case 'accept':
      case 'answer':
      case 'postpone':
        return decision
      default:
        return unreachable(decision)
    }
  } catch (error) {
    return decideFailed(request, error)
  }
}

/** The reason why not, if its turn cannot be made. */
function accept(
  entity: Active,
  request: Request,
  { events, also, reply }: Accepted,
  at: number,
): Accident | undefined {
  const { requestId } = request.asking
  const isNothing = events.length === 0 && also.length === 0
  if (isNothing && requestId === undefined && request.wakeKey === undefined) {
    answer(entity, request, reply)
    return undefined
  }
  request.clear()
  request.outcome = 'accept'
  request.reply = reply
  request.items = 2
  try {
    const own = makeTurn(entity, request, events, also, at)
    request.version = entity.tip.version + own.length
    if (requestId !== undefined) {
      const stored = { reply, version: request.version }
      const response = lastingJson(stored, (place, cause) => badReply(request, place, cause))
      request.extras.response = response
      request.chars += response.length + (request.asking.fingerprint?.length ?? 0)
    }
    if (!hasRoom(entity, request)) {
      waitForRoom(entity, request)
      return undefined
    }
    if (own.length > 0) evolve(entity, own, request)
    else if (request.wakeKey !== undefined) entity.tipDue = undefined
  } catch (error) {
    return decideFailed(request, error)
  }
  enqueue(entity, request)
  return undefined
}

function hasRoom(entity: Active, { items, chars }: Request): boolean {
  if (entity.next === NONE) return true // a journal judges what one command may write
  return entity.items + items <= BATCH_ITEMS && entity.chars + chars <= BATCH_CHARS
}

/** It is decided again when the batch that is full has gone. */
function waitForRoom(entity: Active, request: Request): void {
  entity.isFull = true
  request.clear()
  if (request.postponement === undefined) entity.backlog.unshift(request)
  else entity.isDirty = true
}

/** Folds events that are not durable, into a fold of their own; throws without having changed anything. */
function evolve(entity: Active, own: readonly Event[], request: Request): void {
  const { tip, ahead, kind } = entity
  const mayThrowLater = own.length > 1 || kind.definition.alarm !== undefined
  const draft = tip === ahead || mayThrowLater ? tip.fork() : tip
  let isKnown = true
  for (let n = 0; n < own.length && isKnown; n++) {
    const { at, effectiveAt = at } = request.events[n]!
    isKnown = draft.apply(own[n]!, draft.version + 1, effectiveAt) === 'folded'
  }
  if (isKnown) {
    const due = dueOf(entity, draft.state)
    if (due instanceof Accident) throw due
    entity.tipDue = due
  } else entity.isSealed = true
  entity.tip = draft
  entity.isDirty = true
}

/** When a state wants to be woken. */
export function dueOf(entity: Active, state: unknown): number | Accident | undefined {
  const { alarm } = entity.kind.definition
  if (alarm === undefined) return undefined
  try {
    const at = alarm(state)?.at
    if (at === undefined) return undefined
    return Number.isSafeInteger(at) ? Math.max(0, at) : badAlarm(entity, at)
  } catch (error) {
    return decideFailed(entity, error)
  }
}

function answer(entity: Active, request: Request, reply: unknown): void {
  request.outcome = 'answer'
  request.reply = reply
  request.version = entity.tip.version
  enqueue(entity, request)
}

function refuse(entity: Active, request: Request, error: Accident): void {
  request.decideToRefuse(error)
  enqueue(entity, request)
}

function enqueue(entity: Active, request: Request): void {
  if (request.postponement !== undefined) entity.forget(request)
  if (request.outcome !== 'accept' && entity.next === NONE && entity.flight === NONE) {
    release(entity, request)
    return
  }
  if (entity.next === NONE) entity.next = [request]
  else entity.next.push(request)
  entity.items += request.items
  entity.chars += request.chars
}
