/**
 * What differs between two values, place by place.
 *
 * Strict like `assert.deepStrictEqual`: no coercion, a missing property is not an undefined one, and
 * both sides are of the same kind. Refs and functions are equal only if they are the same. Unlike it,
 * records of two realms are alike, since test runners have several.
 */
import { isDeepStrictEqual, types } from 'node:util'

import { isRecord, isRef, show } from './show.ts'

export type Difference = Readonly<{
  /** As one would write it behind the value: `.items[2].price`; empty for the value itself. */
  at: string
  actual: string
  expected: string
}>

/** Differences that are listed; the first few tell what is wrong. */
const LISTED = 10
const NOTHING = 'nothing'

/** The first differences; none means equal. */
export function differences(actual: unknown, expected: unknown): Difference[] {
  const found: Difference[] = []
  compare(actual, expected, '', { found, pairs: [] })
  return found
}

/** One line for each difference, under one another. */
export function listed(found: readonly Difference[]): string {
  return found
    .map(({ at, actual, expected }) => `  ${at === '' ? 'it' : at} is ${actual}, not ${expected}`)
    .join('\n')
}

type Walk = Readonly<{ found: Difference[]; pairs: (readonly [unknown, unknown])[] }>

function compare(actual: unknown, expected: unknown, at: string, walk: Walk): void {
  if (walk.found.length >= LISTED || Object.is(actual, expected)) return
  if (walk.pairs.some(([a, e]) => a === actual && e === expected)) return // a cycle on both sides
  walk.pairs.push([actual, expected])
  if (isRef(actual) || isRef(expected)) differ(actual, expected, at, walk)
  else if (Array.isArray(actual) && Array.isArray(expected)) elements(actual, expected, at, walk)
  else if (isRecord(actual) && isRecord(expected)) properties(actual, expected, at, walk)
  else if (isTable(actual) && isTable(expected)) entries(actual, expected, at, walk)
  else if (!isDeepStrictEqual(actual, expected)) differ(actual, expected, at, walk)
  walk.pairs.pop()
}

function differ(actual: unknown, expected: unknown, at: string, walk: Walk): void {
  const [one, other] = [show(actual), show(expected)]
  const alike = one === other ? ' (another one)' : ''
  walk.found.push({ at, actual: one, expected: `${other}${alike}` })
}

function elements(
  actual: readonly unknown[],
  expected: readonly unknown[],
  at: string,
  walk: Walk,
): void {
  const length = Math.max(actual.length, expected.length)
  for (let n = 0; n < length && walk.found.length < LISTED; n++) {
    const place = `${at}[${n}]`
    if (n >= actual.length) missing(expected[n], place, walk)
    else if (n >= expected.length) surplus(actual[n], place, walk)
    else compare(actual[n], expected[n], place, walk)
  }
}

function properties(
  actual: Readonly<Record<PropertyKey, unknown>>,
  expected: Readonly<Record<PropertyKey, unknown>>,
  at: string,
  walk: Walk,
): void {
  for (const key of new Set([...Object.keys(expected), ...Object.keys(actual)])) {
    const place = /^[\p{L}_$][\p{L}\p{N}_$]*$/u.test(key)
      ? `${at}.${key}`
      : `${at}[${JSON.stringify(key)}]`
    if (!Object.hasOwn(actual, key)) missing(expected[key], place, walk)
    else if (!Object.hasOwn(expected, key)) surplus(actual[key], place, walk)
    else compare(actual[key], expected[key], place, walk)
  }
}

function entries(
  actual: ReadonlyMap<unknown, unknown>,
  expected: ReadonlyMap<unknown, unknown>,
  at: string,
  walk: Walk,
): void {
  for (const key of new Set([...expected.keys(), ...actual.keys()])) {
    const place = `${at}.get(${show(key)})`
    if (!actual.has(key)) missing(expected.get(key), place, walk)
    else if (!expected.has(key)) surplus(actual.get(key), place, walk)
    else compare(actual.get(key), expected.get(key), place, walk)
  }
}

/** A map whose keys are themselves and not merely like others. */
function isTable(value: unknown): value is ReadonlyMap<unknown, unknown> {
  if (!types.isMap(value)) return false
  return [...value.keys()].every((key) => typeof key !== 'object' || key === null || isRef(key))
}

function missing(expected: unknown, at: string, walk: Walk): void {
  if (walk.found.length < LISTED) {
    walk.found.push({ at, actual: NOTHING, expected: show(expected) })
  }
}

function surplus(actual: unknown, at: string, walk: Walk): void {
  if (walk.found.length < LISTED) {
    walk.found.push({ at, actual: show(actual), expected: NOTHING })
  }
}
