/**
 * The form of a request that both sides sign (AWS Signature Version 4): method, path, query, the headers that are
 * named, and a hash of the body, each written in exactly one way.
 */
import { hash } from 'node:crypto'

import type { RawRequest } from '../../http/index.ts'

export type Signed = Readonly<{
  /** Names in lower case, with semicolons between them. */
  signedHeaders: string
  /** Is in the query and not part of what was signed. */
  leaveOut?: string
}>

/** Undefined where a header is named that the request does not have. */
export function canonicalHash(
  { method, url, headers, body }: Pick<RawRequest, 'method' | 'url' | 'headers' | 'body'>,
  { signedHeaders, leaveOut }: Signed,
): string | undefined {
  const at = url.indexOf('?')
  const path = at === -1 ? url : url.slice(0, at)
  const query = at === -1 ? '' : canonicalQuery(url.slice(at + 1), leaveOut)
  let lines = ''
  for (const name of signedHeaders.split(';')) {
    const value = headers[name]
    if (value === undefined) return undefined
    lines += `${name}:${value.includes('  ') ? value.trim().replace(/ +/g, ' ') : value.trim()}\n`
  }
  return hash(
    'sha256',
    `${method}\n${canonicalPath(path)}\n${query}\n${lines}\n${signedHeaders}\n${hash('sha256', body)}`,
  )
}

/** Without empty, `.` and `..` parts, and encoded once more than it was sent. */
function canonicalPath(path: string): string {
  if (path === '/' || path === '') return '/'
  const parts: string[] = []
  for (const part of path.split('/')) {
    if (part === '..') parts.pop()
    else if (part !== '' && part !== '.') parts.push(encoded(part))
  }
  return `/${parts.join('/')}${path.endsWith('/') && parts.length > 0 ? '/' : ''}`
}

/** Sorted by name and then by value, in order of their bytes. */
function canonicalQuery(query: string, leaveOut: string | undefined): string {
  const pairs: (readonly [name: string, value: string])[] = []
  for (const pair of query.split('&')) {
    if (pair === '') continue
    const at = pair.indexOf('=')
    const name = decoded(at === -1 ? pair : pair.slice(0, at))
    if (name === leaveOut) continue
    pairs.push([encoded(name), at === -1 ? '' : encoded(decoded(pair.slice(at + 1)))])
  }
  return pairs
    .toSorted(([a, one], [b, other]) => compare(a, b) || compare(one, other))
    .map(([name, value]) => `${name}=${value}`)
    .join('&')
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0
}

function decoded(value: string): string {
  try {
    return decodeURIComponent(value.replaceAll('+', ' '))
  } catch {
    return value // then it is not what was signed
  }
}

/** Everything but letters, digits and four signs. */
function encoded(value: string): string {
  return encodeURIComponent(value.toWellFormed()).replace(
    /[!'()*]/g,
    (sign) => `%${sign.charCodeAt(0).toString(16).toUpperCase()}`,
  )
}
