/**
 * What the built-in steps remember from one step of a scenario to the next.
 *
 * It hangs on the world of the scenario without being a part of it, so that step definitions of a bundle
 * may have a world of their own.
 */
import type { EventView, HttpAnswer } from './services.ts'

export type ScenarioState = {
  /** The one that steps without a topic mean. */
  topic: string | undefined
  /** Every event that is waited for has it, unless a step names another. */
  correlation: string | undefined
  /** What the last step that waited has got. */
  events: readonly EventView[]
  produced: EventView[]
  /** The last event of each topic that a step has taken alone. */
  taken: Map<string, number>
  requestHeaders: Record<string, string>
  answer: HttpAnswer | undefined
}

const states = new WeakMap<object, ScenarioState>()

export function stateOf(world: object): ScenarioState {
  const known = states.get(world)
  if (known !== undefined) return known
  const state: ScenarioState = {
    topic: undefined,
    correlation: undefined,
    events: [],
    produced: [],
    taken: new Map(),
    requestHeaders: {},
    answer: undefined,
  }
  states.set(world, state)
  return state
}

/** The events that the last built-in step that waited has got, oldest first. */
export function eventsOf(world: object): readonly EventView[] {
  return stateOf(world).events
}

/** The one that steps speak of as `the event`. */
export function eventOf(world: object): EventView {
  const { events, produced } = stateOf(world)
  const event = events.at(-1) ?? produced.at(-1)
  if (event === undefined) throw new Error('there is no event yet: no step has received one')
  return event
}
