/**
 * Bringing an entity back: a permit, then its snapshots, then what has happened since.
 *
 * Its actor is suspended while this goes on, and commands wait in the mailbox. Whatever hangs holds a
 * permit until its deadline at the longest.
 */
import { manual, type Context } from '../../kernel/index.ts'
import { Accident } from '../../std/index.ts'
import type { Active, EntityMessage } from './active.ts'
import { bringBack } from './bringing-back.ts'
import { settle } from './catching-up.ts'
import { failWith } from './failing.ts'

export function begin(entity: Active, ctx: Context<EntityMessage>): void {
  const startedMs = entity.core.clock.monotonic()
  entity.token = ctx.suspend('await', manual())
  const permit = entity.core.permits.request(entity, () => void activate(entity, startedMs))
  if (permit === 'granted') void activate(entity, startedMs)
  else if (permit instanceof Accident) failWith(entity, permit)
}

async function activate(entity: Active, startedMs: number): Promise<void> {
  const failure = await bringBack(entity)
  if (entity.over !== undefined) return
  if (failure !== undefined) {
    failWith(entity, failure)
    return
  }
  const { core, kind, id } = entity
  core.counts.activations++
  kind.troubles.delete(id)
  entity.activationMs = core.clock.monotonic() - startedMs
  entity.phase = 'running'
  settle(entity)
  entity.proceed()
}
