/** Requests of clients, and whether what they were told is true. */
import type {
  Cancelled,
  Extended,
  Initialized,
  ModeChanged,
  QueueRequest,
  QueueStatus,
  Started,
  TestStatus,
} from '../../../src/probe/protocol.ts'
import type { TestEvent } from '../../../src/probe/record.ts'
import { isFault, type Fault } from '../../../src/std/index.ts'
import { isRetry, markOf, type Book } from './book.ts'

export type Asked = {
  readonly type: QueueRequest['type']
  readonly testId: string | undefined
  /** Of an initialization that may be repeated. */
  readonly requestId: string | undefined
  readonly content: string
  readonly life: number
  /** Events of the test that were durable when it was asked. */
  readonly since: number
  /** Where it is at the moment. */
  message: object | undefined
  answers: number
  /** It never reached anybody; whoever asks learns that at once. */
  deadLetters: number
}

/** Refusals that have nothing to do with anything going wrong. */
const ORDINARY: ReadonlySet<string> = new Set([
  'no-such-test',
  'not-extendable',
  'probe-draining',
  'request-mismatch',
])

export class Requests {
  readonly all: Asked[] = []
  readonly #book: Book
  readonly #isFair: boolean
  readonly #wrong: (what: string) => void
  readonly #byRequestId = new Map<string, Readonly<{ testId: string; content: string }>>()

  constructor(book: Book, isFair: boolean, wrong: (what: string) => void) {
    this.#book = book
    this.#isFair = isFair
    this.#wrong = wrong
  }

  ask(request: Pick<Asked, 'type' | 'testId' | 'requestId' | 'content' | 'life'>): Asked {
    const since = this.#book.tests.get(request.testId ?? '')?.events.length ?? 0
    const asked: Asked = { ...request, since, message: undefined, answers: 0, deadLetters: 0 }
    this.all.push(asked)
    return asked
  }

  /** Whether somebody waits to be told that it is run again. */
  isRetrying(testId: string): boolean {
    return this.all.some(
      (asked) =>
        asked.type === 'retry-test' &&
        asked.testId === testId &&
        asked.answers + asked.deadLetters === 0,
    )
  }

  onDeadLetter(message: unknown): void {
    const asked = this.all.find((each) => each.message === message)
    if (asked === undefined) return
    asked.deadLetters++
    this.#once(asked)
  }

  onAnswer(asked: Asked, answer: unknown): void {
    asked.answers++
    this.#once(asked)
    if (isFault(answer)) this.#refused(asked, answer)
    else this.#granted(asked, answer)
  }

  /** At the end: nobody waits any more, but for those whose server was killed. */
  judgeEnd(killed: ReadonlySet<number>): void {
    for (const asked of this.all)
      if (asked.answers + asked.deadLetters === 0 && !killed.has(asked.life))
        this.#wrong(`${nameOf(asked)} was never answered`)
  }

