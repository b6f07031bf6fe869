/**
 * The end of an entity that cannot go on: everything it has not answered is refused, and the next who
 * asks finds out when to try again.
 *
 * What the journal could not give now is tried again, after a pause that doubles. A history that cannot
 * be understood stays as it is until somebody has done something about it.
 */
import { Accident } from '../../std/index.ts'
import type { Active } from './active.ts'
import { quarantined, shuttingDown, unavailable } from './faults.ts'

/** The pause after the first failure, and the longest. */
export const RETRY_MS_MIN = 100
export const RETRY_MS_MAX = 30_000
/** Share of the pause that is drawn at random. */
const JITTER = 0.2
/** Entities in trouble that one kind remembers. */
export const TROUBLES_MAX = 10_000

/** Faults of a history that reading it again will not mend. */
const LASTING: ReadonlySet<string> = new Set(['unknown-event', 'damaged'])

/** Ends the entity with the reason why it could not be brought back or kept up. */
export function failWith(entity: Active, why: unknown): void {
  const { core, kind, id } = entity
  const isLasting = why instanceof Accident && LASTING.has(why.code)
  const attempts = entity.attempts + 1
  const pause = pauseAfter(attempts) * (1 - JITTER * core.random.next())
  const retryAtMs = Math.ceil(core.steady.now() + pause)
  const accident = isLasting ? quarantined(entity, why) : unavailable(entity, why, retryAtMs)
  core.counts.activationFailures++
  core.log[isLasting ? 'error' : 'warn'](accident.message, { ...accident.detail })
  if (kind.troubles.size < TROUBLES_MAX || kind.troubles.has(id))
    kind.troubles.set(id, {
      phase: isLasting ? 'quarantined' : 'failed',
      accident,
      attempts,
      retryMs: isLasting ? Infinity : core.clock.monotonic() + pause,
      retryAtMs,
    })
  fail(entity, accident)
}

export function pauseAfter(attempts: number): number {
  return Math.min(RETRY_MS_MAX, RETRY_MS_MIN * 2 ** Math.min(attempts - 1, 20))
}

/** Ends the entity; its actor refuses what it finds in its mailbox. What is in flight has its own end. */
export function fail(entity: Active, accident: Accident): void {
  if (entity.over !== undefined) return
  entity.over = accident
  entity.phase = 'failed'
  const { next, backlog, postponed, flight, sent } = entity
  const all = [...next, ...backlog, ...postponed, ...(sent === undefined ? flight : [])]
  for (const request of all) {
    if (request.isReleased) continue
    if (entity.core.isClosed) entity.core.rejected++
    request.refuse(accident)
  }
  entity.backlog = []
  entity.leave()
  if (entity.queued === 0) entity.ref?.tell({ type: 'end' }) // else it ends with the last command
}

/** The actor has ended, and not because the entity had. */
export function lost(entity: Active): void {
  if (entity.isGone) return
  entity.ref = undefined // there is nobody to tell
  const { isClosed, steady } = entity.core
  if (isClosed) fail(entity, shuttingDown(entity, false))
  else fail(entity, unavailable(entity, new Error('its actor was stopped'), steady.now()))
}
