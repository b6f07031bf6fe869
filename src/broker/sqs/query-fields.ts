/**
 * The fields of the query protocol: pairs of name and value, form-encoded. What belongs together shares the
 * beginning of its name, and lists are counted from one.
 */
import { SqsError } from './errors.ts'
import { SQS_FIELD_NAME_CHARS_MAX, SQS_FIELDS_MAX } from './limits.ts'

export class QueryFields {
  readonly #values = new Map<string, string>()
  /** Everything a name begins with, up to a dot. */
  readonly #beginnings = new Set<string>()

  /** May be told more than once; a name that was there keeps its first value. */
  add(encoded: string): void {
    for (const pair of encoded.split('&')) {
      if (pair === '') continue
      const at = pair.indexOf('=')
      const name = decoded(at === -1 ? pair : pair.slice(0, at))
      if (name.length > SQS_FIELD_NAME_CHARS_MAX) throw malformed('a name is too long')
      if (this.#values.has(name)) continue
      if (this.#values.size === SQS_FIELDS_MAX) throw malformed('there are too many fields')
      this.#values.set(name, at === -1 ? '' : decoded(pair.slice(at + 1)))
      for (let dot = name.indexOf('.'); dot !== -1; dot = name.indexOf('.', dot + 1))
        this.#beginnings.add(name.slice(0, dot))
    }
  }

  get(name: string): string | undefined {
    return this.#values.get(name)
  }

  /** Whether there is a field of that name, or one that begins with it and a dot. */
  has(name: string): boolean {
    return this.#values.has(name) || this.#beginnings.has(name)
  }

  /** The items of a list, by what their names begin with. */
  *indexes(list: string): Iterable<string> {
    for (let index = 1; ; index++) {
      const name = `${list}.${index}`
      if (!this.has(name)) return
      yield name
    }
  }
}

function decoded(encoded: string): string {
  if (!/[%+]/.test(encoded)) return encoded
  try {
    return decodeURIComponent(encoded.replaceAll('+', ' '))
  } catch {
    throw malformed('a field is not properly encoded')
  }
}

function malformed(reason: string): SqsError {
  return new SqsError('MalformedInput', `The query cannot be read: ${reason}.`)
}
