/** Any value as a person wants to read it in a failed test: refs by their path, depth and length bounded. */
import { inspect, types } from 'node:util'

const DEPTH = 8
const ELEMENTS = 100
const TEXT_CHARS = 4_000

/** Several lines where one would be too long. */
export function show(value: unknown): string {
  const text = inspect(readable(value, []), {
    depth: DEPTH,
    maxArrayLength: ELEMENTS,
    maxStringLength: TEXT_CHARS,
    breakLength: 90,
  })
  return text.length > TEXT_CHARS ? `${text.slice(0, TEXT_CHARS)}…` : text
}

/** Whether a value can be told things: it is then compared by identity and named by its path. */
export function isRef(value: unknown): value is Readonly<{ path: string }> {
  return (
    typeof value === 'object' &&
    value !== null &&
    'tell' in value &&
    typeof value.tell === 'function' &&
    'path' in value &&
    typeof value.path === 'string'
  )
}

/** Whether nothing but properties makes the object: literals, and those without a prototype. */
export function isRecord(value: unknown): value is Readonly<Record<PropertyKey, unknown>> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false
  const kind: unknown = Object.getPrototypeOf(value)
  return kind === null || Object.getPrototypeOf(kind) === null
}

/** An error of any realm: test runners have several. */
export function isError(value: unknown): value is Error {
  return types.isNativeError(value)
}

class Text {
  readonly #text: string

  constructor(text: string) {
    this.#text = text
  }

  [inspect.custom](): string {
    return this.#text
  }
}

/** A copy in which whatever would print its whole world is a text. */
function readable(value: unknown, path: readonly object[]): unknown {
  if (typeof value !== 'object' || value === null) return value
  if (isRef(value)) return new Text(`ref ${value.path}`)
  if (types.isProxy(value)) return new Text('[proxy]')
  if (path.includes(value)) return new Text('[cyclic]')
  if (path.length > DEPTH) return new Text('[…]')
  const below = [...path, value]
  if (Array.isArray(value)) return value.slice(0, ELEMENTS + 1).map((each) => readable(each, below))
  if (types.isMap(value)) {
    return new Map([...value].map(([key, held]) => [readable(key, below), readable(held, below)]))
  }
  if (types.isSet(value)) return new Set([...value].map((each) => readable(each, below)))
  if (isError(value)) return new Text(`${value.name}: ${value.message}`)
  if (!isRecord(value)) return new Text(inspect(value, { depth: 0, breakLength: Infinity }))
  return Object.fromEntries(
    Object.entries(value).map(([key, held]) => [key, readable(held, below)]),
  )
}
