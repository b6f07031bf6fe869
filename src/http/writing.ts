/**
 * Writes a reply to the socket: the head once, with the headers every answer of ours carries, and the
 * body once. What a route says about a header wins over the default.
 */
import type { ServerResponse } from 'node:http'

import type { TraceContext } from '../std/index.ts'
import { PROBLEM_TYPE } from './problem.ts'
import type { Reply } from './route.ts'

const JSON_TYPE = 'application/json'

/** Nothing of ours is a page of somebody else's, is kept by a cache unasked, or loads anything. */
const DEFAULTS: readonly (readonly [name: string, value: string])[] = [
  ['cache-control', 'no-store'],
  ['content-security-policy', "default-src 'none'; frame-ancestors 'none'"],
  ['cross-origin-resource-policy', 'same-origin'],
  ['referrer-policy', 'no-referrer'],
  ['x-content-type-options', 'nosniff'],
]

const DEFAULT_HEAD: readonly string[] = DEFAULTS.flat()

/** What is written in place of `reply.body`; throws when it cannot be JSON. */
export function textOf(reply: Reply, trace: () => TraceContext): string {
  if (reply.text !== undefined) return reply.text
  const { body } = reply
  if (body === undefined) return ''
  if (reply.headers?.['content-type'] !== PROBLEM_TYPE) return JSON.stringify(body)
  const isNamed = typeof body !== 'object' || body === null || 'traceId' in body
  return JSON.stringify(isNamed ? body : { ...body, traceId: trace().traceId })
}

export function writeText(
  response: ServerResponse,
  reply: Reply,
  text: string,
  closes: boolean,
): void {
  const head = headOf(reply, closes)
  if (reply.status !== 204 && reply.status !== 304)
    head.push('content-length', String(Buffer.byteLength(text)))
  response.writeHead(reply.status, head)
  response.end(text)
}

/** Names and values in turn, which is the form that needs no further copy. */
export function headOf(reply: Reply, closes: boolean): string[] {
  const { headers, body } = reply
  const head: string[] = []
  if (headers === undefined) head.push(...DEFAULT_HEAD)
  else {
    for (const name in headers) head.push(name, headers[name]!)
    for (const [name, value] of DEFAULTS) if (!(name in headers)) head.push(name, value)
  }
  if (body !== undefined && headers?.['content-type'] === undefined)
    head.push('content-type', JSON_TYPE)
  if (closes) head.push('connection', 'close')
  return head
}
