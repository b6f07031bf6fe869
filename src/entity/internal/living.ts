/**
 * The life of an entity's actor, a phase a file:
 *
 *   activating         from a name to a state
 *     requesting-permit  so many at once; the others wait in line
 *     loading-snapshot   what was folded before
 *     replaying          what has happened since
 *   running            its commands, until nothing is left to do
 *   retiring           a snapshot where that is worth it, and gone
 *
 * One behavior serves them all: what an entity is doing is in the entity, and there are many of them.
 */
import { receive, type Behavior, type Context, type Next } from '../../kernel/index.ts'
import { unreachable } from '../../std/index.ts'
import { begin } from './activating.ts'
import type { Active, EntityMessage } from './active.ts'
import { lost } from './failing.ts'
import { Told } from './request.ts'
import { retire } from './retiring.ts'
import { take } from './running.ts'

export function living(entity: Active): Behavior<EntityMessage> {
  return receive<EntityMessage>((ctx, message) => handle(entity, ctx, message), {
    onStop: () => lost(entity),
  })
}

function handle(
  entity: Active,
  ctx: Context<EntityMessage>,
  message: EntityMessage,
): Next<EntityMessage> {
  if (message instanceof Told) take(entity, ctx, message.request)
  else
    switch (message.type) {
      case 'begin':
        begin(entity, ctx)
        break
      case 'retire':
        if (!entity.isGone) return retire(entity)
        break
      case 'end':
        break
      default:
        return unreachable(message)
    }
  // The actor ends with the last command that was told to it.
  return entity.isGone && entity.queued === 0 ? 'stopped' : 'same'
}
