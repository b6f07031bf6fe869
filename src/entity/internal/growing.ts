/**
 * Another entity wrote to the stream of this one.
 *
 * If it is awake and at rest it folds the events as they are; if not, it finds them in the journal when
 * it is done with what it does.
 */
import type { SentLeg } from './batch.ts'
import { settle } from './catching-up.ts'
import { failWith } from './failing.ts'

export function grow(
  { kind, id, events, encoded }: SentLeg,
  version: number,
  position: number,
): void {
  const entity = kind.active.get(id)
  if (entity === undefined) return
  entity.grownTo = Math.max(entity.grownTo, version)
  if (!entity.isIdle || entity.base.version + events.length !== version) return
  try {
    for (const [n, event] of events.entries()) {
      const { at, effectiveAt = at } = encoded[n]!
      if (entity.base.apply(event, entity.base.version + 1, effectiveAt) === 'folded') continue
      entity.need = 'all'
      break
    }
  } catch (error) {
    failWith(entity, error)
    return
  }
  entity.position = Math.max(entity.position, position)
  if (entity.need === 'none') settle(entity)
  entity.proceed()
}
