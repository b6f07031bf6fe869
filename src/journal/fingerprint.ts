/**
 * What a request asked, short enough to be kept beside its answer.
 *
 * Two fingerprints are the same text exactly if all fields were the same; if not, the texts tell in
 * which. A field is kept as its canonical text: JSON with sorted keys, a whole number beyond the safe
 * ones as `12n`. A long one is kept as `#` and its SHA-256, which no canonical text begins with, so
 * that nobody can send the digest of a value in place of the value.
 */
import { hash } from 'node:crypto'

import { Accident, fault } from '../std/index.ts'

/** Longer canonical texts are digested; a digest is shorter. */
const FIELD_CHARS_KEPT = 64
/** Data that is nested deeper is not a request. */
const DEPTH_KEPT = 256

/** Fields that are undefined are left out. Data is what JSON can say, and bigints. */
export function fingerprintOf(fields: Readonly<Record<string, unknown>>): string {
  let text = ''
  for (const name of sortedNames(fields)) {
    const value = canonical(fields[name], 0)
    if (value === undefined) continue
    const kept = value.length > FIELD_CHARS_KEPT ? `#${hash('sha256', value, 'base64url')}` : value
    text += `${text === '' ? '' : ','}${JSON.stringify(name)}:${JSON.stringify(kept)}`
  }
  return `{${text}}`
}

/** Who makes many of them gives the fields in order. */
function sortedNames(fields: Readonly<Record<string, unknown>>): string[] {
  const names = Object.keys(fields)
  for (let n = 1; n < names.length; n++) if (names[n - 1]! > names[n]!) return names.toSorted()
  return names
}

/** The names of the fields that are not the same, sorted; none where one of them is no fingerprint. */
export function differingFields(before: string, after: string): string[] {
  const [old, given] = [parsed(before), parsed(after)]
  if (old === undefined || given === undefined) return []
  const names = new Set([...old.keys(), ...given.keys()])
  return [...names].filter((name) => old.get(name) !== given.get(name)).toSorted()
}

function canonical(value: unknown, depth: number): string | undefined {
  switch (typeof value) {
    case 'string':
    case 'boolean':
      return JSON.stringify(value)
    case 'number':
      return String(value)
    case 'bigint':
      return `${value}n`
    case 'undefined':
      return undefined
    case 'object':
      return value === null ? 'null' : composite(value, depth + 1)
    case 'function':
    case 'symbol':
      throw notData(`a ${typeof value}`)
  }
}

function composite(value: object, depth: number): string | undefined {
  if (depth > DEPTH_KEPT) throw notData('something cyclic or endlessly deep')
  if ('toJSON' in value && typeof value.toJSON === 'function')
    return canonical(value.toJSON(), depth)
  if (Array.isArray(value))
    return `[${value.map((element) => canonical(element, depth) ?? 'null').join(',')}]`
  const prototype: unknown = Object.getPrototypeOf(value)
  if (prototype !== null && prototype !== Object.prototype)
    throw notData(`a ${value.constructor.name}`)
  const parts: string[] = []
  for (const [name, inner] of Object.entries(value).toSorted(byName)) {
    const text = canonical(inner, depth)
    if (text !== undefined) parts.push(`${JSON.stringify(name)}:${text}`)
  }
  return `{${parts.join(',')}}`
}

function byName([a]: readonly [string, unknown], [b]: readonly [string, unknown]): number {
  return a < b ? -1 : 1
}

function notData(what: string): Accident<'bad-batch'> {
  return new Accident(
    fault('bad-batch', `a fingerprint cannot be made of ${what}`, {
      remedy: 'fingerprint plain objects, arrays, texts, numbers, booleans, bigints and null',
    }),
  )
}

function parsed(fingerprint: string): Map<string, unknown> | undefined {
  try {
    const fields: unknown = JSON.parse(fingerprint)
    return typeof fields === 'object' && fields !== null
      ? new Map(Object.entries(fields))
      : undefined
  } catch {
    return undefined
  }
}
