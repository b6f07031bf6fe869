/**
 * An entity at work: it takes commands one by one and keeps the next batch going.
 *
 * It goes on deciding while a batch is in flight, until the next batch is full; then its actor is
 * suspended and its mailbox fills. `proceed` is what everybody calls when something has changed.
 */
import { manual, type Context } from '../../kernel/index.ts'
import { NONE, type Active, type EntityMessage } from './active.ts'
import { catchUp } from './catching-up.ts'
import { launch, rewind } from './committing.ts'
import { decide } from './deciding.ts'
import type { Request } from './request.ts'
import { retireIfWanted } from './retiring.ts'

export function take(entity: Active, ctx: Context<EntityMessage>, request: Request): void {
  const { core } = entity
  entity.queued--
  if (entity.over !== undefined) request.refuse(entity.over)
  else if (core.isRejecting) core.reject(request)
  if (request.isDone) {
    entity.proceed() // nobody waits for it any longer
    return
  }
  if (entity.backlog.length > 0 || !entity.mayDecide) entity.backlog.push(request)
  else {
    decide(entity, request)
    if (entity.isDirty || entity.flight === NONE) entity.proceed()
  }
  if (!entity.mayDecide && entity.token === undefined && !entity.isGone)
    entity.token = ctx.suspend(entity.isReading ? 'await' : 'backpressure', manual())
}

/** Whatever can be done next is done: what is missing is read, what waits is decided, and it is sent. */
export function proceed(entity: Active): void {
  if (entity.isReading || entity.over !== undefined || entity.isGone) return
  if (entity.flight === NONE && isMissing(entity)) {
    read(entity)
    return
  }
  do {
    decideWaiting(entity)
    if (entity.flight === NONE && entity.next !== NONE && !entity.isHeld) launch(entity)
  } while (entity.mayDecide && hasWaiting(entity))
  if (entity.mayDecide) entity.resume()
  if (entity.flight === NONE && entity.next === NONE) atRest(entity)
}

/** What others wrote meanwhile comes first. */
function isMissing({ need, grownTo, base, isInDoubt }: Active): boolean {
  return need !== 'none' || grownTo > base.version || isInDoubt
}

/** Where nobody waits and everything would have to be read, whoever comes next does that. */
function read(entity: Active): void {
  if (entity.need !== 'ledger') entity.isInDoubt = false
  if (entity.need === 'none') {
    rewind(entity)
    entity.need = 'tail'
  }
  if (entity.need === 'all' && entity.pending === 0) {
    entity.leave()
    entity.ref?.tell({ type: 'end' })
  } else void catchUp(entity)
}

function decideWaiting(entity: Active): void {
  while (entity.mayDecide && hasWaiting(entity)) {
    if (entity.isDirty && entity.postponed.length > 0) {
      retryPostponed(entity)
      continue
    }
    entity.isDirty = false
    const request = entity.backlog.shift()
    if (request !== undefined && !request.isDone) decide(entity, request)
  }
}

/** Decides them again in order; one that changes something is reason to begin with the first again. */
function retryPostponed(entity: Active): void {
  const { postponed } = entity
  let n = 0
  while (n < postponed.length) {
    entity.isDirty = true // as long as one has not had its chance
    if (!entity.mayDecide) return
    entity.isDirty = false
    const request = postponed[n]!
    decide(entity, request)
    if (entity.isDirty) n = 0
    else if (request.postponement !== undefined) n++
  }
  entity.isDirty = false
}

function hasWaiting({ backlog, postponed, isDirty }: Active): boolean {
  return backlog.length > 0 || (isDirty && postponed.length > 0)
}

function atRest(entity: Active): void {
  const { contention, population } = entity.core
  entity.isSolo = false
  contention.leave(entity)
  retireIfWanted(entity)
  population.relieve()
}
