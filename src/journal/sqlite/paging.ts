/**
 * Pages of names and keys by prefix, in the order of their UTF-8 bytes, from a table and from the desk
 * at once. SQLite compares texts by their bytes, so an end that no text reaches is a byte that no text
 * has.
 */
import { compareBytes } from '../sorted-map.ts'

export type Span = Readonly<{
  /** Where the page begins. */
  from: string
  /** Whether what stands there is not part of it. */
  isAfter: boolean
  /** What is not before these bytes is not part of it. */
  end: Uint8Array
  has(key: string): boolean
}>

const BEHIND_ALL = 0xff

export function spanOf(prefix: string, after: string | undefined): Span {
  const isAfter = after !== undefined && compareBytes(after, prefix) >= 0
  return {
    from: isAfter ? after : prefix,
    isAfter,
    end: Buffer.concat([Buffer.from(prefix), Buffer.of(BEHIND_ALL)]),
    has: (key) => key.startsWith(prefix) && (after === undefined || compareBytes(key, after) > 0),
  }
}

/** The texts of two statements, for a span with its beginning and for one without. */
export function pageTexts(from: string, key: string, columns = '*'): readonly [string, string] {
  const text = (is: '>=' | '>'): string =>
    `select ${columns} from ${from} ${key} ${is} ? and ${key} < cast(? as text) order by ${key}`
  return [text('>='), text('>')]
}

/** Keys of rows and keys on the desk, each once and in order; a key of a row comes with it. */
export function* merged<Row>(
  rows: Iterable<Row>,
  keyOf: (row: Row) => string,
  laid: readonly string[],
): Iterable<readonly [key: string, row?: Row]> {
  let at = 0
  for (const row of rows) {
    const key = keyOf(row)
    while (at < laid.length && compareBytes(laid[at]!, key) < 0) yield [laid[at++]!]
    if (laid[at] === key) at++
    yield [key, row]
  }
  while (at < laid.length) yield [laid[at++]!]
}
