/**
 * The query of a URL as a value that a shape can read.
 *
 * A query is text only; whether `limit=10` is a number is for the shape's schema to say. A name that
 * comes twice is a list, which a shape for one value refuses.
 */
import { QUERY_FIELDS_MAX } from './limits.ts'
import type { JsonSchema, Shape } from './shape.ts'

export type RawQuery = Readonly<Record<string, string | readonly string[]>>

/** `undefined` when it has too many fields or a percent sign that encodes nothing. */
export function parseQuery(text: string): RawQuery | undefined {
  const query: Record<string, string | string[]> = Object.create(null)
  if (text === '') return query
  const pairs = text.split('&', QUERY_FIELDS_MAX + 1)
  if (pairs.length > QUERY_FIELDS_MAX) return undefined
  for (const pair of pairs) {
    if (pair === '') continue
    const equals = pair.indexOf('=')
    const name = decoded(equals === -1 ? pair : pair.slice(0, equals))
    const value = equals === -1 ? '' : decoded(pair.slice(equals + 1))
    if (name === undefined || value === undefined) return undefined
    const known = query[name]
    if (known === undefined) query[name] = value
    else if (Array.isArray(known)) known.push(value)
    else query[name] = [known, value]
  }
  return query
}

/** Turns texts into what the schema of each field says; what does not fit stays a text, and is refused. */
export function queryReader(of: Shape<unknown>): (query: RawQuery) => Record<string, unknown> {
  const { properties } = of.schema
  const schemas = isSchema(properties) ? Object.entries(properties) : []
  return (query) => {
    const typed: Record<string, unknown> = Object.create(null)
    // Everything is passed on, so that an exact shape sees what it does not know.
    for (const name in query) typed[name] = query[name]
    for (const [name, schema] of schemas) {
      const sent = query[name]
      if (sent !== undefined && isSchema(schema)) typed[name] = typedAs(schema, sent)
    }
    return typed
  }
}

function typedAs(schema: JsonSchema, sent: string | readonly string[]): unknown {
  const type = schema['type']
  if (type === 'array') {
    const { items } = schema
    const list = typeof sent === 'string' ? [sent] : sent
    return isSchema(items) ? list.map((one) => typedAs(items, one)) : list
  }
  if (typeof sent !== 'string') return sent
  if (type === 'integer' || type === 'number')
    return /^-?\d{1,16}(\.\d{1,16})?$/.test(sent) ? Number(sent) : sent
  if (type === 'boolean') return sent === 'true' ? true : sent === 'false' ? false : sent
  return sent
}

function isSchema(value: unknown): value is JsonSchema {
  return typeof value === 'object' && value !== null
}

function decoded(text: string): string | undefined {
  const spaced = text.includes('+') ? text.replaceAll('+', ' ') : text
  if (!spaced.includes('%')) return spaced
  try {
    return decodeURIComponent(spaced)
  } catch {
    return undefined
  }
}
