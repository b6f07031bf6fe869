/**
 * What an action takes, written down once and read from either protocol: from JSON as it is, and from the flat
 * fields of the query protocol (`Entry.1.Name=…`), where a list has a name of its own.
 *
 * A field that is not there is undefined; whether it has to be there is the action's business.
 */
import { SqsError } from './errors.ts'
import type { QueryFields } from './query-fields.ts'

export interface Kind<T> {
  /** Throws what SQS says about JSON of another kind. */
  fromJson(value: unknown): T
  /** Undefined where no field has that name or begins with it. */
  fromQuery(fields: QueryFields, name: string): T | undefined
  /** What it is called in the query protocol, if that is something else. */
  readonly queryName?: string
}

export type InputShape = Readonly<Record<string, Kind<unknown>>>

export type InputOf<S extends InputShape> = {
  readonly [Name in keyof S]: S[Name] extends Kind<infer T> ? T | undefined : never
}

export type RawInput = Readonly<Record<string, unknown>>

export function readJson(shape: InputShape, body: unknown): RawInput {
  const given = recordOf(body)
  const input: Record<string, unknown> = {}
  for (const name in shape) {
    const value = given[name]
    if (value !== undefined && value !== null) input[name] = shape[name]!.fromJson(value)
  }
  return input
}

export function readQuery(shape: InputShape, fields: QueryFields, prefix = ''): RawInput {
  const input: Record<string, unknown> = {}
  for (const name in shape) {
    const kind = shape[name]!
    const value = kind.fromQuery(fields, prefix + (kind.queryName ?? name))
    if (value !== undefined) input[name] = value
  }
  return input
}

export const text: Kind<string> = {
  fromJson(value) {
    if (typeof value === 'string') return value
    throw notA('String', value)
  },
  fromQuery: (fields, name) => fields.get(name),
}

export const integer: Kind<number> = {
  fromJson(value) {
    if (typeof value === 'number' && Number.isSafeInteger(value)) return value
    throw notA('Integer', value)
  },
  fromQuery(fields, name) {
    const value = fields.get(name)
    if (value === undefined) return undefined
    if (/^[+-]?\d{1,15}$/.test(value)) return Number(value)
    throw new SqsError(
      'InvalidParameterValue',
      `Value ${value.slice(0, 100)} for parameter ${name} is invalid. Reason: Must be an integer.`,
    )
  },
}

export function texts(queryName: string): Kind<readonly string[]> {
  return {
    queryName,
    fromJson: (value) => listOf(value).map((item) => text.fromJson(item)),
    fromQuery(fields, name) {
      const found: string[] = []
      for (const at of fields.indexes(name)) {
        const value = fields.get(at)
        if (value !== undefined) found.push(value)
      }
      return found.length === 0 ? undefined : found
    },
  }
}

/** Names with texts, such as the attributes of a queue. */
export function pairs(
  queryName: string,
  nameField: 'Name' | 'Key',
): Kind<Readonly<Record<string, string>>> {
  return mapOf(queryName, nameField, text)
}

/** Names with something of another kind. */
export function mapOf<T>(
  queryName: string,
  nameField: 'Name' | 'Key',
  kind: Kind<T>,
): Kind<Readonly<Record<string, T>>> {
  return {
    queryName,
    fromJson(value) {
      const found = emptyMap<T>()
      for (const [name, inner] of Object.entries(recordOf(value)))
        if (inner !== null) found[name] = kind.fromJson(inner)
      return found
    },
    fromQuery(fields, name) {
      const found = emptyMap<T>()
      let count = 0
      for (const at of fields.indexes(name)) {
        const key = fields.get(`${at}.${nameField}`)
        const value = kind.fromQuery(fields, `${at}.Value`)
        if (key === undefined || value === undefined)
          throw new SqsError('MalformedInput', `${at} must have a ${nameField} and a Value`)
        found[key] = value
        count++
      }
      return count === 0 ? undefined : found
    },
  }
}

export function structure<S extends InputShape>(shape: S): Kind<InputOf<S>> {
  // oxlint-disable typescript/no-unsafe-type-assertion -- each field was read by its kind
  return {
    fromJson: (value) => readJson(shape, value) as InputOf<S>,
    fromQuery: (fields, name) =>
      fields.has(name) ? (readQuery(shape, fields, `${name}.`) as InputOf<S>) : undefined,
  }
  // oxlint-enable typescript/no-unsafe-type-assertion
}

export function entries<S extends InputShape>(
  queryName: string,
  shape: S,
): Kind<readonly InputOf<S>[]> {
  const one = structure(shape)
  return {
    queryName,
    fromJson: (value) => listOf(value).map((item) => one.fromJson(item)),
    fromQuery(fields, name) {
      const found: InputOf<S>[] = []
      for (const at of fields.indexes(name)) {
        const entry = one.fromQuery(fields, at)
        if (entry !== undefined) found.push(entry)
      }
      return found.length === 0 ? undefined : found
    },
  }
}

/** Nobody's names are a prototype's. */
function emptyMap<T>(): Record<string, T> {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- an object without anything
  return Object.create(null) as Record<string, T>
}

function recordOf(value: unknown): Readonly<Record<string, unknown>> {
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw notA('structure or map', value)
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- an object of JSON
  return value as Readonly<Record<string, unknown>>
}

function listOf(value: unknown): readonly unknown[] {
  if (Array.isArray(value)) return value
  throw notA('list', value)
}

function notA(wanted: string, value: unknown): SqsError {
  if (Array.isArray(value))
    return new SqsError('MalformedInput', 'Start of list found where not expected')
  if (typeof value === 'object' && value !== null)
    return new SqsError('MalformedInput', 'Start of structure or map found where not expected.')
  const found =
    typeof value === 'string'
      ? 'STRING_VALUE'
      : typeof value === 'number'
        ? Number.isInteger(value)
          ? 'NUMBER_VALUE'
          : 'DECIMAL_VALUE'
        : value === true
          ? 'TRUE_VALUE'
          : 'FALSE_VALUE'
  const article = wanted === 'Integer' ? 'an' : 'a'
  return new SqsError('MalformedInput', `${found} can not be converted to ${article} ${wanted}`)
}
