/**
 * Whether the line moves as it should, judged whenever all is calm.
 *
 * Who is in the schedule has an actor; the counts add up; with a free slot nobody waits who could run; and
 * between two calm moments nobody began to run while somebody before him could have.
 */
import { DEPTH_DEFAULT } from '../../../src/probe/limits.ts'
import type { ProbeSettings } from '../../../src/probe/options.ts'
import type { RecordedState } from '../../../src/probe/record.ts'
import type { Schedule } from '../../../src/probe/schedule.ts'
import { isRetry, type Book, type Known } from './book.ts'
import type { Requests } from './requests.ts'
import type { Server } from './server.ts'

type Waiting = Readonly<{ known: Known; version: number; isReady: boolean }>

export class Line {
  readonly #book: Book
  readonly #requests: Requests
  readonly #isStrict: boolean
  readonly #slots: number
  readonly #depth: number
  readonly #wrong: (what: string) => void
  /** Who stood in line when all was calm before, and which names were held. */
  #before: readonly Waiting[] = []
  #held = new Set<string>()
  /** Who had been told to run by then, on record or not. */
  #told = new Set<string>()
  #isDisturbed = true

  constructor(
    book: Book,
    requests: Requests,
    { policy, slots = 1, depth = DEPTH_DEFAULT }: Partial<ProbeSettings>,
    wrong: (what: string) => void,
  ) {
    this.#book = book
    this.#requests = requests
    this.#isStrict = policy === 'strict'
    this.#slots = slots
    this.#depth = depth
    this.#wrong = wrong
  }

  /** Something happened that may change the order; what is next is not compared with what was before. */
  disturb(): void {
    this.#isDisturbed = true
  }

  judge(server: Server): void {
    const { schedule } = server
    if (schedule === undefined || server.inFlight > 0 || !server.isUp) return this.disturb()
    this.#consistent(server, schedule)
    const waiting = this.#waiting(schedule)
    if (!this.#isDisturbed) this.#fair(schedule)
    this.#busy(schedule, waiting)
    this.#before = waiting
    this.#held = this.#heldIn(schedule)
    this.#told = new Set(schedule.testing)
    this.#book.begun.length = 0
    this.#isDisturbed = false
  }

  #consistent(server: Server, schedule: Schedule): void {
    const { running, counts, size, pending, testing } = schedule
    if (running > this.#slots) this.#wrong(`${running} slots are taken of ${this.#slots}`)
    // Those that ran stand in line as well after a restart.
    if (pending + running > this.#depth + this.#slots)
      this.#wrong(`${pending} are in line, which may be ${this.#depth}`)
    let sum = 0
    for (const count of Object.values(counts)) sum += count
    if (sum !== size) this.#wrong(`${size} tests are ${sum} in all states`)
    if (running !== counts.Testing) this.#wrong(`${running} run and ${counts.Testing} are Testing`)
    if (testing.length !== running) this.#wrong('whoever runs is not counted')
    let inLine = 0
    let present = 0
    for (const testId of this.#ids(schedule)) {
      present++
      if (schedule.isPending(testId)) inLine++
      this.#inPlace(schedule, testId)
      if (schedule.isExpected(testId) && !this.#requests.isRetrying(testId))
        this.#wrong(`a place is kept for ${testId}, which will not join`)
      if (!server.hasActor(testId)) this.#wrong(`${testId} is in the schedule and has no actor`)
      this.#agrees(schedule.stateOf(testId)!, testId)
    }
    if (present !== size) this.#wrong(`${size} tests are in the schedule, ${present} were made`)
    if (inLine !== pending) this.#wrong(`${pending} are in line, ${inLine} say so`)
  }

  /** Nobody who has ended stands in line, and nobody runs who is not Testing. */
  #inPlace(schedule: Schedule, testId: string): void {
    const state = schedule.stateOf(testId)!
    const hasEnded = state === 'Completed' || state === 'Exception'
    if (hasEnded && schedule.isPending(testId)) this.#wrong(`${testId} has ended and is in line`)
    if (schedule.isRunning(testId) !== (state === 'Testing'))
      this.#wrong(
        `${testId} is ${state} and ${schedule.isRunning(testId) ? 'runs' : 'does not run'}`,
      )
  }

  /** What the queue thinks of a test that nothing has happened to is what is on record. */
  #agrees(state: RecordedState, testId: string): void {
    const known = this.#book.tests.get(testId)
    if (known === undefined || this.#book.causesOf(testId).hurt) return
    if (known.outcome === undefined && known.state !== state && this.#isSound)
      this.#wrong(`${testId} is ${state} in the queue and ${known.state} on record`)
  }

  get #isSound(): boolean {
    return this.#book.isSound
  }

  #busy(schedule: Schedule, waiting: readonly Waiting[]): void {
    if (schedule.mode !== 'open' || schedule.running >= this.#slots) return
    const held = this.#heldIn(schedule)
    // The head of a strict line may be one that is not on record yet.
    const idle = waiting.filter(
      ({ known: { testId }, isReady }) =>
        isReady && (!this.#isStrict || schedule.position(testId) === 1),
    )
    for (const { known } of idle)
      if (!known.keys.some((key) => held.has(key)))
        this.#wrong(`${known.testId} is ready, a slot is free, and it does not run`)
  }

  /** Whoever was ready before and is still in line has let nobody by who comes after him. */
  #fair(schedule: Schedule): void {
    const begun = this.#book.begun.filter(({ testId }) => !this.#told.has(testId))
    const held = new Set(this.#held)
    for (const { keys } of this.#book.begun) for (const key of keys) held.add(key)
    for (const [at, { known, version, isReady }] of this.#before.entries()) {
      if (known.events.length !== version || !schedule.isPending(known.testId)) continue
      if (known.start === undefined) continue // its place is not on record yet
      if (!this.#isStrict && (!isReady || known.keys.some((key) => held.has(key)))) continue
      const behind = new Set(this.#before.slice(at + 1).map((waiting) => waiting.known))
      for (const other of begun)
        if (behind.has(other) || (goesBefore(known, other) && !isRetried(known, other)))
          this.#wrong(`${other.testId} ran before ${known.testId}`)
    }
  }

  /** In the order of the line. */
  #waiting(schedule: Schedule): readonly Waiting[] {
    const waiting: Waiting[] = []
    for (const testId of this.#ids(schedule)) {
      const known = this.#book.tests.get(testId)
      if (known === undefined || !schedule.isPending(testId)) continue
      const isReady = schedule.stateOf(testId) === 'Loaded'
      waiting.push({ known, version: known.events.length, isReady })
    }
    return waiting.toSorted(
      (a, b) => schedule.position(a.known.testId)! - schedule.position(b.known.testId)!,
    )
  }

  #heldIn(schedule: Schedule): Set<string> {
    return new Set(schedule.testing.flatMap((testId) => this.#book.tests.get(testId)?.keys ?? []))
  }

  #ids(schedule: Schedule): readonly string[] {
    return this.#book.made.filter((testId) => schedule.has(testId))
  }
}

function goesBefore(a: Known, b: Known): boolean {
  return a.priority > b.priority || (a.priority === b.priority && a.place < b.place)
}

/** One that is queued again joins the line only when it loads. */
function isRetried(...tests: readonly Known[]): boolean {
  return tests.some(({ events }) => events.some(isRetry))
}
