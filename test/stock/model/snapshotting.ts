/**
 * The runtime of entities with snapshots as often as a test wants them: after a hundred events, as they
 * are otherwise, few runs would ever stand on one. Everything else about a definition stays as it is.
 */
import type { Entities, EntityDefinition, SnapshotPolicy } from '../../../src/entity/index.ts'

type Definition = EntityDefinition<unknown, unknown, unknown, unknown>

export function snapshotting(entities: Entities, snapshots: SnapshotPolicy): Entities {
  const known = new Map<Definition, Definition>()
  const often = (definition: Definition): Definition => {
    const before = known.get(definition)
    if (before !== undefined) return before
    const after: Definition = {
      ...definition,
      snapshots,
      decide: (state, command, at) => {
        const decision = definition.decide(state, command, at)
        if (decision.type !== 'accept') return decision
        const also = decision.also.map((leg) =>
          leg.entity.type === definition.type ? { ...leg, entity: after } : leg,
        )
        return { ...decision, also }
      },
    }
    known.set(definition, after)
    return after
  }
  return new Proxy(entities, {
    get(target, name) {
      const own: unknown = Reflect.get(target, name, target)
      if (typeof own !== 'function') return own
      return (...args: unknown[]): unknown => {
        if (name === 'ask') args[0] = often(args[0] as Definition)
        return Reflect.apply(own, target, args)
      }
    },
  })
}
