/**
 * Which lost event was which: positions that are missing, and versions that are missing in streams.
 *
 * The index by stream and version is a second witness, on other pages than the events themselves. It has
 * no check numbers, so it is believed only where it closes a gap exactly. A gap it says nothing about
 * is given missing positions from between its neighbours, the gap that ends first being served
 * first. That always works out: what really was there is one way to do it. What remains was at the end
 * of a stream, and nobody can say of which.
 */
import { Heap, type HeapItem } from '../../std/index.ts'
import { UNKNOWN_STREAM } from './lost.ts'

export type Lost = Readonly<{ position: number; stream: number; seq: number }>

/** Versions that are missing in a stream, `from` one `to` another, both included. */
export type Gap = Readonly<{
  stream: number
  from: number
  to: number
  /** Positions of the versions around it; at the end of a stream `before` is infinite. */
  after: number
  before: number
}>

export type Holes = Readonly<{
  /** Positions in ascending order. */
  missing: readonly number[]
  gaps: readonly Gap[]
  /** The last event of each stream that is there. */
  heads: ReadonlyMap<number, Readonly<{ seq: number; position: number }>>
}>

/** One for each missing position, in order; the gaps are closed. */
export function placeLost(holes: Holes, witnessed: readonly Lost[]): Lost[] {
  const placed = new Map<number, Lost>()
  const missing = new Set(holes.missing)
  const entries = new Map<number, Map<number, Lost>>()
  for (const entry of witnessed) {
    const ofStream = entries.get(entry.stream) ?? new Map<number, Lost>()
    entries.set(entry.stream, ofStream.set(entry.seq, entry))
  }
  const open = holes.gaps.filter((gap) => {
    const inside: Lost[] = []
    for (let seq = gap.from; seq <= gap.to; seq++) {
      const entry = entries.get(gap.stream)?.get(seq)
      if (entry === undefined) return true
      inside.push(entry)
    }
    return !believe(inside, gap)
  })
  const ended = new Set(
    holes.gaps.filter(({ before }) => before === Infinity).map((gap) => gap.stream),
  )
  for (const [stream, ofStream] of entries) {
    if (ended.has(stream)) continue
    let head = holes.heads.get(stream) ?? { seq: 0, position: 0 }
    for (;;) {
      const next = ofStream.get(head.seq + 1)
      if (!next || !believe([next], { after: head.position, before: Infinity })) break
      head = next
    }
  }
  const closed = closeGaps({ ...holes, gaps: open }, placed)
  return closed ?? closeGaps(holes, new Map()) ?? []

  function believe(inside: readonly Lost[], gap: Pick<Gap, 'after' | 'before'>): boolean {
    let last = gap.after
    for (const { position } of inside) {
      const fits = position > last && position < gap.before
      if (!fits || !missing.has(position) || placed.has(position)) return false
      last = position
    }
    for (const entry of inside) placed.set(entry.position, entry)
    return true
  }
}

class OpenGap implements HeapItem {
  heapIndex = -1
  readonly gap: Gap
  seq: number

  constructor(gap: Gap) {
    this.gap = gap
    this.seq = gap.from
  }
}

/** `undefined` if what is placed already leaves a gap that cannot be closed. */
function closeGaps(holes: Holes, placed: ReadonlyMap<number, Lost>): Lost[] | undefined {
  const later = holes.gaps.toSorted((a, b) => b.after - a.after) // the next one to begin is the last
  const pressed = new Heap<OpenGap>((a, b) => a.gap.before < b.gap.before)
  const lost: Lost[] = []
  let unknown = 0
  for (const position of holes.missing) {
    while (later.length > 0 && later.at(-1)!.after < position)
      pressed.push(new OpenGap(later.pop()!))
    const known = placed.get(position)
    const first = pressed.peek()
    if (known !== undefined) lost.push(known)
    else if (first === undefined) {
      unknown += 1
      lost.push({ position, stream: UNKNOWN_STREAM, seq: unknown })
    } else {
      if (first.gap.before <= position) return undefined
      lost.push({ position, stream: first.gap.stream, seq: first.seq })
      first.seq += 1
      if (first.seq > first.gap.to) pressed.pop()
    }
  }
  return pressed.size === 0 && later.length === 0 ? lost : undefined
}
