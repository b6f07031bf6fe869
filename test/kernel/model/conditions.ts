/** Resume conditions of the model, and how they come true. */
import type { Outcome } from '../program.ts'
import type { Letter, ModelActor } from './actor.ts'
import type { Agenda } from './agenda.ts'

export type Disarm = () => void

/** Somebody who waits for room in a mailbox. */
export type Waiter = {
  readonly wants: number
  /** What it will tell from outside. */
  readonly offered?: Letter
  readonly admit: () => void
}

/** A promise that the program settles. */
export class Slot {
  /** What it means to the model, which hears of it just before the kernel does. */
  listener: ((outcome: Outcome) => void) | undefined
}

export type ModelCondition =
  | Readonly<{ type: 'manual' }>
  | Readonly<{ type: 'promise'; slot: Slot }>
  | Readonly<{ type: 'after'; ms: number }>
  | Readonly<{ type: 'signal'; key: string }>
  | Readonly<{ type: 'capacity'; target: ModelActor; room: number }>
  | Readonly<{ type: 'all' | 'any'; of: readonly ModelCondition[] }>

/** What conditions wait for. */
export type Surroundings = Readonly<{
  agenda: Agenda
  waitForSignal(key: string, fire: () => void): Disarm
  waitForRoom(target: ModelActor, wants: number, fire: () => void): Disarm
}>

/** Calls `fire` once when the condition comes true, which may be at once. */
export function arm(condition: ModelCondition, world: Surroundings, fire: () => void): Disarm {
  switch (condition.type) {
    case 'manual':
      return () => undefined
    case 'promise':
      condition.slot.listener = fire
      return () => undefined
    case 'after': {
      const appointment = world.agenda.book(condition.ms, fire)
      return () => world.agenda.cancel(appointment)
    }
    case 'signal':
      return world.waitForSignal(condition.key, fire)
    case 'capacity':
      return world.waitForRoom(condition.target, condition.room, fire)
    case 'all':
    case 'any':
      return armMany(condition, world, fire)
  }
}

function armMany(
  condition: Extract<ModelCondition, { type: 'all' | 'any' }>,
  world: Surroundings,
  fire: () => void,
): Disarm {
  const { type, of } = condition
  let missing = type === 'all' ? of.length : 1
  let over = false
  const disarms: Disarm[] = []
  const disarm = (): void => {
    over = true
    for (const each of disarms) each()
  }
  const oneTrue = (): void => {
    if (over || --missing > 0) return
    disarm()
    fire()
  }
  for (const each of of) if (!over) disarms.push(arm(each, world, () => oneTrue()))
  if (type === 'all' && of.length === 0) oneTrue()
  return disarm
}
