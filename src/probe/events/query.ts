/** Queries made ready: each judges one event at a time, exactly and case-sensitively. */
import { isDeepStrictEqual } from 'node:util'

import { unreachable } from '../../std/index.ts'
import type { EventCondition, EventQuery, EventView } from '../steps/services.ts'
import { jsonPath } from './json-path.ts'

export type Judge = (event: EventView) => boolean

/** A query of steps, and whatever else only this process can ask. */
export type LogQuery = Omit<EventQuery, 'topic'> &
  Readonly<{ topic?: string | undefined; matching?: Judge | undefined }>

/** Throws the fault `bad-json-path`. */
export function judgeOf(query: LogQuery): Judge {
  const { topic, direction = 'consumed', correlation, after = 0, where = [], matching } = query
  const conditions = where.map(conditionOf)
  return (event) =>
    event.direction === direction &&
    event.sequence > after &&
    (topic === undefined || event.topic === topic) &&
    (correlation === undefined || event.correlation === correlation) &&
    conditions.every((holds) => holds(event)) &&
    (matching === undefined || matching(event))
}

/** True when any value at the path passes; `absent` when there is none. */
function conditionOf({ of, path, test }: EventCondition): Judge {
  const place = jsonPath(path)
  const passes = testOf(test)
  return (event) => passes(place.find(of === 'key' ? event.key : event.value))
}

function testOf(test: EventCondition['test']): (found: readonly unknown[]) => boolean {
  switch (test.type) {
    case 'exists':
      return (found) => found.length > 0
    case 'absent':
      return (found) => found.length === 0
    case 'equals':
      return (found) => found.some((value) => isDeepStrictEqual(value, test.value))
    case 'contains':
      return (found) => found.some((value) => contains(value, test.text))
    case 'greater':
      return (found) => found.some((value) => typeof value === 'number' && value > test.than)
    case 'less':
      return (found) => found.some((value) => typeof value === 'number' && value < test.than)
    default:
      return unreachable(test)
  }
}

/** A text within a text, or as a member of a list. */
function contains(value: unknown, text: string): boolean {
  return typeof value === 'string'
    ? value.includes(text)
    : Array.isArray(value) && value.includes(text)
}

/** The first event whose value at the path is less than the one before, or more if `descending`. */
export function outOfOrder(
  events: readonly EventView[],
  path: string,
  descending = false,
): EventView | undefined {
  const place = jsonPath(path)
  let previous: unknown
  for (const event of events) {
    const [value] = place.find(event.value)
    if (previous !== undefined && !isOrdered(previous, value, descending)) return event
    previous = value
  }
  return undefined
}

function isOrdered(a: unknown, b: unknown, descending: boolean): boolean {
  if (typeof a === 'number' && typeof b === 'number') return descending ? a >= b : a <= b
  if (typeof a === 'string' && typeof b === 'string') return descending ? a >= b : a <= b
  return false
}