  #once(asked: Asked): void {
    const { answers, deadLetters } = asked
    if (answers + deadLetters > 1)
      this.#wrong(`${nameOf(asked)} was answered ${answers} times, and ${deadLetters} times lost`)
  }

  #refused(asked: Asked, { code, message }: Fault): void {
    if (this.#isFair && !ORDINARY.has(code))
      this.#wrong(`${nameOf(asked)} was refused: ${code}: ${message}`)
    if (code === 'no-such-test' && asked.since > 0 && !this.#isForgotten(asked))
      this.#wrong(`${nameOf(asked)}: the test is there`)
  }

  #granted(asked: Asked, answer: unknown): void {
    /* oxlint-disable typescript/no-unsafe-type-assertion -- each type of request has one answer */
    switch (asked.type) {
      case 'initialize-test':
        return this.#initialized(asked, answer as Initialized)
      case 'start-test':
        return this.#started(asked, answer as Started)
      case 'retry-test':
        return this.#retried(asked, answer as Started)
      case 'test-status':
        return this.#status(asked, answer as TestStatus)
      case 'queue-status':
        return this.#queueStatus(asked, answer as QueueStatus)
      case 'cancel-test':
        return this.#cancelled(asked, answer as Cancelled)
      case 'extend-test':
        return this.#extended(asked, answer as Extended)
      case 'set-mode':
        return this.#holds(asked, (answer as ModeChanged).running >= 0, 'no mode')
    }
    /* oxlint-enable */
  }

  #initialized(asked: Asked, { testId }: Initialized): void {
    this.#holds(asked, this.#book.tests.has(testId), `${testId} is not on record`)
    const { requestId, content } = asked
    if (requestId === undefined) return
    const before = this.#byRequestId.get(requestId)
    if (before === undefined) this.#byRequestId.set(requestId, { testId, content })
    else {
      this.#holds(asked, before.testId === testId, `one request made ${before.testId} and more`)
      this.#holds(asked, before.content === content, 'another request had this id')
    }
  }

  #started(asked: Asked, { accepted, reason }: Started): void {
    const isThis = this.#book.tests.get(asked.testId!)?.start?.bucket === asked.content
    if (accepted) this.#holds(asked, isThis, 'nothing of it is on record')
    else if (reason === 'already-started') this.#holds(asked, !isThis, 'it is the same one')
  }

  #retried(asked: Asked, { accepted }: Started): void {
    if (accepted) this.#holds(asked, this.#wrote(asked, isRetry), 'nothing of it is on record')
  }

  #extended(asked: Asked, { deadlineAt }: Extended): void {
    const isThis = (event: TestEvent): boolean =>
      event.type === 'extended' && event.deadlineAt === deadlineAt
    this.#holds(asked, this.#wrote(asked, isThis), 'nothing of it is on record')
  }

  #cancelled(asked: Asked, { cancelled }: Cancelled): void {
    const known = this.#book.tests.get(asked.testId!)
    if (cancelled)
      this.#holds(
        asked,
        known?.events.some(({ type }) => type === 'cancelled') === true,
        'nothing of it is on record',
      )
    else
      this.#holds(
        asked,
        this.#saw(asked, (mark) => !mark.includes(' - ')),
        'it had not ended',
      )
  }

  #status(asked: Asked, status: TestStatus): void {
    const told = markOf(status)
    this.#holds(
      asked,
      this.#saw(asked, (mark) => mark === told),
      `it was never ${told}`,
    )
  }

  #queueStatus(asked: Asked, status: QueueStatus): void {
    const { totalTests, setupCount, loadingCount, loadedCount, testingCount } = status
    const { completedCount, exceptionCount, pending, testing, slots } = status
    const sum =
      setupCount + loadingCount + loadedCount + testingCount + completedCount + exceptionCount
    this.#holds(asked, sum === totalTests, `${totalTests} tests are ${sum} in all states`)
    this.#holds(asked, testing.length <= slots, `${testing.length} run`)
    this.#holds(asked, testing.length === testingCount, `${testingCount} are Testing`)
    this.#holds(asked, pending <= totalTests - testingCount, `${pending} are in line`)
  }

  #wrote({ testId, since }: Asked, isIt: (event: TestEvent) => boolean): boolean {
    return this.#book.tests.get(testId!)?.events.slice(since).some(isIt) === true
  }

  /** Whether something was true at some time since it was asked. */
  #saw(asked: Asked, isIt: (mark: string) => boolean): boolean {
    const marks = this.#book.tests.get(asked.testId!)?.marks ?? []
    return marks.slice(Math.max(0, asked.since - 1)).some(isIt)
  }

  #isForgotten({ testId }: Asked): boolean {
    return this.#book.tests.get(testId!)?.isForgotten === true
  }

  #holds(asked: Asked, isTrue: boolean, otherwise: string): void {
    if (!isTrue) this.#wrong(`${nameOf(asked)}: ${otherwise}`)
  }
}

function nameOf({ type, testId = '' }: Asked): string {
  return `${type} ${testId}`.trim()
}
