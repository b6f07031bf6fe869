/**
 * Shapes: how untrusted input becomes typed values.
 *
 * A shape reads a value or says what is wrong with it, everything at once and in the order in which
 * the fields are declared, and it is its own JSON Schema, so that what is documented is what is
 * checked. `null` counts as absent. A read that succeeds allocates nothing but its result: paths are
 * put together only on the way out of a failure.
 */
import { assert, fault, type Fault } from '../std/index.ts'
import { ISSUES_NAMED_MAX } from './limits.ts'

export type JsonSchema = Readonly<Record<string, unknown>>

export type Issue = Readonly<{ path: string; problem: 'missing' | 'invalid'; expected: string }>

export interface Shape<out T> {
  readonly schema: JsonSchema
  readonly isOptional: boolean
  /** What an absent value is read as. */
  readonly fallback?: T
  /** `undefined` and at least one more issue when the value is wrong. */
  read(value: unknown, path: string, issues: Issue[]): T | undefined
}

type Fields = Readonly<Record<string, Shape<unknown>>>
type OptionalNames<F extends Fields> = {
  [K in keyof F]: undefined extends TypeOf<F[K]> ? K : never
}[keyof F]

/** What a shape reads. */
export type TypeOf<S> = S extends Shape<infer T> ? T : never

/** An optional field without a fallback is left out when it is absent. */
export type Shaped<F extends Fields> = Readonly<
  { [K in Exclude<keyof F, OptionalNames<F>>]: TypeOf<F[K]> } & {
    [K in OptionalNames<F>]?: Exclude<TypeOf<F[K]>, undefined>
  }
>

/** An object. Fields it does not name are ignored; with `exact` they are refused, with a suggestion. */
export function shape<const F extends Fields>(
  fields: F,
  options: Readonly<{ exact?: boolean }> = {},
): Shape<Shaped<F>> {
  const names = Object.keys(fields)
  const shapes = Object.values(fields)
  // What every object inherits would be read as if it had been sent.
  assert(
    names.every((name) => !(name in Object.prototype)),
    'a field is not named like a property of every object',
  )
  const exact = options.exact ?? false
  const required = names.filter((name) => !fields[name]!.isOptional)
  return {
    isOptional: false,
    schema: {
      type: 'object',
      properties: Object.fromEntries(names.map((name) => [name, fields[name]!.schema])),
      ...(required.length > 0 && { required }),
      ...(exact && { additionalProperties: false }),
    },
    read(value, path, issues) {
      if (!isRecord(value)) return wrong(path, 'an object', issues)
      const before = issues.length
      const result: Record<string, unknown> = {}
      for (let at = 0; at < names.length; at++) {
        const name = names[at]!
        const of = shapes[at]!
        const sent = value[name]
        if (sent !== undefined && sent !== null) result[name] = of.read(sent, name, issues)
        else if (!of.isOptional) issues.push(missing(name, of))
        else if (of.fallback !== undefined) result[name] = of.fallback
      }
      if (exact) refuseUnknown(value, names, issues)
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- built field by field
      if (issues.length === before) return result as Shaped<F>
      prefix(issues, before, path)
      return undefined
    },
  }
}

/** Counted in UTF-16 units; a text with half a character in it is refused. */
export function text(
  options: Readonly<{ max: number; min?: number; pattern?: RegExp }>,
): Shape<string> {
  const { max, min = 0, pattern } = options
  assert(pattern === undefined || !/[gy]/.test(pattern.flags), 'a pattern has no memory')
  const expected = `a text of ${range(min, max)} characters${pattern === undefined ? '' : ` that matches ${pattern.source}`}`
  return {
    isOptional: false,
    schema: {
      type: 'string',
      ...(min > 0 && { minLength: min }),
      maxLength: max,
      ...(pattern !== undefined && { pattern: pattern.source }),
    },
    read(value, path, issues) {
      return typeof value === 'string' &&
        value.length <= max &&
        value.length >= min &&
        value.isWellFormed() &&
        (pattern === undefined || pattern.test(value))
        ? value
        : wrong(path, expected, issues)
    },
  }
}

/** A whole number; both ends belong to it. */
export function whole(min: number, max: number): Shape<number> {
  assert(Number.isSafeInteger(min) && Number.isSafeInteger(max), 'bounds are safe whole numbers')
  const expected = `a whole number from ${min} to ${max}`
  return {
    isOptional: false,
    schema: { type: 'integer', minimum: min, maximum: max },
    read: (value, path, issues) =>
      typeof value === 'number' && Number.isSafeInteger(value) && value >= min && value <= max
        ? value + 0 // minus zero is zero
        : wrong(path, expected, issues),
  }
}

export function flag(): Shape<boolean> {
  return {
    isOptional: false,
    schema: { type: 'boolean' },
    read: (value, path, issues) =>
      typeof value === 'boolean' ? value : wrong(path, 'true or false', issues),
  }
}

export function oneOf<const T extends readonly string[]>(values: T): Shape<T[number]> {
  const expected = `one of ${values.join(', ')}`
  return {
    isOptional: false,
    schema: { type: 'string', enum: values },
    read: (value, path, issues) =>
      typeof value === 'string' && values.includes(value) ? value : wrong(path, expected, issues),
  }
}

