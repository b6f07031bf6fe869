/** Learning of an actor's end, as a message of one's own. */
import { Accident, fault } from '../../std/index.ts'
import type { Next } from '../behavior.ts'
import type { Ended, Ref, Watchable } from '../ref.ts'
import { Cell, deliver, extrasOf } from './cell.ts'
import type { Extras } from './extras.ts'
import { Special } from './special.ts'
import { STOPPED } from './status.ts'

/** Ends one actor may watch for at once. */
export const WATCHES_MAX = 100_000

export type Watch = (ended: Ended) => void

/** Its message is made in the watcher's turn, so that a maker that throws is supervised there. */
class HasEnded extends Special {
  readonly #message: unknown
  readonly #ended: Ended
  readonly #handled: () => void
  #withdrawn = false

  constructor(message: unknown, ended: Ended, handled: () => void) {
    super()
    this.#message = message
    this.#ended = ended
    this.#handled = handled
  }

  override get about(): unknown {
    return this.#ended
  }

  override get due(): boolean {
    return !this.#withdrawn
  }

  withdraw(): void {
    this.#withdrawn = true
  }

  override run(cell: Cell): Next<never> {
    this.#handled()
    const message: unknown =
      typeof this.#message === 'function' ? this.#message(this.#ended) : this.#message
    return cell.receive(cell, message as never)
  }
}

export function watch(watcher: Cell, target: Ref<never>, message: unknown): void {
  unwatch(watcher, target)
  const watching = (extrasOf(watcher).watching ??= new Map())
  if (watching.size >= WATCHES_MAX) throw tooManyWatches(watcher)
  let over = false
  const forget = onEnd(target, (ended) => {
    if (over) return // nobody ends twice, whatever somebody's own ref may say
    over = true
    // Until the message is handled, it can be taken back.
    const withdraw = (): void => end.withdraw()
    const end = new HasEnded(message, ended, () => {
      if (watching.get(target) === withdraw) watching.delete(target)
    })
    if (deliver(watcher, end)) watching.set(target, withdraw)
    else watching.delete(target)
  })
  if (!over) watching.set(target, forget)
}

/** After this, no end of `target` is told, even if it waits in the mailbox. */
export function unwatch(watcher: Cell, target: Ref<never>): void {
  const watching = watcher.extras?.watching
  watching?.get(target)?.()
  watching?.delete(target)
}

export function unwatchAll(watcher: Cell): void {
  const watching = watcher.extras?.watching
  if (watching === undefined || watching === null) return
  for (const forget of watching.values()) {
    try {
      forget()
    } catch (error) {
      const { core, path } = watcher
      core.log.error('a watch could not be ended', { actor: path, error })
    }
  }
  watching.clear()
}

/** Calls `listener` once, at the target's end or at once where it has ended. */
export function onEnd(target: Ref<never>, listener: Watch): () => void {
  const subject: unknown = target
  if (subject instanceof Cell) return onCellEnd(subject, listener)
  if ('onEnd' in target) return (target as Ref<never> & Watchable).onEnd(listener)
  throw new Accident(
    fault('not-watchable', `${target.path} has no end that could be watched`, {
      actor: target.path,
      remedy: 'watch an actor, or give your ref an onEnd',
    }),
  )
}

export function onCellEnd(cell: Cell, listener: Watch): () => void {
  const extras = extrasOf(cell)
  if ((cell.status & STOPPED) !== 0) {
    listener(endOf(cell, extras))
    return () => undefined
  }
  const own: Watch = (ended) => listener(ended)
  ;(extras.watchers ??= new Set()).add(own)
  return () => void extras.watchers?.delete(own)
}

export function announceEnd(cell: Cell, extras: Extras): void {
  const { watchers } = extras
  if (watchers === null) return
  extras.watchers = null
  const ended = endOf(cell, extras)
  for (const tell of watchers) tell(ended)
}

function endOf(cell: Cell, extras: Extras): Ended {
  return { path: cell.path, cause: extras.cause, error: extras.error }
}

function tooManyWatches(watcher: Cell): Accident {
  return new Accident(
    fault(
      'too-many-watches',
      `${watcher.path} watches ${WATCHES_MAX} actors and may watch no more`,
      {
        actor: watcher.path,
        limit: WATCHES_MAX,
        remedy: 'unwatch what is no longer of interest',
      },
    ),
  )
}
