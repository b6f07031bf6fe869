/**
 * Where entities stand in the tree of actors: `/entities/<type>/<id>`.
 *
 * The keeper at the top has one shelf for each kind, and a shelf one actor for each entity of its kind
 * that is awake. An entity that has just left still has its name for a moment: whoever comes next waits
 * until it has ended.
 */
import { receive, type Behavior } from '../../kernel/index.ts'
import type { Active } from './active.ts'
import { living } from './living.ts'
import { actorName } from './naming.ts'

/** More than an entity's commands: it is told to retire and to end too. */
const CONTROL_MESSAGES = 8
/** As many as can be woken at once. */
const SHELF_BOUND = 1_048_576

/** An entity that is to have an actor. */
export class Placing {
  readonly type = 'place'
  readonly id: string
  readonly #entity: Active

  constructor(entity: Active) {
    this.id = entity.id
    this.#entity = entity
  }

  get entity(): Active {
    return this.#entity
  }
}

export function keeper(onStop: () => void): Behavior<Placing> {
  return receive<Placing>(
    (ctx, placing) => {
      const { kind } = placing.entity
      kind.shelf ??= ctx.spawn(kind.type, shelf(), { bound: SHELF_BOUND })
      kind.shelf.tell(placing)
    },
    { onStop },
  )
}

function shelf(): Behavior<Placing> {
  return receive<Placing>((ctx, placing) => {
    const { entity } = placing
    const name = actorName(entity.id)
    const before = ctx.child(name)
    if (before !== undefined) {
      ctx.watch(before, placing)
      return
    }
    const bound = entity.core.limits.mailbox + CONTROL_MESSAGES
    entity.placed(ctx.spawn(name, living(entity), { bound }))
  })
}

/** Gives an entity an actor; the first command that comes to a kind puts up its shelf. */
export function place(entity: Active): void {
  const placing = new Placing(entity)
  const { shelf: own } = entity.kind
  if (own === undefined) entity.core.keeper.tell(placing)
  else own.tell(placing)
}
