/**
 * Reads a body as JSON, and refuses what JSON.parse would let pass: bytes that are not UTF-8, nesting
 * without end, and keys that would become somebody's prototype in a careless merge.
 *
 * A body without anything suspicious is looked at once by each check, in native code.
 */
import { isUtf8 } from 'node:buffer'

import { fault, type Fault } from '../std/index.ts'
import { JSON_DEPTH_MAX } from './limits.ts'

export type ParsedBody = Readonly<{ ok: true; value: unknown }> | Fault<'bad-json'>

export function parseBody(bytes: Buffer): ParsedBody {
  if (!isUtf8(bytes)) return bad('the body is not UTF-8')
  const text = bytes.toString('utf8')
  if (!isShallow(text)) return bad(`the body is nested deeper than ${JSON_DEPTH_MAX} levels`)
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (error) {
    return bad('the body is not JSON', error)
  }
  if (isSuspicious(text) && isPoisoned(value))
    return bad('the body has a key that names a prototype')
  return { ok: true, value }
}

function bad(message: string, error?: unknown): Fault<'bad-json'> {
  const at = error instanceof Error ? /at position \d+|end of JSON input/.exec(error.message) : null
  return fault('bad-json', message, {
    ...(at !== null && { where: at[0] }),
    remedy: 'send one JSON value in UTF-8',
  })
}

// A text opens at least as many brackets as it has levels, so most need no look at each character.
function isShallow(text: string): boolean {
  if (text.length <= 2 * JSON_DEPTH_MAX) return true
  let opened = 0
  for (const bracket of ['{', '[']) {
    let at = text.indexOf(bracket)
    for (; at !== -1 && opened <= JSON_DEPTH_MAX; at = text.indexOf(bracket, at + 1)) opened++
  }
  return opened <= JSON_DEPTH_MAX || depthOf(text) <= JSON_DEPTH_MAX
}

function depthOf(text: string): number {
  let depth = 0
  let deepest = 0
  let inString = false
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (inString) {
      if (code === 92) at++
      else if (code === 34) inString = false
    } else if (code === 34) inString = true
    else if (code === 123 || code === 91) deepest = Math.max(deepest, ++depth)
    else if (code === 125 || code === 93) depth--
  }
  return deepest
}

function isSuspicious(text: string): boolean {
  // An escape may spell any key, so a text with one is looked at as well.
  return text.includes('__proto__') || text.includes('"constructor"') || text.includes('\\u')
}

function isPoisoned(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false
  if (Array.isArray(value)) return value.some(isPoisoned)
  return Object.entries(value).some(
    ([key, inner]) =>
      key === '__proto__' ||
      (key === 'constructor' && isRecord(inner) && Object.hasOwn(inner, 'prototype')) ||
      isPoisoned(inner),
  )
}

function isRecord(value: unknown): value is object {
  return typeof value === 'object' && value !== null
}
