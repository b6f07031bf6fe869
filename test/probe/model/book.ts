/**
 * What is known of all tests from what became durable, by rules of its own: the reference of the model.
 *
 * It reads the batches that reach the journal, and nothing of the actors. Which event may follow which,
 * what a record must say beside it, and how a test may end are written down here once more, simply.
 */
import type { Batch, StoredEvent } from '../../../src/journal/index.ts'
import type { StartOptions, TestEvent, TestRecord } from '../../../src/probe/record.ts'
import type { ProbeSettings } from '../../../src/probe/options.ts'
import { eventOf, testOfStream, TESTS } from '../../../src/probe/register.ts'
import type { Program, Script } from './program.ts'

export type Known = {
  readonly testId: string
  events: TestEvent[]
  state: TestRecord['state']
  outcome: string | undefined
  attempt: number
  priority: number
  place: number
  keys: readonly string[]
  start: StartOptions | undefined
  hasResult: boolean
  evidence: TestRecord['evidence']
  isForgotten: boolean
  /** `state outcome attempt` after each event. */
  marks: string[]
  /** Losses of the queue when its run began. */
  lossesAtRun: number
}

/** What was done to a test that may have changed how it ends. */
export type Causes = { cancelled: boolean; hurt: boolean }

/** How a test ends that could not be written down in time. */
const UNWRITTEN: ReadonlySet<string> = new Set(['test-crashed', 'start-not-confirmed'])

export class Book {
  readonly tests: Map<string, Known> = new Map()
  readonly scripts: Map<string, Script> = new Map()
  readonly causes: Map<string, Causes> = new Map()
  /** Outcomes so far, for the report. */
  readonly ends: Record<string, number> = {}
  /** Runs that have begun since this was last emptied. */
  readonly begun: Known[] = []
  /** Ids that were handed out, in order. */
  readonly made: string[] = []
  /** Whether nothing goes wrong with the journal. */
  readonly isSound: boolean
  /** How often whatever knew of the tests was lost. */
  losses = 0
  position = 0
  readonly #wrong: (what: string) => void
  readonly #settings: Partial<ProbeSettings>

  constructor({ settings, troubles }: Program, wrong: (what: string) => void) {
    this.isSound = troubles.length === 0
    this.#settings = settings
    this.#wrong = wrong
  }

  causesOf(testId: string): Causes {
    let causes = this.causes.get(testId)
    if (causes === undefined) this.causes.set(testId, (causes = { cancelled: false, hurt: false }))
    return causes
  }

  hurtAll(): void {
    for (const causes of this.causes.values()) causes.hurt = true
    for (const testId of this.tests.keys()) this.causesOf(testId).hurt = true
  }

