/**
 * The state of one entity as the fold of its events, in memory.
 *
 * Without `effectiveAt` it is a plain left fold and keeps no event. With it, events are folded in order
 * of effect, (effectiveAt, seq): the fold keeps the latest of them in a window and the states in between
 * at distances that double, so that a late event refolds from just below its place. Below the window
 * nothing is known any more, and a late event from there has to be folded from the journal.
 *
 * What must stay true: the state is the fold of events 1 to `version` in their order, whatever way they
 * came. A fold whose `evolve` throws is as it was. States and events are values that nobody changes,
 * which is what makes a fork cheap.
 */
import type { Snapshot } from '../../journal/index.ts'
import { assert } from '../../std/index.ts'
import { streamOf, unknownEvent, type Folding } from './codec.ts'

/** An event in its place; events with the same time of effect are in the order of the stream. */
export type Entry<Event> = Readonly<{ event: Event; seq: number; at: number }>

/** The state after the first `n` events of the window. */
type Mark<State> = Readonly<{ n: number; state: State }>

/** Events an active entity keeps so that late ones find their place. */
export const FOLD_WINDOW_MAX = 64

export class Fold<State, Event> {
  declare readonly definition: Folding<State, Event>
  declare readonly id: string
  declare state: State
  /** Events folded; the last of them in the order of the stream has this number. */
  declare version: number
  /** The latest time of effect among them, and the last event that has it. */
  declare topAt: number
  declare topSeq: number
  /** How many events the newest snapshot covers. */
  declare rungSeq: number
  /** How often a late event was put in its place. */
  declare refolds: number
  /** The time of effect up to which nothing is known in detail. */
  #baseAt: number
  /** Its first `#count` events; those behind them are of a fork. */
  #window: Entry<Event>[]
  #count: number
  /** The first is the state below the window. */
  #marks: Mark<State>[]
  /** Whether a fork looks at the same marks. */
  #shared: boolean

  /** From a snapshot, or as another fold is, or from the beginning. */
  constructor(definition: Folding<State, Event>, id: string, from?: Snapshot | Fold<State, Event>) {
    this.definition = definition
    this.id = id
    if (from instanceof Fold) {
      this.state = from.state
      this.version = from.version
      this.topAt = from.topAt
      this.topSeq = from.topSeq
      this.rungSeq = from.rungSeq
      this.refolds = from.refolds
      this.#baseAt = from.#baseAt
      this.#window = from.#window
      this.#count = from.#count
      this.#marks = from.#marks
      this.#shared = from.#shared = true
    } else {
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- written by the same fold
      this.state = from === undefined ? definition.initial(id) : (JSON.parse(from.state) as State)
      this.version = from?.seq ?? 0
      this.topAt = from?.topAt ?? Number.MIN_SAFE_INTEGER
      this.topSeq = from?.topSeq ?? 0
      this.rungSeq = this.version
      this.refolds = 0
      this.#baseAt = this.topAt
      this.#window = []
      this.#count = 0
      this.#marks = [{ n: 0, state: this.state }]
      this.#shared = false
    }
  }

  get eventsSinceRung(): number {
    return this.version - this.rungSeq
  }

  /** The next event of the stream; `at` is its time of effect. `'beyond'` leaves everything as it was. */
  apply(event: Event, seq: number, at: number): 'folded' | 'beyond' {
    assert(seq === this.version + 1, 'events are folded in the order of the stream, without a gap')
    // Its number is larger than any other, so among equals it is the last.
    if (at >= this.topAt) this.#append({ event, seq, at })
    else if (this.definition.effectiveAt === undefined)
      this.state = this.#evolved(this.state, { event, seq, at })
    else if (at >= this.#baseAt) this.#insert({ event, seq, at })
    else return 'beyond'
    this.version = seq
    return 'folded'
  }

  /** Everything after the rung at once, sorted by place; `version` is the largest number among it. */
  resume(entries: readonly Entry<Event>[], version: number): void {
    for (const entry of entries) this.#append(entry)
    this.version = version
  }

  /** The same fold, which from here on goes its own way. */
  fork(): Fold<State, Event> {
    return new Fold(this.definition, this.id, this)
  }

  #evolved(state: State, { event, seq }: Entry<Event>): State {
    try {
      return this.definition.evolve(state, event)
    } catch (cause) {
      const { definition, id } = this
      const place = { stream: streamOf({ type: definition.type, id }), seq, type: typeOf(event) }
      throw unknownEvent(place, 'cannot be folded', { remedy: 'let evolve know it' }, cause)
    }
  }

  #append(entry: Entry<Event>): void {
    const before = this.state
    this.state = this.#evolved(before, entry)
    this.topAt = entry.at
    this.topSeq = entry.seq
    if (this.definition.effectiveAt === undefined) return
    // Whoever shares the window looks no further than its own events.
    if (this.#window.length > this.#count) this.#window = this.#window.slice(0, this.#count)
    if (this.#shared) this.#marks = this.#marks.slice()
    this.#shared = false
    // The mark at 0 is there from the beginning.
    if (this.#count > 0) this.#marks.push({ n: this.#count, state: before })
    this.#window.push(entry)
    this.#count++
    this.#tidy()
  }

  #insert(entry: Entry<Event>): void {
    const window = this.#window.slice(0, this.#count)
    const place = window.findLastIndex(({ at }) => at <= entry.at) + 1
    window.splice(place, 0, entry)
    const marks = this.#marks.filter(({ n }) => n <= place)
    let { n, state } = marks.pop()!
    for (; n < window.length; n++) {
      marks.push({ n, state })
      state = this.#evolved(state, window[n]!)
    }
    this.state = state
    this.#window = window
    this.#count = window.length
    this.#marks = marks
    this.#shared = false
    this.refolds += 1
    this.#tidy()
  }

  #tidy(): void {
    thin(this.#marks, this.#count)
    if (this.#count > FOLD_WINDOW_MAX) this.#slide()
  }

  /** Gives up the older half of the window, as far as a mark reaches into it. */
  #slide(): void {
    const base = this.#marks.findLast(({ n }) => n <= this.#count - FOLD_WINDOW_MAX / 2)!
    this.#baseAt = this.#window[base.n - 1]!.at
    this.#window = this.#window.slice(base.n, this.#count)
    this.#count = this.#window.length
    this.#marks = this.#marks
      .filter(({ n }) => n >= base.n)
      .map(({ n, state }) => ({ n: n - base.n, state }))
  }
}

/** Leaves out every mark whose neighbours are no further apart, seen from the top, than one to two. */
function thin(marks: Mark<unknown>[], top: number): void {
  let kept = marks.length - 1
  for (let i = marks.length - 2; i >= 0; i--) {
    if (i > 0 && top - marks[i - 1]!.n <= 2 * (top - marks[kept]!.n)) continue
    marks[--kept] = marks[i]!
  }
  if (kept > 0) marks.splice(0, kept)
}

function typeOf(event: unknown): string {
  const named = typeof event === 'object' && event !== null && 'type' in event
  return named ? String(event.type) : 'of no type'
}
