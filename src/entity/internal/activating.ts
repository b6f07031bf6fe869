/**
 * Bringing an entity back, in the order of these files:
 *
 *   requesting-permit  so many at once; the others wait in line
 *   loading-snapshot   what was folded before
 *   replaying          what has happened since
 *   running            its commands, until nothing is left to do
 *   retiring           a snapshot where that is worth it, and gone
 *
 * Its actor is suspended while this goes on, and commands wait in the mailbox. Whatever hangs holds a
 * permit until its deadline at the longest.
 */
import { receive, type Behavior, type Step } from '../../kernel/index.ts'
import type { Active, EntityMessage } from './active.ts'
import { bringBack } from './bringing-back.ts'
import { settle } from './catching-up.ts'
import { failWith, lost } from './failing.ts'
import { running } from './running.ts'

export function activating(entity: Active): Behavior<EntityMessage> {
  return receive<EntityMessage>(() => activate(entity), { onStop: () => lost(entity) })
}

async function activate(entity: Active): Promise<Step<EntityMessage>> {
  const failure = await bringBack(entity)
  if (entity.over !== undefined) return 'stopped'
  if (failure === undefined) {
    entity.core.counts.activations++
    entity.kind.troubles.delete(entity.id)
    entity.phase = 'running'
    settle(entity)
    entity.proceed()
  } else failWith(entity, failure)
  return entity.isGone && entity.queued === 0 ? 'stopped' : running(entity)
}
