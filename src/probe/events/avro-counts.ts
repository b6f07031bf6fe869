/**
 * Holds what bytes in Avro claim to have against what they are.
 *
 * A list says how many items follow, and the library believes it: five bytes can ask for a thousand
 * million items, which take no byte where they are null, and hold up everybody until memory is over. Here
 * all lists and maps of one event have no more items than the event has bytes, and a few that take none.
 * The library freezes its types, so it is its prototypes that learn to count; whoever reads without
 * `countedFor` is not bounded.
 */
/* oxlint-disable no-underscore-dangle -- the names that the library gives them */
import type Package from 'avsc'

/** What the library reads from, as far as it is needed here. */
type Tap = Readonly<{ readLong: () => number; skipLong: () => void; readString: () => string }>

/** `_read` and `_skip` are how the library takes a value off its bytes. */
type Methods = { _read: (this: Parts, tap: Tap) => unknown; _skip: (this: Parts, tap: Tap) => void }
type Part = Readonly<{ _read: (tap: Tap) => unknown; _skip: (tap: Tap) => void }>
/** A list has the one, a map the other. */
type Parts = Readonly<{ itemsType: Part; valuesType: Part }>

const EMPTY_ITEMS_MAX = 1_000

/** Items that may still be read; an event is read in one turn, so one number serves all. */
let left = Infinity

export function countedFor<T>(bytes: number, read: () => T): T {
  left = bytes + EMPTY_ITEMS_MAX
  try {
    return read()
  } finally {
    left = Infinity
  }
}

/** The library, whose lists and maps count what they read. */
export function counting(avsc: typeof Package): typeof Package {
  const { ArrayType, MapType } = avsc.types
  Object.assign(ArrayType.prototype, {
    _read(tap) {
      const items: unknown[] = []
      eachIn(tap, () => items.push(this.itemsType._read(tap)))
      return items
    },
    _skip(tap) {
      eachIn(tap, () => this.itemsType._skip(tap))
    },
  } satisfies Methods & ThisType<Parts>)
  Object.assign(MapType.prototype, {
    _read(tap) {
      const entries: [string, unknown][] = []
      eachIn(tap, () => entries.push([tap.readString(), this.valuesType._read(tap)]))
      return Object.fromEntries(entries)
    },
    _skip(tap) {
      eachIn(tap, () => {
        tap.readString()
        this.valuesType._skip(tap)
      })
    },
  } satisfies Methods & ThisType<Parts>)
  return avsc
}

/** Items come in blocks, the last of which is empty. */
function eachIn(tap: Tap, take: () => unknown): void {
  for (let count = countOf(tap); count > 0; count = countOf(tap))
    for (let n = 0; n < count; n += 1) take()
}

/** Of the next block; a negative one is followed by the size of the block. */
function countOf(tap: Tap): number {
  const count = tap.readLong()
  if (count < 0) tap.skipLong()
  left -= Math.abs(count)
  if (left < 0) throw new Error('it claims to have more items than it has bytes')
  return Math.abs(count)
}
