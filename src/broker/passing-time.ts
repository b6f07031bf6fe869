/**
 * What time does to a queue. One timer is armed, at the earliest of everything that is due; nothing pulses, and a
 * queue where nothing is due costs nothing.
 */
import { nextCountAt, noteFailure, writeCounts } from './counting.ts'
import { deathOf, expire, mustDie } from './dying.ts'
import type { QueueCore } from './queue-core.ts'
import { endWaiting } from './receiving.ts'
import { fail } from './settling.ts'

/** So many at once; then others have their turn. */
const SLICE = 256

/** Does what is due, and says whether some was left for the next turn. */
export function passTime(core: QueueCore): boolean {
  const now = core.now
  if (nextCountAt(core) <= now) writeCounts(core)
  if (endWaiting(core)) return true
  for (let count = 0; count < SLICE; count++) {
    const isMore = core.state.nextDue(now, (what, slot) => {
      if (what === 'expired') expire(core, slot)
      else if (what === 'lease-ended') {
        core.count('leasesEnded')
        noteFailure(core, slot, { reason: 'the lease ended' })
        fail(core, slot, undefined, () => undefined)
      } else if (core.state.isTooOld(slot, now)) expire(core, slot)
      else if (mustDie(core, slot)) deathOf(core, slot, 'delivered too often')
    })
    if (!isMore) return false
  }
  return true
}

/** When there is something to do that nobody will tell the queue; Infinity for never. */
export function nextTime(core: QueueCore): number {
  const blocked = core.blocked.peekFront()?.until ?? Infinity
  return Math.min(
    core.state.nextDueAt(),
    core.waiters.nextUntil,
    blocked,
    nextCountAt(core),
    core.redrive?.nextAt ?? Infinity,
  )
}