export function listOf<T>(
  item: Shape<T>,
  options: Readonly<{ min?: number; max: number }>,
): Shape<readonly T[]> {
  const { min = 0, max } = options
  const expected = `a list of ${range(min, max)} items`
  return {
    isOptional: false,
    schema: { type: 'array', items: item.schema, ...(min > 0 && { minItems: min }), maxItems: max },
    read(value, path, issues) {
      if (!Array.isArray(value) || value.length < min || value.length > max)
        return wrong(path, expected, issues)
      const before = issues.length
      const result: T[] = []
      for (let at = 0; at < value.length; at++) {
        const sent: unknown = value[at]
        const known = issues.length
        const read = sent === undefined || sent === null ? undefined : item.read(sent, '', issues)
        if (read !== undefined) result.push(read)
        else if (issues.length === known) issues.push(missing('', item))
        if (issues.length > known) prefix(issues, known, `[${at}]`)
      }
      if (issues.length === before) return result
      prefix(issues, before, path)
      return undefined
    },
  }
}

export function optional<T>(of: Shape<T>): Shape<T | undefined>
export function optional<T>(of: Shape<T>, fallback: T): Shape<T>
export function optional<T>(of: Shape<T>, fallback?: T): Shape<T | undefined> {
  return {
    isOptional: true,
    schema: fallback === undefined ? of.schema : { ...of.schema, default: fallback },
    ...(fallback !== undefined && { fallback }),
    read: (value, path, issues) => of.read(value, path, issues),
  }
}

/** A reading of your own: `undefined` means wrong, `expected` completes "this must be …". */
export function custom<T>(
  options: Readonly<{
    schema: JsonSchema
    expected: string
    read: (value: unknown) => T | undefined
  }>,
): Shape<T> {
  const { schema, expected, read } = options
  return {
    isOptional: false,
    schema,
    read: (value, path, issues) => read(value) ?? wrong(path, expected, issues),
  }
}

/** `detail` has `missing` and `invalid`, both lists of paths, and `expected`, a text for each path. */
export function readShape<T>(
  of: Shape<T>,
  value: unknown,
): Readonly<{ ok: true; value: T }> | Fault<'bad-input'> {
  const issues: Issue[] = []
  const read = readAll(of, value, issues)
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- undefined comes with an issue
  return issues.length === 0 ? { ok: true, value: read as T } : badInput(issues)
}

/** Reads a whole value, which may be absent; an absent object is one without fields. */
export function readAll<T>(of: Shape<T>, value: unknown, issues: Issue[]): T | undefined {
  if (value !== undefined && value !== null) return of.read(value, '', issues)
  if (of.isOptional) return of.fallback
  const before = issues.length
  const read = of.schema['type'] === 'object' ? of.read({}, '', issues) : undefined
  if (read === undefined && issues.length === before) issues.push(missing('', of))
  return read
}

export function badInput(issues: readonly Issue[]): Fault<'bad-input'> {
  const named = issues.slice(0, ISSUES_NAMED_MAX)
  const paths = (problem: Issue['problem']): string[] =>
    named.filter((issue) => issue.problem === problem).map(({ path }) => path)
  return fault('bad-input', 'the request has fields that are missing or wrong', {
    missing: paths('missing'),
    invalid: paths('invalid'),
    expected: Object.fromEntries(named.map(({ path, expected }) => [path, expected])),
    ...(issues.length > named.length && { unnamed: issues.length - named.length }),
    remedy: 'send what is expected of the fields named here',
  })
}

function wrong(path: string, expected: string, issues: Issue[]): undefined {
  issues.push({ path, problem: 'invalid', expected })
  return undefined
}

// What is expected of a field is known to the shape alone, so it is asked to refuse something.
function missing(path: string, of: Shape<unknown>): Issue {
  const said: Issue[] = []
  of.read(NOTHING, '', said)
  return { path, problem: 'missing', expected: said[0]?.expected ?? 'a value' }
}

const NOTHING: unique symbol = Symbol('nothing')

function prefix(issues: Issue[], from: number, path: string): void {
  if (path === '') return
  for (let at = from; at < issues.length; at++) {
    const { path: rest, problem, expected } = issues[at]!
    const joint = rest === '' || rest.startsWith('[') ? '' : '.'
    issues[at] = { path: path + joint + rest, problem, expected }
  }
}

function refuseUnknown(
  value: Readonly<Record<string, unknown>>,
  names: readonly string[],
  issues: Issue[],
): void {
  for (const name of Object.keys(value)) {
    if (names.includes(name)) continue
    const near = nearest(name, names)
    wrong(
      name,
      near === undefined ? 'no such field' : `no such field; did you mean ${near}?`,
      issues,
    )
  }
}

/** The candidate that a slip of the keyboard may have meant: two letters differ, or a third of it. */
export function nearest(name: string, candidates: readonly string[]): string | undefined {
  let best: string | undefined
  let bestDistance = Infinity
  for (const candidate of candidates) {
    const distance = editsBetween(name.toLowerCase(), candidate.toLowerCase())
    const most = Math.min(Math.max(2, candidate.length / 3), candidate.length - 1)
    if (distance < bestDistance && distance <= most) [best, bestDistance] = [candidate, distance]
  }
  return best
}

function editsBetween(a: string, b: string): number {
  if (Math.abs(a.length - b.length) > b.length) return Infinity // and a long name costs nothing
  let row = Array.from({ length: b.length + 1 }, (_, at) => at)
  for (let i = 1; i <= a.length; i++) {
    const next = [i]
    for (let j = 1; j <= b.length; j++)
      next.push(
        Math.min(next[j - 1]! + 1, row[j]! + 1, row[j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1)),
      )
    row = next
  }
  return row[b.length]!
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function range(min: number, max: number): string {
  return min === 0 ? `at most ${max}` : min === max ? `exactly ${max}` : `${min} to ${max}`
}
