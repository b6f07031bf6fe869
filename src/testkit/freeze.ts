/**
 * Freezing what was told, so that whoever changes it afterwards fails where it happens.
 *
 * Data is frozen all the way down: plain objects, arrays, and maps and sets, whose changing methods
 * throw from then on. What is not plain data is somebody's and stays as it is, with everything
 * behind it: refs, promises, buffers, class instances, and any object that has a function or an
 * accessor of its own.
 */
import { types } from 'node:util'

import { isError } from './show.ts'

/** What has been frozen. It cannot change any more, so once is enough, and a cycle ends here. */
const frozen = new WeakSet<object>()

/** The same value, frozen in place. */
export function deepFreeze<T>(value: T): T {
  if (!isOpen(value)) return value
  const open: object[] = [value]
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    for (const inner of freezeOne(next)) if (isOpen(inner)) open.push(inner)
  }
  return value
}

/** Whether an error came of changing something frozen. */
export function isMutation(error: unknown): error is Error {
  return isError(error) && error.name === 'TypeError' && MUTATION.test(error.message)
}

// The first three are V8's words for a write, an addition and a removal; the last is ours.
const MUTATION = /read only property|not extensible|Cannot (?:delete|redefine) property|was told/

function isOpen(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !frozen.has(value)
}

/** Freezes one object if it is data, and answers what is inside it. */
function freezeOne(value: object): Iterable<unknown> {
  if (types.isProxy(value)) return []
  if (Array.isArray(value)) return seal(value, value)
  const kind: unknown = Object.getPrototypeOf(value)
  if (kind === null || isRoot(kind)) {
    const inside = dataOf(value)
    return inside === undefined ? [] : seal(value, inside)
  }
  if (!isRoot(Object.getPrototypeOf(kind))) return [] // a class of somebody's own
  if (types.isMap(value)) {
    forbid(value, 'a Map', ['set', 'delete', 'clear'])
    return seal(value, [...value.keys(), ...value.values()])
  }
  if (types.isSet(value)) {
    forbid(value, 'a Set', ['add', 'delete', 'clear'])
    return seal(value, value)
  }
  return []
}

function seal(value: object, inside: Iterable<unknown>): Iterable<unknown> {
  Object.freeze(value)
  frozen.add(value)
  return inside
}

/** `Object.prototype` of any realm: test runners have several. */
function isRoot(kind: unknown): boolean {
  return typeof kind === 'object' && kind !== null && Object.getPrototypeOf(kind) === null
}

/** The values of an object that holds nothing but data. */
function dataOf(value: object): unknown[] | undefined {
  const inside: unknown[] = []
  for (const key of Reflect.ownKeys(value)) {
    const property = Object.getOwnPropertyDescriptor(value, key)
    if (property === undefined || property.get !== undefined || property.set !== undefined) {
      return undefined
    }
    const held: unknown = property.value
    if (typeof held === 'function') return undefined
    inside.push(held)
  }
  return inside
}

function forbid(value: object, kind: string, methods: readonly string[]): void {
  for (const method of methods) {
    Object.defineProperty(value, method, {
      value: () => {
        throw new TypeError(`Cannot ${method} on ${kind} that was told`)
      },
    })
  }
}
