/**
 * What a definition promises, checked wherever it is cheap to: that it is pure, and that what becomes
 * durable comes back as it was.
 *
 * Everything a definition is given is frozen first. What it answers must be the same the second time.
 */
import { lostInJson } from '../entity/internal/codec.ts'
import { Accident, fault } from '../std/index.ts'
import { differences, listed } from './compare.ts'
import { deepFreeze, isMutation } from './freeze.ts'

/** What `work` answers, after it has answered the same twice; `what` names it in a sentence. */
export function purely<T>(type: string, what: string, work: () => T): T {
  const first = unchanging(type, what, work)
  const found = differences(unchanging(type, what, work), first)
  if (found.length === 0) return deepFreeze(first)
  throw new Accident(
    fault('not-pure', `${what} of ${type} answered otherwise the second time:\n${listed(found)}`, {
      entity: type,
      what,
      remedy: 'take the time from its argument, and decide chance and ids before the command',
    }),
  )
}

function unchanging<T>(type: string, what: string, work: () => T): T {
  try {
    return work()
  } catch (error) {
    if (!isMutation(error)) throw error
    throw new Accident(
      fault('not-pure', `${what} of ${type} changes what it was given`, {
        entity: type,
        what,
        remedy: 'make a changed copy: states, events and commands belong to everybody who has them',
      }),
      { cause: error },
    )
  }
}

/** The same value, if JSON keeps it. */
export function lasting<T>(type: string, what: string, value: T): T {
  const place = lostInJson(value)
  if (place === undefined) return value
  throw new Accident(
    fault('lost-in-json', `${what} of ${type} is not JSON at ${what.split(' ').at(-1)}${place}`, {
      entity: type,
      what,
      place,
      remedy: 'use texts, finite numbers, booleans, null, arrays and plain objects',
    }),
  )
}
