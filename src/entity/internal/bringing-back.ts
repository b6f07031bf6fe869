/** The two steps from a name to a state, with a permit and under one deadline. */
import { Accident } from '../../std/index.ts'
import type { Active } from './active.ts'
import { tooSlow } from './faults.ts'
import { loadSnapshot } from './loading-snapshot.ts'
import { replayHistory } from './replaying.ts'
import { within } from './within.ts'

/** Takes the permit that was granted; gives the reason why not, if it could not be done. */
export async function bringBack(entity: Active): Promise<unknown> {
  const { permits, timers, limits } = entity.core
  const ms = limits.activationMs
  try {
    await within(timers, ms, read(entity), () => tooSlow(entity, ms))
    return undefined
  } catch (error) {
    return error
  } finally {
    permits.giveBack(entity)
  }
}

/** The same for an entity that is awake, which has no permit yet. */
export async function bringBackAgain(entity: Active): Promise<unknown> {
  const granted = Promise.withResolvers<void>()
  const permit = entity.core.permits.request(entity, granted.resolve)
  if (permit instanceof Accident) return permit
  if (permit === 'waiting') await granted.promise
  return bringBack(entity)
}

async function read(entity: Active): Promise<void> {
  const rungs = await loadSnapshot(entity)
  await replayHistory(entity, rungs)
}
