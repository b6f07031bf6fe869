/**
 * Commands that cannot be carried out yet.
 *
 * They are kept in memory, in the order of their arrival, and decided again after every change and at
 * the latest when they said. At that time the answer must be another one.
 */
import type { Accident } from '../../std/index.ts'
import type { Active } from './active.ts'
import { overloaded, postponedTooLong } from './faults.ts'
import { settleStored } from './releasing.ts'
import type { Request } from './request.ts'

/** Commands that one entity may postpone at once; one more is refused with `entity-overloaded`. */
export const POSTPONED_MAX = 1_000

/** The reason why not, if it cannot be. */
export function postpone(
  entity: Active,
  request: Request,
  until: number,
  at: number,
): Accident | undefined {
  const { core, postponed } = entity
  const before = request.postponement?.until
  if (!(until > at) || (before !== undefined && at >= before))
    return postponedTooLong(request, before ?? until)
  const isFirst = before === undefined
  if (isFirst && postponed.length >= POSTPONED_MAX)
    return overloaded(entity, `${POSTPONED_MAX} commands are postponed`, POSTPONED_MAX)
  request.unpostpone()
  const dueMs = core.steady.monotonicAt(until) - core.clock.monotonic()
  request.postpone(
    entity,
    until,
    core.timers.after(dueMs, () => retry(entity)),
  )
  if (!isFirst) return undefined
  postponed.push(request)
  core.postponed++
  core.onEnded() // nothing comes of it for the time being
  void lookUp(request)
  return undefined
}

function retry(entity: Active): void {
  entity.isDirty = true
  entity.proceed()
}

/** It may have been granted before, and need not wait then. */
async function lookUp(request: Request): Promise<void> {
  const { requestId } = request.asking
  if (requestId === undefined) return
  try {
    const stored = await request.core.journal.lookup(requestId)
    if (!request.isStarted && !request.isDone) settleStored(request, stored)
  } catch {
    // It is looked up again before it is refused.
  }
}
