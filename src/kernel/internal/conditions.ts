/** Makes resume conditions come true: each arms what it waits for and can be disarmed. */
import { Accident, fault, unreachable } from '../../std/index.ts'
import type { ResumeCondition } from '../suspension.ts'
import { waitForRoom } from './capacity.ts'
import { Cell } from './cell.ts'

type Disarm = () => void
const nothing: Disarm = () => undefined

/** Calls `fire` once when the condition comes true, which may be at once. */
export function arm(condition: ResumeCondition, cell: Cell, fire: () => void): Disarm {
  const { core } = cell
  switch (condition.type) {
    case 'manual':
      return nothing
    case 'after': {
      if (!(condition.ms >= 0 && condition.ms < Infinity)) throw badTime(cell, condition.ms)
      const entry = core.timers.after(condition.ms, fire)
      return () => void core.timers.cancel(entry)
    }
    case 'signal':
      return core.signals.wait(condition.key, fire)
    case 'capacity': {
      const target: unknown = condition.target
      if (target instanceof Cell) return waitForRoom(target, condition.room, fire)
      fire() // whatever else can be told has no bound to wait for
      return nothing
    }
    case 'promise':
      Promise.resolve(condition.promise).then(fire, fire) // whatever it is, it fires once
      return nothing
    case 'all':
      return armAll(condition.of, cell, fire)
    case 'any':
      return armAny(condition.of, cell, fire)
    default:
      return unreachable(condition)
  }
}

function armAll(of: readonly ResumeCondition[], cell: Cell, fire: () => void): Disarm {
  let left = of.length
  if (left === 0) {
    fire()
    return nothing
  }
  return armEach(of, cell, () => {
    if (--left === 0) fire()
    return false
  })
}

/**
 * `fire` says whether the rest need not come true any more: they are not armed then, and a signal
 * kept for the next to wait stays. One that cannot be armed takes back those before it.
 */
function armEach(of: readonly ResumeCondition[], cell: Cell, fire: () => boolean): Disarm {
  const disarms: Disarm[] = []
  const disarm = (): void => disarms.forEach((each) => each())
  let isOver = false
  const oneTrue = (): void => void (isOver = fire())
  try {
    for (const each of of) {
      if (isOver) break
      disarms.push(arm(each, cell, () => oneTrue())) // two of a kind are two
    }
  } catch (error) {
    disarm()
    throw error
  }
  return disarm
}

function armAny(of: readonly ResumeCondition[], cell: Cell, fire: () => void): Disarm {
  let done = false
  let disarm = nothing
  const once = (): boolean => {
    if (done) return true
    done = true
    disarm()
    fire()
    return true
  }
  disarm = armEach(of, cell, once)
  if (done) disarm() // the first came true while the others were armed
  return () => {
    done = true
    disarm()
  }
}

function badTime(cell: Cell, ms: number): Accident {
  return new Accident(
    fault('bad-option', `${cell.path} cannot rest for ${ms} ms`, {
      actor: cell.path,
      option: 'ms',
      given: ms,
      remedy: 'give a finite number of milliseconds from 0, or rest until something happens',
    }),
  )
}
