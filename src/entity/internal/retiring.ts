/**
 * Putting an entity away.
 *
 * It goes only when nothing waits and nothing is on its way, and leaves a snapshot where that is worth
 * it. Until the last moment it is found under its name: a command that arrives while the snapshot is
 * written waits in the mailbox and brings it back to work. The moment it is no longer found, the next
 * command wakes it anew. So nobody who asks ever notices.
 */
import type { Next } from '../../kernel/index.ts'
import type { Active, EntityMessage } from './active.ts'
import { soon } from './within.ts'
import { isSnapshotWorth, snapshot, SNAPSHOT_WORTH_EVENTS } from './snapshotting.ts'

/** How long the last snapshot may keep an entity from going. */
export const RETIRE_MS_MAX = 2_000

/** Asks the actor to put the entity away, in its turn. */
export function askToRetire(entity: Active): void {
  if (entity.isLeaving || entity.isGone || entity.phase !== 'running') return
  entity.isLeaving = true
  entity.core.population.leaving++
  entity.ref?.tell({ type: 'retire' })
}

export function retireIfWanted(entity: Active): void {
  if (entity.isRetireWanted && mayRetire(entity)) askToRetire(entity)
}

export function mayRetire(entity: Active): boolean {
  return entity.isQuiet && !entity.isSnapshotting
}

export function retire(entity: Active): Next<EntityMessage> {
  if (!mayRetire(entity)) return stay(entity)
  return isSnapshotWorth(entity) ? retireWithSnapshot(entity) : gone(entity)
}

async function retireWithSnapshot(entity: Active): Promise<'same' | 'stopped'> {
  entity.phase = 'retiring'
  await soon(entity.core.timers, RETIRE_MS_MAX, snapshot(entity, SNAPSHOT_WORTH_EVENTS))
  if (entity.over !== undefined) return 'same' // its actor finds out with what waits for it
  entity.phase = 'running'
  return entity.isQuiet ? gone(entity) : stay(entity)
}

/** Whoever wants it to go asks again when it is at rest. */
function stay(entity: Active): 'same' {
  entity.stay()
  return 'same'
}

function gone(entity: Active): 'stopped' {
  entity.core.counts.passivations++
  entity.leave()
  return 'stopped'
}
