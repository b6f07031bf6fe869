/**
 * Things that pass: each is found by its key until it has left, and they leave in the order in which
 * they came.
 *
 * None is deleted by itself. All that came since the last turn is in one map, all that came before it in
 * another, which is dropped as a whole once everything in it has left: to delete one at a time, and to
 * copy maps that have grown, was a tenth of what it costs to file a record.
 */

export type Passer = {
  /** Whether it is found: it is here, and nothing has come in its place. */
  isLatest: boolean
}

type Keyed<T> = Map<string, Map<string, T>>

export class Passing<T extends Passer> {
  #newer: Keyed<T> = new Map()
  #older: Keyed<T> = new Map()

  get(of: string, key: string): T | undefined {
    const item = this.#newer.get(of)?.get(key) ?? this.#older.get(of)?.get(key)
    return item?.isLatest === true ? item : undefined
  }

  /** From here on this one is found. */
  set(of: string, key: string, item: T): void {
    const before = this.get(of, key)
    if (before !== undefined) before.isLatest = false
    let some = this.#newer.get(of)
    if (some === undefined) this.#newer.set(of, (some = new Map()))
    some.set(key, item)
  }

  *values(of: string): Iterable<T> {
    for (const keyed of [this.#older, this.#newer])
      for (const item of keyed.get(of)?.values() ?? []) if (item.isLatest) yield item
  }

  /** All that came before the last turn has left. */
  turn(): void {
    this.#older = this.#newer
    this.#newer = new Map()
  }
}
