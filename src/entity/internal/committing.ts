/**
 * From decisions to durable history: the one batch that an entity has in flight.
 *
 * Its result is not a message. The turn is held across the commit, and what follows from it goes ahead
 * of the commands that wait in the mailbox.
 */
import type { CommitResult } from '../../journal/index.ts'
import { Accident, assert, unreachable } from '../../std/index.ts'
import { NONE, type Active } from './active.ts'
import { ALARMS, assemble, type Sent } from './batch.ts'
import { doubt, grow } from './growing.ts'
import { fail } from './failing.ts'
import { contended, fenced, unknownOutcome } from './faults.ts'
import { mismatch, release, replay } from './releasing.ts'
import type { Request } from './request.ts'
import { snapshotIfDue } from './snapshotting.ts'

/** Conflicts in a row after which commands are refused with `entity-contended`. */
export const CONFLICTS_MAX = 32
/** Conflicts in a row after which those who write to the stream from here have to wait. */
export const CONFLICTS_BEFORE_RESERVE = 3

/** Sends what was decided. Where nothing happened there is nothing to send. */
export function launch(entity: Active): void {
  const { core, next } = entity
  if (!next.some(happens)) {
    sendOff(entity)
    for (const request of next) release(entity, request)
    return
  }
  if (!core.contention.mayPass(entity)) return
  const sent = assemble(entity)
  sendOff(entity)
  entity.flight = next
  entity.sent = sent
  entity.ahead = entity.tip
  entity.onResult ??= (result) => onResult(entity, result)
  entity.onError ??= (error) => onError(entity, error)
  core.journal.commit(sent.batch).then(entity.onResult, entity.onError)
}

function happens({ outcome }: Request): boolean {
  return outcome === 'accept'
}

function sendOff(entity: Active): void {
  entity.next = NONE
  entity.items = 0
  entity.chars = 0
  entity.isFull = false
}

function onResult(entity: Active, result: CommitResult): void {
  const { flight, sent } = entity
  assert(sent !== undefined, 'a result belongs to what was sent')
  entity.sent = undefined
  if (entity.over !== undefined && result.type !== 'committed') {
    for (const request of flight) request.refuse(entity.over)
    return
  }
  switch (result.type) {
    case 'committed':
      committed(entity, flight, sent, result)
      break
    case 'conflict':
      conflicted(entity, flight)
      break
    case 'duplicate':
      takeOut(entity, flight, result.key, (request) => replay(request, result))
      entity.need = 'ledger'
      entity.proceed()
      break
    case 'mismatch':
      takeOut(entity, flight, result.key, (request) => mismatch(request, result.fields))
      entity.proceed()
      break
    case 'fenced':
      fail(entity, fenced(entity, result.token, result.current))
      break
    default:
      unreachable(result)
  }
}

function committed(
  entity: Active,
  flight: Request[],
  { batch, legs, due }: Sent,
  result: Extract<CommitResult, { type: 'committed' }>,
): void {
  const { core } = entity
  entity.flight = NONE
  core.counts.refolds += entity.ahead.refolds - entity.base.refolds
  entity.base = entity.ahead
  entity.position = result.position
  entity.conflicts = 0
  entity.alarmDue = due
  entity.baseDue = due
  entity.isAlarmSure = true
  for (const request of flight) release(entity, request)
  if (legs.length > 0)
    for (const [n, leg] of legs.entries()) grow(leg, result.versions[n + 1] ?? 0, result.position)
  if (batch.records !== undefined) {
    core.alarms.recorded(batch.records.filter(({ collection }) => collection === ALARMS))
    for (const { extra } of flight) if (extra !== undefined) core.outbox.deliver(extra.reactions)
  }
  core.contention.leave(entity)
  if (entity.over !== undefined) return
  // What sealed it may be in the next batch still.
  if (!entity.isSealed) snapshotIfDue(entity)
  else if (entity.next === NONE) entity.need = 'all'
  entity.proceed()
}

function conflicted(entity: Active, flight: Request[]): void {
  const { core } = entity
  core.counts.conflicts++
  entity.conflicts++
  if (entity.conflicts >= CONFLICTS_MAX) {
    const error = contended(entity, entity.conflicts)
    entity.conflicts = 0
    core.contention.leave(entity)
    for (const request of [...flight, ...entity.next]) giveUp(entity, request, error)
  } else if (entity.conflicts >= CONFLICTS_BEFORE_RESERVE) core.contention.reserve(entity)
  rewind(entity)
  entity.need = 'tail'
  entity.proceed()
}

/** One command of the batch is answered otherwise, the others are decided again. */
function takeOut(
  entity: Active,
  flight: readonly Request[],
  key: string,
  settle: (request: Request) => void,
): void {
  const found = flight.find(({ asking }) => asking.requestId === key)
  assert(found !== undefined, 'a journal names a request id of the batch')
  settle(found)
  rewind(entity)
}

function onError(entity: Active, error: unknown): void {
  const { flight, sent } = entity
  const code = error instanceof Accident ? error.code : 'unknown-outcome'
  entity.sent = undefined
  if (entity.over !== undefined) {
    for (const request of flight) request.refuse(unknownOutcome(request, error))
    for (const leg of sent?.legs ?? []) doubt(leg)
    return
  }
  switch (code) {
    case 'bad-batch':
      if (flight.length === 1) giveUp(entity, flight[0]!, error)
      else entity.isSolo = true
      rewind(entity)
      entity.proceed()
      return
    case 'read-only':
    case 'journal-overloaded':
    case 'journal-closed':
    case 'damaged':
      for (const request of [...flight, ...entity.next]) giveUp(entity, request, error)
      rewind(entity)
      entity.proceed()
      return
    default:
      for (const request of flight) request.refuse(unknownOutcome(request, error))
      for (const leg of sent?.legs ?? []) doubt(leg)
      entity.core.lookAgain()
      rewind(entity)
      entity.need = 'all'
      entity.proceed()
  }
}

/** Refuses what has had no effect, unless it had one long ago. */
function giveUp(entity: Active, request: Request, error: unknown): void {
  if (request.wakeKey !== undefined) {
    request.refuse(error)
    return
  }
  request.decideToRefuse(error instanceof Accident ? error : unknownOutcome(request, error))
  release(entity, request)
}

/** Back to what is durable: everything behind it is to be decided again, in the order of arrival. */
export function rewind(entity: Active): void {
  const { flight, next, postponed, backlog } = entity
  const again = [...flight, ...next, ...postponed].filter(({ isReleased }) => !isReleased)
  for (const request of postponed.slice()) entity.forget(request)
  for (const request of again) request.clear()
  entity.flight = NONE
  entity.next = NONE
  entity.backlog = [...again.toSorted((a, b) => a.arrival - b.arrival), ...backlog]
  entity.stand(entity.base)
}
