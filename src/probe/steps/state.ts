/**
 * What is remembered from one step of a scenario to the next.
 *
 * It hangs on the world of the scenario, where nobody looks for it, so that step definitions of a bundle
 * may have a world of their own. Whatever a scenario calls, however late, finds the state of its own.
 */
import { world as current } from '@cucumber/cucumber'

import type { EventView, HttpAnswer } from './services.ts'

export type ScenarioState = {
  /** How many events there were when it began, or why nobody knows. */
  began: Promise<number> | undefined
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

const STATE = Symbol('state')

export function stateOf(world: object): ScenarioState {
  const known: ScenarioState | undefined = Reflect.get(world, STATE)
  if (known !== undefined) return known
  const state: ScenarioState = {
    began: undefined,
    topic: undefined,
    correlation: undefined,
    events: [],
    produced: [],
    taken: new Map(),
    requestHeaders: {},
    answer: undefined,
  }
  Object.defineProperty(world, STATE, { value: state, configurable: true })
  return state
}

/** That of the scenario whose step or hook calls this; undefined where none does. */
export function currentState(): ScenarioState | undefined {
  try {
    return stateOf(current)
  } catch {
    return undefined // Cucumber has no world outside of scenarios
  }
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
