/**
 * Another entity wrote to the stream of this one, or may have.
 *
 * If it is awake and at rest it folds the events as they are; if not, it finds them in the journal when
 * it is done with what it does. Where nobody knows whether they were written it looks for itself: else it
 * would go on answering from what it had, for as long as it writes nothing.
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
  if (!entity.isIdle) return
  if (entity.base.version + events.length !== version) {
    entity.proceed() // it has missed something before
    return
  }
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

/** The outcome of what was written to its stream is unknown. */
export function doubt({ kind, id }: SentLeg): void {
  const entity = kind.active.get(id)
  if (entity === undefined) return
  entity.isInDoubt = true
  if (entity.isIdle) entity.proceed()
}
