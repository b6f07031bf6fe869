/** The three steps from a name to a state, under one deadline. */
import type { Active } from './active.ts'
import { tooSlow } from './faults.ts'
import { loadSnapshot } from './loading-snapshot.ts'
import { replayHistory } from './replaying.ts'
import { requestPermit } from './requesting-permit.ts'
import { within } from './within.ts'

/** The reason why not, if it could not be done. */
export async function bringBack(entity: Active): Promise<unknown> {
  const { core } = entity
  const { permits, timers, clock, limits } = core
  const startedMs = clock.monotonic()
  const refusal = await requestPermit(permits, entity)
  if (refusal !== undefined) return refusal
  try {
    const ms = limits.activationMs
    await within(timers, ms, read(entity), () => tooSlow(entity, ms))
    entity.activationMs = clock.monotonic() - startedMs
    return undefined
  } catch (error) {
    return error
  } finally {
    permits.giveBack(entity)
  }
}

async function read(entity: Active): Promise<void> {
  const rungs = await loadSnapshot(entity)
  await replayHistory(entity, rungs)
}
