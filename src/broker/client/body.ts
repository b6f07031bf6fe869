/**
 * Bodies as values: JSON on the way in and on the way out, held to a schema if there is one.
 *
 * What is sent is judged as whoever receives it would read it, so what one end takes the other does not refuse.
 * A schema that throws has refused.
 */
import type { StandardSchemaV1 } from '@standard-schema/spec'

import { fault, type Fault } from '../../std/index.ts'

/** Any of zod, valibot, arktype and others. */
export type BodySchema<T> = StandardSchemaV1<unknown, T>

export type ReadBody<T> =
  | Readonly<{ ok: true; value: T }>
  | Readonly<{ ok: false; issues: readonly string[] }>

const ISSUES_MAX = 20

export async function writtenBody<T>(
  value: T,
  schema: BodySchema<T> | undefined,
): Promise<Readonly<{ ok: true; text: string }> | Fault<'bad-message'>> {
  const text = jsonOf(value)
  if (text === undefined)
    return fault('bad-message', 'the body cannot be written as JSON', {
      remedy: 'send a value that JSON has a form for',
    })
  if (schema === undefined) return { ok: true, text }
  const read = await readBody(text, schema)
  if (read.ok) return { ok: true, text }
  return fault('bad-message', 'the body is not what the schema asks for', { issues: read.issues })
}

export async function readBody<T>(
  text: string,
  schema: BodySchema<T> | undefined,
): Promise<ReadBody<T>> {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    return { ok: false, issues: ['the body is not JSON'] }
  }
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- whoever gives no schema vouches for it
  if (schema === undefined) return { ok: true, value: value as T }
  try {
    const result = await schema['~standard'].validate(value)
    if (result.issues === undefined) return { ok: true, value: result.value }
    return { ok: false, issues: result.issues.slice(0, ISSUES_MAX).map(issueText) }
  } catch (error) {
    return { ok: false, issues: [`the schema failed: ${String(error)}`] }
  }
}

function jsonOf(value: unknown): string | undefined {
  try {
    // What has no form in JSON has no text, whatever its type says.
    const text: string | undefined = JSON.stringify(value)
    return text
  } catch {
    return undefined // a cycle, or a number that is too large
  }
}

function issueText({ message, path }: StandardSchemaV1.Issue): string {
  if (path === undefined || path.length === 0) return message
  const keys = path.map((part) => (typeof part === 'object' ? part.key : part))
  return `${keys.map(String).join('.')}: ${message}`
}
