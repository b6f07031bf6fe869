/**
 * Which test runs next. It knows the tests that have an actor, and nothing of actors.
 *
 *   add: Setup ── enqueue: in line ── ready: loaded, in line ── next: runs ── finish ── remove
 *
 * What must stay true: whoever has left is nowhere any more; no more run than there are slots; no name
 * is held by two; while a slot is free and a test is ready whose names are free, `next` gives one; the
 * counts add up. No operation looks at all tests: each is constant, or logarithmic in those in line.
 *
 * With `first-ready` the first in line that is ready goes; with `strict` nobody goes before the head.
 * One that is ready but waits for a name stands aside at that name, so that it is not looked at again
 * and again. When the name becomes free the first of those comes back; if it finds another of its names
 * taken, it lets the next one come.
 */
import { assert, Heap, type HeapItem } from '../std/index.ts'
import { Line, type LineItem } from './line.ts'
import { TEST_PRIORITY_MAX } from './limits.ts'
import type { QueueMode } from './protocol.ts'
import type { RecordedState } from './record.ts'

export type Policy = 'first-ready' | 'strict'
export type ScheduleOptions = Readonly<{ slots: number; policy: Policy; depth: number }>
export type Counts = Readonly<Record<RecordedState, number>>

/** Share of the latest duration in what tests are thought to take. */
const LATEST_SHARE = 0.2

