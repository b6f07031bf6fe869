/**
 * Any value at all as data that JSON can say, for people to read.
 *
 * Reading never throws and has a bound: the value may be cyclic, huge or hostile (a getter, a proxy,
 * a `toJSON` that throws). What is left out is named in square brackets where it stood. It is for
 * looking at, not for reading back.
 */

/** Longer texts are cut. */
export const PLAIN_TEXT_CHARS_MAX = 8_192
/** Objects and arrays nested deeper are named, not shown. */
export const PLAIN_DEPTH_MAX = 8
/** How many properties and elements are shown in all. */
export const PLAIN_VALUES_MAX = 512

export type PlainFields = Record<string, unknown>

type Walk = { valuesLeft: number; readonly path: object[] }

/** The enumerable properties of `fields`, each one plain. */
export function plainFields(
  fields: object | undefined,
  valuesMax: number = PLAIN_VALUES_MAX,
): PlainFields {
  if (fields === undefined) return {}
  try {
    return properties(fields, { valuesLeft: valuesMax, path: [fields] })
  } catch {
    return { fields: '[unreadable]' }
  }
}

/** What is not a text although the compiler was promised one is named, not converted: that may throw. */
export function plainText(text: string): string {
  if (typeof text !== 'string') return `[${typeof text}]`
  const over = text.length - PLAIN_TEXT_CHARS_MAX
  return over > 0 ? `${text.slice(0, PLAIN_TEXT_CHARS_MAX)}[${over} more]` : text
}

function plain(value: unknown, walk: Walk): unknown {
  switch (typeof value) {
    case 'string':
      return plainText(value)
    case 'number':
      return Number.isFinite(value) ? value : String(value)
    case 'bigint':
    case 'symbol':
      return plainText(String(value))
    case 'function':
      return '[function]'
    case 'object':
      return value === null ? null : composite(value, walk)
    case 'boolean':
    case 'undefined':
      return value
  }
}

function composite(value: object, walk: Walk): unknown {
  if (walk.path.includes(value)) return '[cyclic]'
  if (value instanceof Map || value instanceof Set) return `[${value.size} entries]`
  if (ArrayBuffer.isView(value)) return `[${value.byteLength} bytes]`
  if (walk.path.length > PLAIN_DEPTH_MAX) return Array.isArray(value) ? '[array]' : '[object]'
  walk.path.push(value)
  try {
    if ('toJSON' in value && typeof value.toJSON === 'function') return plain(value.toJSON(), walk)
    if (Array.isArray(value)) return elements(value, walk)
    return value instanceof Error ? errorProperties(value, walk) : properties(value, walk)
  } finally {
    walk.path.pop()
  }
}

function elements(values: readonly unknown[], walk: Walk): unknown[] {
  const shown: unknown[] = []
  for (let i = 0; i < values.length; i++) {
    if (walk.valuesLeft <= 0) {
      shown.push(`[${values.length - i} more]`)
      break
    }
    shown.push(property(values, i, walk))
  }
  return shown
}

function properties(value: object, walk: Walk): PlainFields {
  const shown: PlainFields = { __proto__: null } // so that a property named __proto__ is just one more
  const names = Object.keys(value)
  for (const [i, name] of names.entries()) {
    if (walk.valuesLeft <= 0) {
      shown['...'] = `[${names.length - i} more]`
      break
    }
    shown[plainText(name)] = property(value, name, walk)
  }
  return shown
}

// What people look for first in an error is not enumerable.
function errorProperties(error: Error, walk: Walk): PlainFields {
  const head: PlainFields = {}
  for (const name of ['name', 'message', 'stack', 'cause'])
    if (name in error) head[name] = property(error, name, walk)
  return { ...properties(error, walk), ...head }
}

function property(of: object, key: PropertyKey, walk: Walk): unknown {
  walk.valuesLeft -= 1
  try {
    return plain(Reflect.get(of, key), walk)
  } catch {
    return '[unreadable]'
  }
}
