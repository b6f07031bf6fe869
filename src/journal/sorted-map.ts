/**
 * A map whose keys are walked in the order of their UTF-8 bytes.
 *
 * Keys stand in runs of bounded length, so that one more costs a search and a short move however many
 * there are. Reading one by key does not touch the order.
 */
const RUN_MAX = 512

export class SortedMap<V> {
  readonly #values = new Map<string, V>()
  /** No run is empty, except the first of an empty map. */
  readonly #runs: string[][] = [[]]

  get size(): number {
    return this.#values.size
  }

  get(key: string): V | undefined {
    return this.#values.get(key)
  }

  set(key: string, value: V): void {
    if (!this.#values.has(key)) this.#insert(key)
    this.#values.set(key, value)
  }

  delete(key: string): boolean {
    if (!this.#values.delete(key)) return false
    const at = this.#runOf(key)
    const run = this.#runs[at]!
    run.splice(firstAtLeast(run, key), 1)
    if (run.length === 0 && this.#runs.length > 1) this.#runs.splice(at, 1)
    return true
  }

  /** Up to `limit` entries whose key begins with `prefix` and stands behind `after`. */
  page(prefix: string, after: string | undefined, limit: number): [string, V][] {
    const found: [string, V][] = []
    const isAfterPrefix = after !== undefined && compareBytes(after, prefix) >= 0
    const from = isAfterPrefix ? after : prefix
    for (let at = this.#runOf(from); at < this.#runs.length; at++) {
      const run = this.#runs[at]!
      for (let n = firstAtLeast(run, from); n < run.length; n++) {
        const key = run[n]!
        if (isAfterPrefix && key === after) continue
        if (found.length === limit || !key.startsWith(prefix)) return found
        found.push([key, this.#values.get(key)!])
      }
    }
    return found
  }

  #insert(key: string): void {
    const at = this.#runOf(key)
    const run = this.#runs[at]!
    run.splice(firstAtLeast(run, key), 0, key)
    if (run.length > RUN_MAX) this.#runs.splice(at + 1, 0, run.splice(RUN_MAX / 2))
  }

  /** The last run that begins at or before the key, or the first. */
  #runOf(key: string): number {
    let low = 0
    let high = this.#runs.length - 1
    while (low < high) {
      const middle = (low + high + 1) >> 1
      if (compareBytes(this.#runs[middle]![0]!, key) <= 0) low = middle
      else high = middle - 1
    }
    return low
  }
}

/**
 * Well-formed texts in the order of their UTF-8 bytes. UTF-16 has the same order but for one thing:
 * code units of surrogates are below those from U+E000, the characters they stand for are above.
 */
export function compareBytes(a: string, b: string): number {
  const shorter = Math.min(a.length, b.length)
  for (let n = 0; n < shorter; n++) {
    const x = a.charCodeAt(n)
    const y = b.charCodeAt(n)
    if (x !== y) return isSurrogate(x) === isSurrogate(y) || Math.min(x, y) < 0xd800 ? x - y : y - x
  }
  return a.length - b.length
}

function isSurrogate(unit: number): boolean {
  return unit >= 0xd800 && unit <= 0xdfff
}

function firstAtLeast(run: readonly string[], key: string): number {
  let low = 0
  let high = run.length
  while (low < high) {
    const middle = (low + high) >> 1
    if (compareBytes(run[middle]!, key) < 0) low = middle + 1
    else high = middle
  }
  return low
}
