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
import {
  manual,
  receive,
  type Behavior,
  type Context,
  type Next,
  type Step,
} from '../../kernel/index.ts'
import type { Active, EntityMessage } from './active.ts'
import { bringBack } from './bringing-back.ts'
import { settle } from './catching-up.ts'
import { failWith, lost } from './failing.ts'
import { Told, type Request } from './request.ts'
import { ending, running } from './running.ts'

export function activating(entity: Active): Behavior<EntityMessage> {
  const startedMs = entity.core.clock.monotonic()

  return receive<EntityMessage>(
    (ctx, message) => {
      if (message instanceof Told) return take(message.request)
      return message.type === 'begin' ? begin(ctx) : ending(entity)
    },
    { onStop: () => lost(entity) },
  )

  function begin(ctx: Context<EntityMessage>): Next<EntityMessage> {
    const permit = entity.core.permits.request(entity, () => entity.resume())
    if (permit === 'granted') return activate(entity, startedMs)
    if (permit === 'waiting') entity.token = ctx.suspend('await', manual())
    else failWith(entity, permit)
    return ending(entity)
  }

  /** The first command comes with the permit, and stays the first. */
  function take(request: Request): Next<EntityMessage> {
    const { over, core } = entity
    entity.queued--
    if (over !== undefined) request.refuse(over)
    else if (core.isRejecting) core.reject(request)
    else entity.backlog.push(request)
    if (entity.queued === 0 && entity.backlog.length === 0) entity.leave()
    return entity.hasPermit ? activate(entity, startedMs) : ending(entity)
  }
}

async function activate(entity: Active, startedMs: number): Promise<Step<EntityMessage>> {
  const failure = await bringBack(entity)
  if (entity.over !== undefined) return ending(entity)
  const { core, kind, id } = entity
  if (failure === undefined) {
    core.counts.activations++
    kind.troubles.delete(id)
    entity.activationMs = core.clock.monotonic() - startedMs
    entity.phase = 'running'
    settle(entity)
    entity.proceed()
  } else failWith(entity, failure)
  return entity.isGone && entity.queued === 0 ? 'stopped' : running(entity)
}