  /** A batch that has become durable. */
  take({ streams = [], records = [] }: Batch, position: number): void {
    this.position = position
    for (const { stream, events } of streams) {
      const testId = testOfStream(stream)
      if (testId === undefined) continue
      for (const { data } of events) this.#follow(testId, eventOf(data))
      this.#compare(
        testId,
        records.filter(({ collection, key }) => collection === TESTS && key === testId),
      )
    }
    if (streams.length === 0 && records.some(({ collection }) => collection === TESTS))
      this.#wrong('a record was written without an event')
  }

  /** What a crash has left beyond what was known to be durable. */
  catchUp(events: readonly StoredEvent[]): void {
    for (const { stream, data, position } of events) {
      this.position = position
      const testId = testOfStream(stream)
      if (testId !== undefined) this.#follow(testId, eventOf(data))
    }
  }

  #compare(testId: string, written: NonNullable<Batch['records']>): void {
    const known = this.tests.get(testId)!
    const [write] = written
    if (write === undefined || written.length > 1)
      return this.#wrong(`${testId}: an event was written without its record`)
    if ('deleted' in write) {
      if (!known.isForgotten) this.#wrong(`${testId}: its record was deleted`)
      return
    }
    const record = JSON.parse(write.value) as TestRecord
    const { state, outcome, attempt, priority, evidence, version } = record
    const told = JSON.stringify([state, outcome, attempt, priority, evidence, version])
    const believed = JSON.stringify([
      known.state,
      known.outcome,
      known.attempt,
      known.priority,
      known.evidence,
      known.events.length,
    ])
    if (told !== believed) this.#wrong(`${testId}: record ${told} after events for ${believed}`)
  }

  #follow(testId: string, event: TestEvent): void {
    let known = this.tests.get(testId)
    if (known === undefined) {
      if (event.type !== 'initialized') return this.#wrong(`${testId} began as ${event.type}`)
      this.tests.set(testId, (known = fresh(testId, event.priority)))
    } else {
      const why = this.#refusal(known, event)
      if (why !== undefined)
        this.#wrong(`${testId}: ${event.type} while ${known.marks.at(-1)}: ${why}`)
      this.#apply(known, event)
    }
    known.events.push(event)
    known.marks.push(markOf(known))
  }

  /** Why an event may not be the next one. */
  #refusal(known: Known, event: TestEvent): string | undefined {
    const { state, outcome, evidence, isForgotten } = known
    if (isForgotten) return 'it was forgotten'
    const isOpen = outcome === undefined
    switch (event.type) {
      case 'initialized':
        return 'it was initialized before'
      case 'started':
        return isOpen && state === 'Setup' ? undefined : 'only in Setup'
      case 'loaded':
        return isOpen && state === 'Loading' ? undefined : 'only while it loads'
      case 'testing':
        if (!isOpen || state !== 'Loaded') return 'only when it is loaded'
        return event.attempt === known.attempt + 1 ? undefined : `attempt ${event.attempt}`
      case 'result-kept':
        return isOpen && state === 'Testing' && !known.hasResult ? undefined : 'only once a run'
      case 'completed':
        if (!isOpen || state !== 'Testing' || !known.hasResult) return 'only after a result'
        return this.#unexpected(known, event.outcome)
      case 'errored':
        return isOpen ? this.#unexpected(known, event.outcome, event.error.code) : 'it had ended'
      case 'cancelled':
        if (!isOpen) return 'it had ended'
        return this.causesOf(known.testId).cancelled ? undefined : 'nobody wanted that'
      case 'interrupted':
        if (!isOpen || state !== 'Testing') return 'only while it runs'
        return this.losses > known.lossesAtRun ? undefined : 'nothing has interrupted it'
      case 'requeued':
        return this.#notAgain(known, event.why)
      case 'extended':
        return isOpen && state !== 'Loaded' ? undefined : 'there is no deadline'
      case 'evidence-stored':
        if (outcome === 'cancelled' && evidence === 'none' && wasRunning(known)) return undefined
        return !isOpen && evidence === 'pending' ? undefined : 'none is pending'
      case 'evidence-lost':
        return !isOpen && evidence === 'pending' ? undefined : 'none is pending'
      case 'forgotten':
        return !isOpen && evidence !== 'pending' ? undefined : 'it is looked after'
    }
  }

  #notAgain(known: Known, why: 'restart' | 'interrupted' | 'retry'): string | undefined {
    const { state, outcome, evidence, events, attempt } = known
    const last = events.at(-1)?.type
    if (why === 'restart')
      return outcome === undefined && (state === 'Loading' || state === 'Loaded')
        ? undefined
        : 'it was not in line'
    if (why === 'retry')
      return outcome !== undefined && evidence !== 'pending' && known.start !== undefined
        ? undefined
        : 'it has not ended'
    if (last !== 'interrupted') return 'it was not interrupted'
    return attempt < (this.#settings.attempts ?? 1) ? undefined : 'it has run too often'
  }

  #unexpected(known: Known, outcome: string, code = ''): string | undefined {
    const { testId, start, state } = known
    if (this.causesOf(testId).hurt && (outcome === 'errored' || outcome === 'timed-out'))
      return undefined
    if (!this.isSound && UNWRITTEN.has(code)) return undefined
    if (start === undefined) return outcome === 'timed-out' ? undefined : `${outcome} in ${state}`
    const script = this.scripts.get(start.bucket)
    const fate = script === undefined ? 'none' : fateOf(script)
    return outcome === fate ? undefined : `${code} where its bundle makes it ${fate}`
  }

  #apply(known: Known, event: TestEvent): void {
    switch (event.type) {
      case 'initialized':
      case 'extended':
        return
      case 'started':
        known.state = 'Loading'
        known.start = event.options
        known.priority = event.options.priority
        known.place = event.place
        return
      case 'loaded':
        known.state = 'Loaded'
        known.keys = event.exclusive
        return
      case 'testing':
        known.state = 'Testing'
        known.attempt = event.attempt
        known.lossesAtRun = this.losses
        this.begun.push(known)
        return
      case 'result-kept':
        known.hasResult = true
        return
      case 'completed':
      case 'errored':
        known.state = event.type === 'completed' ? 'Completed' : 'Exception'
        known.evidence = event.evidence
        return this.#end(known, event.outcome)
      case 'cancelled':
      case 'interrupted':
        known.state = 'Exception'
        return this.#end(known, event.type)
      case 'requeued':
        known.state = 'Loading'
        known.place = event.place
        known.outcome = undefined
        known.hasResult = false
        known.evidence = 'none'
        return
      case 'evidence-stored':
        known.evidence = 'stored'
        return
      case 'evidence-lost':
        known.evidence = 'lost'
        return
      case 'forgotten':
        known.isForgotten = true
    }
  }

  #end(known: Known, outcome: string): void {
    known.outcome = outcome
    this.ends[outcome] = (this.ends[outcome] ?? 0) + 1
  }
}

/** Whether it ran when it ended. */
function wasRunning({ events }: Known): boolean {
  return events.findLast(({ type }) => BEGINNINGS.has(type))?.type === 'testing'
}

const BEGINNINGS: ReadonlySet<string> = new Set(['started', 'requeued', 'testing'])

/** How a test ends that is left alone. */
function fateOf(script: Script): string {
  const { fetch, check, credentials, producing, consuming, run } = script
  if (fetch.end !== 'ok') return fetch.end === 'fail' ? 'errored' : 'timed-out'
  if (check === 'bad') return 'errored'
  if (credentials.end !== 'ok') return credentials.end === 'fail' ? 'errored' : 'timed-out'
  if (producing.end === 'fail' || consuming.end === 'fail') return 'errored'
  if (producing.end === 'hang' || consuming.end === 'hang') return 'timed-out'
  if (run === 'passes') return 'passed'
  if (run === 'fails') return 'failed'
  return run === 'hangs' ? 'timed-out' : 'errored'
}

function fresh(testId: string, priority: number): Known {
  return {
    testId,
    events: [],
    state: 'Setup',
    outcome: undefined,
    attempt: 0,
    priority,
    place: 0,
    keys: [],
    start: undefined,
    hasResult: false,
    evidence: 'none',
    isForgotten: false,
    marks: [],
    lossesAtRun: 0,
  }
}

export function isRetry(event: TestEvent): boolean {
  return event.type === 'requeued' && event.why === 'retry'
}

export function markOf(status: {
  state: string
  outcome?: string | undefined
  attempt: number
}): string {
  return `${status.state} ${status.outcome ?? '-'} ${status.attempt}`
}
