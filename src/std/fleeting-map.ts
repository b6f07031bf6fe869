/**
 * A map through which much passes and in which little stays.
 *
 * A `Map` leads from each table that it has outgrown to the next one, for the sake of its iterators. One
 * such table that the collector takes for lasting keeps everything alive that passed through the map
 * since, until a full collection. So this one goes on in a map of its own every so often, to which none
 * of the earlier ones leads.
 */

/** Entries that are taken in before it goes on in another map, or twice as many as it has then. */
const TAKEN_MIN = 256

export class FleetingMap<Key, Value> {
  #map = new Map<Key, Value>()
  #left: number = TAKEN_MIN

  get size(): number {
    return this.#map.size
  }

  get(key: Key): Value | undefined {
    return this.#map.get(key)
  }

  set(key: Key, value: Value): void {
    if (this.#left-- === 0) {
      this.#map = new Map(this.#map)
      this.#left = Math.max(TAKEN_MIN, 2 * this.#map.size)
    }
    this.#map.set(key, value)
  }

  delete(key: Key): boolean {
    return this.#map.delete(key)
  }

  /** An iteration is good until the next entry is set. */
  keys(): MapIterator<Key> {
    return this.#map.keys()
  }

  values(): MapIterator<Value> {
    return this.#map.values()
  }
}
