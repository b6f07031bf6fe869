/** Learning of the end of any ref that has one. */
import type { Ended, Ref, Watchable } from '../kernel/index.ts'
import { Accident, fault } from '../std/index.ts'

/** Calls `listener` once, at the end of `target` or at once where it has ended; the answer forgets it. */
export function onEnd(target: Ref<never>, listener: (ended: Ended) => void): () => void {
  if (isWatchable(target)) return target.onEnd(listener)
  throw new Accident(
    fault('not-watchable', `${target.path} has no end that could be watched`, {
      actor: target.path,
      remedy: 'watch an actor, an inbox, or a ref of your own that has an onEnd',
    }),
  )
}

function isWatchable(target: Ref<never>): target is Ref<never> & Watchable {
  return 'onEnd' in target
}
