/** Taking on a behavior: at birth, by a handler's answer, and anew by a restart. */
import { Accident, fault } from '../../std/index.ts'
import { Behavior } from '../behavior.ts'
import type { Next } from '../behavior.ts'
import { deliverUrgent, extrasOf, type Cell } from './cell.ts'
import { Special } from './special.ts'

const NESTED_MAX = 16

class Start extends Special {
  override get about(): unknown {
    return 'start'
  }

  override get isMessage(): boolean {
    return false
  }

  override run(cell: Cell): Next<never> {
    become(cell, cell.behavior)
    return undefined
  }
}

const START = new Start()

/** Makes a deferred behavior in the cell's next turn, ahead of its mail. */
export function startSoon(cell: Cell): void {
  if (cell.behavior.start === undefined) return
  extrasOf(cell).initial ??= cell.behavior
  deliverUrgent(cell, START)
}

/** From the next message on. The behavior to restart from stays the first one. */
export function become(cell: Cell, behavior: Behavior<never>): void {
  extrasOf(cell).initial ??= cell.behavior
  let real = behavior
  for (let depth = 0; real.start !== undefined; depth++) {
    real = real.start(cell)
    if (!(real instanceof Behavior) || depth === NESTED_MAX) throw notABehavior(cell, real)
  }
  cell.behavior = real
  cell.receive = real.receive
}

export function notABehavior(cell: Cell, given: unknown): Accident {
  return new Accident(
    fault('not-a-behavior', `${cell.path} answered with something that is not a behavior`, {
      actor: cell.path,
      given,
      remedy: "answer nothing, 'same', 'stopped', a behavior, or a promise of one of them",
    }),
  )
}