export class Schedule {
  readonly options: ScheduleOptions
  mode: QueueMode = 'open'
  readonly #tests = new Map<string, Entry>()
  /** One line for each priority. */
  readonly #lines: readonly Line<Entry>[]
  #pending = 0
  /** Those that a place in line is kept for until they join. */
  readonly #expected = new Set<string>()
  #joins = 0
  readonly #ready = new Heap<Entry>(goesBefore)
  readonly #running = new Set<Entry>()
  readonly #holders = new Map<string, Entry>()
  readonly #aside = new Map<string, Heap<Entry>>()
  readonly #counts: Record<RecordedState, number> = {
    Setup: 0,
    Loading: 0,
    Loaded: 0,
    Testing: 0,
    Completed: 0,
    Exception: 0,
  }
  #typicalMs: number | undefined

  constructor(options: ScheduleOptions) {
    this.options = options
    this.#lines = Array.from({ length: TEST_PRIORITY_MAX + 1 }, () => new Line<Entry>())
  }

  get size(): number {
    return this.#tests.size
  }

  get pending(): number {
    return this.#pending
  }

  get running(): number {
    return this.#running.size
  }

  /** Who runs, for longest first. */
  get testing(): readonly string[] {
    return Array.from(this.#running, ({ testId }) => testId)
  }

  get counts(): Counts {
    return { ...this.#counts }
  }

  get isFull(): boolean {
    return this.#pending + this.#expected.size >= this.options.depth
  }

  has(testId: string): boolean {
    return this.#tests.has(testId)
  }

  stateOf(testId: string): RecordedState | undefined {
    return this.#tests.get(testId)?.state
  }

  isPending(testId: string): boolean {
    return (this.#tests.get(testId)?.lineIndex ?? -1) >= 0
  }

  isExpected(testId: string): boolean {
    return this.#expected.has(testId)
  }

  isRunning(testId: string): boolean {
    const entry = this.#tests.get(testId)
    return entry !== undefined && this.#running.has(entry)
  }

  priorityOf(testId: string): number {
    return this.#tests.get(testId)?.priority ?? 0
  }

  /** From 1, the next to run; undefined for one that is not in line. */
  position(testId: string): number | undefined {
    const entry = this.#tests.get(testId)
    if (entry === undefined || entry.lineIndex < 0) return undefined
    return this.#above(entry.priority) + this.#lines[entry.priority]!.rank(entry) + 1
  }

  /** What it would be for one that joins now. */
  lastPosition(priority: number): number {
    return this.#above(priority) + this.#lines[priority]!.size + 1
  }

  /** How long whoever has this position will wait, if all take as long as those before. */
  estimateMs(position: number): number | undefined {
    if (this.#typicalMs === undefined) return undefined
    const ahead = position - 1 + this.#running.size
    return Math.round(Math.floor(ahead / this.options.slots) * this.#typicalMs)
  }

  add(testId: string, priority = 0, state: RecordedState = 'Setup'): void {
    assert(!this.#tests.has(testId), 'a test is added once')
    this.#tests.set(testId, new Entry(testId, priority, state))
    this.#counts[state]++
  }

  /** It will join the line, or `forgo` that: its place is taken from here on. */
  expect(testId: string): void {
    assert(this.#tests.has(testId), 'who is expected is in the schedule')
    this.#expected.add(testId)
  }

  forgo(testId: string): void {
    this.#expected.delete(testId)
  }

  /** Joins the line, behind all of its priority. */
  enqueue(testId: string, priority: number): void {
    const entry = this.#entry(testId)
    assert(entry.lineIndex < 0 && !this.#running.has(entry), 'a test stands in line once')
    entry.priority = priority
    entry.joined = this.#joins++
    entry.isReady = false
    this.#lines[priority]!.append(entry)
    this.#pending++
    this.#expected.delete(testId)
  }

  /** It could run, and will hold these names meanwhile. False where it does not stand in line. */
  ready(testId: string, keys: readonly string[]): boolean {
    const entry = this.#tests.get(testId)
    if (entry === undefined || entry.lineIndex < 0 || entry.isReady) return false
    entry.isReady = true
    entry.keys = [...new Set(keys)]
    if (this.options.policy === 'first-ready') this.#ready.push(entry)
    return true
  }

  mark(testId: string, state: RecordedState): void {
    const entry = this.#entry(testId)
    this.#counts[entry.state]--
    entry.state = state
    this.#counts[state]++
  }

  /** Takes the next out of the line; from here on it runs. */
  next(): string | undefined {
    if (this.mode !== 'open' || this.#running.size >= this.options.slots) return undefined
    const entry = this.options.policy === 'strict' ? this.#readyHead() : this.#firstReady()
    if (entry === undefined) return undefined
    this.#leaveLine(entry)
    entry.calledBy = undefined
    for (const key of entry.keys) this.#holders.set(key, entry)
    this.#running.add(entry)
    this.mark(entry.testId, 'Testing')
    return entry.testId
  }

  /** Leaves the line, if it stands there. One that runs has its slot until it has finished. */
  withdraw(testId: string): void {
    const entry = this.#entry(testId)
    if (entry.lineIndex >= 0) this.#release(entry)
  }

  /** It neither stands in line nor runs any more. */
  finish(testId: string, state: RecordedState): void {
    this.#release(this.#entry(testId))
    this.mark(testId, state)
  }

  remove(testId: string): void {
    const entry = this.#tests.get(testId)
    if (entry === undefined) return
    this.#release(entry)
    this.#counts[entry.state]--
    this.#tests.delete(testId)
    this.#expected.delete(testId)
  }

  /** How long a test ran. */
  noteDuration(ms: number): void {
    const before = this.#typicalMs ?? ms
    this.#typicalMs = before + LATEST_SHARE * (ms - before)
  }

  #above(priority: number): number {
    let count = 0
    for (let above = priority + 1; above <= TEST_PRIORITY_MAX; above++)
      count += this.#lines[above]!.size
    return count
  }

  #entry(testId: string): Entry {
    const entry = this.#tests.get(testId)
    assert(entry !== undefined, `the test ${testId} is in the schedule`)
    return entry
  }

  #readyHead(): Entry | undefined {
    for (let priority = TEST_PRIORITY_MAX; priority >= 0; priority--) {
      const { head } = this.#lines[priority]!
      if (head === undefined) continue
      return head.isReady && this.#takenOf(head) === undefined ? head : undefined
    }
    return undefined
  }

  #firstReady(): Entry | undefined {
    for (let entry = this.#ready.pop(); entry !== undefined; entry = this.#ready.pop()) {
      const taken = this.#takenOf(entry)
      if (taken === undefined) return entry
      this.#standAside(entry, taken)
    }
    return undefined
  }

  /** A name of its that somebody else holds. */
  #takenOf({ keys }: Entry): string | undefined {
    return keys.find((key) => this.#holders.has(key))
  }

  #standAside(entry: Entry, key: string): void {
    let waiting = this.#aside.get(key)
    if (waiting === undefined) {
      waiting = new Heap<Entry>(goesBefore)
      this.#aside.set(key, waiting)
    }
    waiting.push(entry)
    entry.asideAt = key
    this.#callAnother(entry)
  }

  /** It was called because a name had become free, and has not taken it. */
  #callAnother(entry: Entry): void {
    const key = entry.calledBy
    entry.calledBy = undefined
    if (key !== undefined && !this.#holders.has(key)) this.#call(key)
  }

  #call(key: string): void {
    const waiting = this.#aside.get(key)
    const entry = waiting?.pop()
    if (waiting?.size === 0) this.#aside.delete(key)
    if (entry === undefined) return
    entry.asideAt = undefined
    entry.calledBy = key
    this.#ready.push(entry)
  }

  #leaveLine(entry: Entry): void {
    if (this.#lines[entry.priority]!.remove(entry)) this.#pending--
    entry.isReady = false
  }

  #release(entry: Entry): void {
    this.#leaveLine(entry)
    this.#ready.remove(entry)
    if (entry.asideAt !== undefined) this.#leaveAside(entry, entry.asideAt)
    this.#callAnother(entry)
    if (!this.#running.delete(entry)) return
    for (const key of entry.keys) {
      this.#holders.delete(key)
      this.#call(key)
    }
  }

  #leaveAside(entry: Entry, key: string): void {
    const waiting = this.#aside.get(key)
    waiting?.remove(entry)
    if (waiting?.size === 0) this.#aside.delete(key)
    entry.asideAt = undefined
  }
}

class Entry implements HeapItem, LineItem {
  readonly testId: string
  state: RecordedState
  priority: number
  /** Lower ones of its priority go first, as they stand in line. */
  joined = 0
  keys: readonly string[] = []
  isReady = false
  /** The name that it waits for, standing aside. */
  asideAt: string | undefined
  /** The name that had become free when it came back. */
  calledBy: string | undefined
  heapIndex = -1
  lineIndex = -1

  constructor(testId: string, priority: number, state: RecordedState) {
    this.testId = testId
    this.priority = priority
    this.state = state
  }
}

function goesBefore(a: Entry, b: Entry): boolean {
  return a.priority > b.priority || (a.priority === b.priority && a.joined < b.joined)
}
