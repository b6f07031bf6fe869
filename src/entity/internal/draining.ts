/**
 * Shutting down: nothing new is taken, what was begun becomes durable, everybody is put away.
 *
 *   1  what was asked for before is carried out, until `drainMs`
 *   2  what has not begun by then is refused
 *   3  entities leave, with a snapshot where that is worth it, until `totalMs`
 *   4  whoever is left is given up, and named in the report
 */
import type { Handle } from '../../kernel/index.ts'
import type { DrainReport } from '../entities.ts'
import type { Active } from './active.ts'
import type { Core } from './core.ts'
import { lost } from './failing.ts'
import { LEAVING_MAX } from './population.ts'
import { retireIfWanted } from './retiring.ts'
import type { Placing } from './shelf.ts'
import { soon } from './within.ts'

/** How long commands that were asked for before a drain have. */
export const DRAIN_MS_DEFAULT = 2_000
/** How long a drain takes at most, in all. */
export const DRAIN_TOTAL_MS_DEFAULT = 5_000

export async function drain(
  core: Core,
  keeper: Handle<Placing>,
  closing: Promise<unknown>,
  { drainMs, totalMs }: Readonly<{ drainMs: number; totalMs: number }>,
): Promise<DrainReport> {
  const deadlineMs = core.clock.monotonic() + totalMs
  const leftMs = (): number => Math.max(0, deadlineMs - core.clock.monotonic())
  core.isDraining = true
  core.alarms.stop()
  core.outbox.stop()
  await carriedOut(core, Math.min(drainMs, totalMs))
  refuseUnstarted(core)
  while (core.population.size > 0 && leftMs() > 0)
    await soon(core.timers, leftMs(), allGone(core.population.all.slice(0, LEAVING_MAX)))
  const overdue = core.population.all.map(({ kind, id }) => ({ type: kind.type, id }))
  const inFlight = core.population.all.flatMap(({ flight }) => flight)
  core.isClosed = true
  keeper.stop()
  await soon(core.timers, leftMs(), Promise.all([keeper.ended, closing]))
  for (const entity of core.population.all.slice()) giveUp(core, entity)
  for (const request of inFlight) core.reject(request)
  return { rejected: core.rejected, overdue }
}

/** Settles when nothing is on its way but what is postponed. */
function carriedOut(core: Core, ms: number): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      core.onEnded = () => undefined
      core.timers.cancel(limit)
      resolve()
    }
    const limit = core.timers.after(ms, done)
    core.onEnded = () => {
      if (core.pending <= core.postponed) done()
    }
    core.onEnded()
  })
}

function refuseUnstarted(core: Core): void {
  core.isRejecting = true
  for (const entity of core.population.all) {
    for (const request of entity.postponed.slice()) core.reject(request)
    for (const request of entity.backlog) if (!request.isStarted) core.reject(request)
    entity.resume() // what it finds in its mailbox it refuses
  }
}

/** It never had an actor, or has one that does not end. */
function giveUp(core: Core, entity: Active): void {
  for (const { request } of entity.waiting) core.reject(request)
  lost(entity)
}

function allGone(entities: readonly Active[]): Promise<unknown> {
  return Promise.all(
    entities.map(
      (entity) =>
        new Promise<void>((resolve) => {
          entity.whenGone(resolve)
          entity.isRetireWanted = true
          retireIfWanted(entity)
        }),
    ),
  )
}
