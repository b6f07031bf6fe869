/**
 * Those that are owed an answer. Each knows its place among them, so that none has to be looked for: a
 * set would cost every request more, and keep those that have left (see `FleetingMap`).
 */

export interface Placed {
  /** Below 0 while it is not pending. */
  place: number
}

export class Pending<One extends Placed> {
  readonly #all: One[] = []

  get size(): number {
    return this.#all.length
  }

  /** Without effect where it is pending already. */
  add(one: One): void {
    if (one.place < 0) one.place = this.#all.push(one) - 1
  }

  /** Without effect where it is not pending. */
  delete(one: One): void {
    const { place } = one
    if (place < 0) return
    const last = this.#all.pop()!
    if (last !== one) {
      this.#all[place] = last
      last.place = place
    }
    one.place = -1
  }

  /** All that are pending now; what becomes of them meanwhile does not matter. */
  all(): readonly One[] {
    return this.#all.slice()
  }

  clear(): void {
    for (const one of this.all()) this.delete(one)
  }
}
