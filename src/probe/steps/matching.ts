/**
 * How steps look into a value: a path, what is wanted there, and a sentence that says what is there
 * instead.
 *
 * A path that leads to several values is matched by one of them.
 */
import { isDeepStrictEqual } from 'node:util'

import { jsonPath } from '../events/json-path.ts'
import type { EventCondition } from './services.ts'

export type Wanted =
  | Readonly<{ type: 'value'; value: unknown }>
  | Readonly<{ type: 'pattern'; pattern: RegExp }>
  | Readonly<{ type: 'containing'; text: string }>
  | Readonly<{ type: 'greater' | 'less'; than: number }>

/** As a part of the pattern of a step; what follows is read by `wantedOf`. */
export const WANTED = '(with value|with pattern|containing|greater than|less than) (.+?)'

const SHOWN_CHARACTERS_MAX = 500

/** A path may be written without its `$`. */
export function valuesAt(path: string, root: unknown): readonly unknown[] {
  return jsonPath(pathOf(path)).find(root)
}

export function pathOf(path: string): string {
  return path.startsWith('$') ? path : path.startsWith('[') ? `$${path}` : `$.${path}`
}

/** Reads what a step has written behind one of the words of `WANTED`. */
export function wantedOf(word: string, written: string): Wanted {
  const value = literal(written)
  switch (word) {
    case 'with value':
      return { type: 'value', value }
    case 'with pattern':
      return { type: 'pattern', pattern: new RegExp(String(value), 'u') }
    case 'containing':
      return { type: 'containing', text: String(value) }
    default:
      if (typeof value !== 'number') throw new Error(`${written} is not a number`)
      return { type: word === 'greater than' ? 'greater' : 'less', than: value }
  }
}

/** Text in quotes is text; everything else is JSON. */
export function literal(written: string): unknown {
  if (/^'.*'$/s.test(written)) return written.slice(1, -1)
  try {
    return JSON.parse(written)
  } catch {
    throw new Error(`${written} is neither text in quotes nor a number, true, false, null or JSON`)
  }
}

export function matches(path: string, wanted: Wanted, root: unknown): boolean {
  return valuesAt(path, root).some((value) => isWanted(value, wanted))
}

/** Throws a sentence with what is there. */
export function expectMatch(name: string, path: string, wanted: Wanted, root: unknown): void {
  const values = valuesAt(path, root)
  if (values.some((value) => isWanted(value, wanted))) return
  const there = values.length === 0 ? 'nothing' : values.map(shown).join(', ')
  throw new Error(`${name} has ${there} at ${path}, not ${saying(wanted)}\n${shown(root)}`)
}

/** The same for the log of events; a pattern is nothing for it. */
export function conditionOf(path: string, wanted: Wanted): EventCondition | undefined {
  const place = { of: 'value' as const, path: pathOf(path) }
  switch (wanted.type) {
    case 'value':
      return { ...place, test: { type: 'equals', value: wanted.value } }
    case 'containing':
      return { ...place, test: { type: 'contains', text: wanted.text } }
    case 'greater':
    case 'less':
      return { ...place, test: wanted }
    case 'pattern':
      return undefined
  }
}

/** Cut between texts and never within one: of a part of a secret nobody knows that it is one. */
export function shown(value: unknown): string {
  const text = JSON.stringify(value) ?? 'nothing'
  if (text.length <= SHOWN_CHARACTERS_MAX) return text
  let end = 0
  for (const { 0: token, index } of text.matchAll(/"(?:[^"\\]|\\.)*"|[^",:[\]{}]+|./g)) {
    if (index + token.length > SHOWN_CHARACTERS_MAX) break
    end = index + token.length
  }
  return `${text.slice(0, end)}…`
}

function isWanted(value: unknown, wanted: Wanted): boolean {
  switch (wanted.type) {
    case 'value':
      return isDeepStrictEqual(value, wanted.value)
    case 'pattern':
      return wanted.pattern.test(typeof value === 'string' ? value : shown(value))
    case 'containing':
      return Array.isArray(value)
        ? value.includes(wanted.text)
        : typeof value === 'string' && value.includes(wanted.text)
    case 'greater':
      return typeof value === 'number' && value > wanted.than
    case 'less':
      return typeof value === 'number' && value < wanted.than
  }
}

function saying(wanted: Wanted): string {
  switch (wanted.type) {
    case 'value':
      return shown(wanted.value)
    case 'pattern':
      return `what fits ${wanted.pattern.source}`
    case 'containing':
      return `what contains ${shown(wanted.text)}`
    case 'greater':
    case 'less':
      return `${wanted.type} than ${wanted.than}`
  }
}
