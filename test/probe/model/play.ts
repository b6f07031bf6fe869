/**
 * Plays one program against the real actors and judges what can be seen: after every turn, whenever all is
 * calm, and at the end, when all troubles are over and time has passed beyond every deadline.
 */
import type { Ref } from '../../../src/kernel/index.ts'
import type { GuardianMessage, QueueMessage, QueueRequest } from '../../../src/probe/protocol.ts'
import { isFault, type Fault } from '../../../src/std/index.ts'
import {
  simulatedDisk,
  virtualClock,
  type SimulatedDisk,
  type VirtualClock,
} from '../../../src/testkit/index.ts'
import { Book } from './book.ts'
import { judgeContent } from './content.ts'
import { Estate } from './estate.ts'
import { Line } from './line.ts'
import { goodScript, KEYS, type Op, type Program } from './program.ts'
import { Requests, type Asked } from './requests.ts'
import { Server } from './server.ts'
import { hop, Turner } from './turner.ts'

export type Played = Readonly<{
  violation: string | undefined
  tally: Readonly<Record<string, number>>
}>

/** Turns of one program; more is a livelock. */
const TURNS_MAX = 20_000
/** Beyond every deadline, and beyond all tries to store evidence. */
const SETTLE_MS = 600_000
const SETTLE_TIMES = 12
/** How often another test is run at the end. */
const FRESH_ONE_IN = 4

export async function play(program: Program): Promise<Played> {
  const player = new Player(program)
  try {
    await player.play()
  } catch (error) {
    player.violation ??= String(error)
  }
  return { violation: player.violation, tally: player.tally() }
}

class Player {
  readonly #program: Program
  readonly #clock: VirtualClock = virtualClock()
  readonly #turner: Turner
  readonly #disk: SimulatedDisk
  readonly #book: Book
  readonly #estate: Estate
  readonly #requests: Requests
  readonly #line: Line
  readonly #killed = new Set<number>()
  readonly #counts: Record<string, number> = {}
  #server!: Server
  #life = 0
  #ids = 0
  #buckets = 0
  readonly #starts = new Map<number, Readonly<{ op: Start; bucket: string }>>()
  violation: string | undefined

  constructor(program: Program) {
    this.#program = program
    const { seed, settings, ops } = program
    const wrong = (what: string): void => void (this.violation ??= what)
    this.#turner = new Turner(program, this.#clock, {
      system: () => this.#server.system,
      onTurned: () => this.#stop(this.#turner.turns > TURNS_MAX ? 'it never rests' : undefined),
      onCalm: () => {
        this.#line.judge(this.#server)
        this.#stop()
      },
    })
    this.#disk = simulatedDisk({ seed, clock: this.#clock, faults: [] })
    this.#book = new Book(program, wrong)
    this.#estate = new Estate(this.#book, settings.slots ?? 1, wrong)
    const isFair = program.troubles.length === 0 && !ops.some(isHarm)
    this.#requests = new Requests(this.#book, isFair, wrong)
    this.#line = new Line(this.#book, this.#requests, settings, wrong)
  }

  async play(): Promise<void> {
    await this.#begin()
    for (const op of this.#program.ops) {
      await this.#do(op)
      if (op.turns < 0) await this.#turner.calm()
      else await this.#turner.turn(op.turns)
    }
    await this.#settle()
    if (this.#program.seed % FRESH_ONE_IN === 0) await this.#freshTest()
    await this.#judgeEnd()
  }

  tally(): Record<string, number> {
    const { runs, runningMost } = this.#estate
    return {
      ...this.#counts,
      ...this.#book.ends,
      runs,
      [`${runningMost} at a time`]: 1,
      requests: this.#requests.all.length,
      turns: this.#turner.turns,
    }
  }

  #count(what: string): void {
    this.#counts[what] = (this.#counts[what] ?? 0) + 1
  }

  async #do(op: Op): Promise<void> {
    this.#count(op.do)
    switch (op.do) {
      case 'initialize': {
        const { priority, requestId } = op
        this.#ask({
          type: 'initialize-test',
          priority,
          ...(requestId !== undefined && { requestId }),
        })
        return
      }
      case 'start': {
        const bucket = `/b/${this.#buckets++}`
        this.#starts.set(op.test, { op, bucket })
        return this.#start(op, bucket)
      }
      case 'start-again': {
        const before = this.#starts.get(op.test)
        if (before !== undefined) this.#start(before.op, before.bucket)
        return
      }
      case 'status':
        return this.#ask({ type: 'test-status', testId: idOf(op.test) })
      case 'queue-status':
        return this.#ask({
          type: 'queue-status',
          ...(op.test !== undefined && { testId: idOf(op.test) }),
        })
      case 'cancel':
        this.#book.causesOf(idOf(op.test)).cancelled = true
        return this.#ask({ type: 'cancel-test', testId: idOf(op.test) })
      case 'retry':
        return this.#ask({ type: 'retry-test', testId: idOf(op.test) })
      case 'extend':
        return this.#ask({ type: 'extend-test', testId: idOf(op.test), ms: op.ms })
      case 'mode':
        this.#line.disturb()
        return this.#ask({ type: 'set-mode', mode: op.mode })
      case 'list':
        return this.#list()
      case 'lose-consumer': {
        const testId = idOf(op.test)
        this.#book.causesOf(testId).hurt = true
        this.#estate.consumers.get(testId)?.(new Error('the consumer is lost'))
        return
      }
      case 'time':
        return this.#turner.pass(op.ms)
      case 'end':
      case 'throw':
        return this.#hurt(op)
      case 'crash':
        return this.#crash()
      case 'restart':
        return this.#restart()
    }
  }

  #start(op: Start, bucket: string): void {
    const { test, script, priority, exclusive, requestId } = op
    if (!this.#book.scripts.has(bucket)) this.#book.scripts.set(bucket, script)
    this.#ask({
      type: 'start-test',
      testId: idOf(test),
      options: {
        bucket,
        exclusive,
        isDryRun: false,
        ...(priority !== undefined && { priority }),
        ...(requestId !== undefined && { requestId }),
      },
    })
  }

  /** As the facade does it: the queue of the moment is the guardian's to name. */
  #ask(request: Unasked): void {
    const asked: Asked = this.#requests.ask({
      type: request.type,
      testId: 'testId' in request ? request.testId : undefined,
      requestId: request.type === 'initialize-test' ? request.requestId : undefined,
      content: contentOf(request),
      life: this.#life,
    })
    const replyTo: Ref<unknown> = {
      path: '/client',
      tell: (answer) => {
        // What the dead still say reaches nobody.
        if (!this.#killed.has(asked.life)) this.#requests.onAnswer(asked, answer)
        return undefined
      },
    }
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- with the one field that it lacks
    const message = { ...request, replyTo } as QueueRequest
    const whoIsQueue: GuardianMessage = {
      type: 'initialize',
      replyTo: {
        path: '/client',
        tell: (queue: Ref<QueueMessage> | Fault) => {
          if (isFault(queue)) return replyTo.tell(queue)
          asked.message = message
          return void queue.tell(message)
        },
      },
    }
    asked.message = whoIsQueue
    this.#server.guardian!.tell(whoIsQueue)
  }

  async #list(): Promise<void> {
    const { probe } = this.#server
    const page = await this.#turner.until(probe!.list({ limit: 2 }))
    if (isFault(page)) return
    for (const { testId } of page.tests)
      if (!this.#book.tests.has(testId)) this.violation ??= `${testId} is listed and not on record`
  }

  #hurt(op: Extract<Op, { do: 'end' | 'throw' }>): void {
    const testId = idOf(op.test)
    for (let n = 0; n < op.times; n++) {
      if (!this.#server.hurt(op.do, op.whom, testId)) return
      this.#count(`${op.do} of ${op.whom}`)
    }
    this.#line.disturb()
    if (op.whom === 'queue') this.#book.hurtAll()
    else this.#book.causesOf(testId).hurt = true
  }

  async #crash(): Promise<void> {
    this.#kill()
    this.#disk.crash()
    this.#estate.onProcessEnded()
    await hop()
    await this.#begin()
  }

  async #restart(): Promise<void> {
    this.#line.disturb()
    this.#book.hurtAll()
    const { probe, journal } = this.#server
    this.#server.isClosing = true
    await this.#turner.until(probe!.close())
    await this.#turner.until(journal.close())
    await this.#turner.calm()
    this.#judgeClosed()
    this.#server.isDead = true
    this.#estate.onProcessEnded()
    await this.#begin()
  }

  #kill(): void {
    this.#line.disturb()
    this.#book.hurtAll()
    this.#server.isDead = true
    this.#killed.add(this.#life)
  }

  #judgeClosed(): void {
    if (this.#estate.running.size > 0) this.violation ??= 'a run outlives its server'
    if (this.#estate.sessions.size > 0) this.violation ??= 'a session outlives its server'
  }

  /** A journal that cannot do it at the moment is tried again, as whoever watches over servers would. */
  async #begin(): Promise<void> {
    for (;;) {
      this.#life++
      this.#server = new Server({
        program: this.#program,
        life: this.#life,
        clock: this.#clock,
        disk: this.#disk,
        book: this.#book,
        estate: this.#estate,
        newId: () => this.#newId(),
        onDeadLetter: ({ message }) => this.#requests.onDeadLetter(message),
      })
      this.#line.disturb()
      try {
        return await this.#turner.until(this.#server.begin())
      } catch (error) {
        if (this.#program.troubles.length === 0) throw error
        this.#kill()
        this.#disk.crash()
        await hop()
      }
    }
  }

  #newId(): string {
    const testId = idOf(this.#ids++)
    this.#book.made.push(testId)
    return testId
  }

  #stop(what?: string): undefined {
    this.violation ??= what
    if (this.violation !== undefined) throw new Error(this.violation)
  }

  /** Everything is allowed to go on, and time passes until all tests are over. */
  async #settle(): Promise<void> {
    await this.#turner.pass(0)
    this.#line.disturb()
    for (let isOpen = false; !isOpen; isOpen = await this.#isOpen()) {
      this.#ask({ type: 'set-mode', mode: 'open' })
      await this.#turner.pass(10_000)
    }
    for (let n = 0; n < SETTLE_TIMES; n++) {
      await this.#turner.pass(SETTLE_MS)
      if (this.#isAllOver()) break
    }
    const { schedule } = this.#server
    for (const { testId, marks, outcome, evidence } of this.#book.tests.values())
      if (outcome === undefined || evidence === 'pending')
        this.#stop(`${testId} never ends: ${marks.at(-1)}, evidence ${evidence}`)
    this.#requests.judgeEnd(this.#killed)
    if (schedule !== undefined && schedule.size > 0)
      this.#stop(`${schedule.size} tests stay in the queue for ever`)
    this.#stop()
  }

  async #isOpen(): Promise<boolean> {
    const status = await this.#turner.until(this.#server.probe!.queueStatus())
    return !isFault(status) && status.mode === 'open'
  }

  #isAllOver(): boolean {
    const { schedule } = this.#server
    if (schedule !== undefined && schedule.size > 0) return false
    for (const { outcome, evidence } of this.#book.tests.values())
      if (outcome === undefined || evidence === 'pending') return false
    return true
  }

  /** Whatever has happened, a test runs that is started after all that. */
  async #freshTest(): Promise<void> {
    const op = { script: goodScript(KEYS), exclusive: [], turns: 0 }
    for (let tries = 0; tries < 12; tries++) {
      const test = this.#ids
      this.#ask({ type: 'initialize-test', priority: 0 })
      await this.#turner.pass(20_000)
      this.#start({ do: 'start', test, ...op }, '/b/last')
      await this.#turner.pass(SETTLE_MS)
      const outcome = this.#book.tests.get(idOf(test))?.outcome
      if (outcome === 'passed') return
      if (this.#program.troubles.length === 0) this.#stop(`a test at the end is ${outcome}`)
    }
    this.#stop('no test runs at the end')
  }

  async #judgeEnd(): Promise<void> {
    const { journal, schedule } = this.#server
    const { staged, sessions, running } = this.#estate
    this.#requests.judgeEnd(this.#killed)
    if (staged.size > 0) this.#stop(`directories are left: ${[...staged].join()}`)
    if (sessions.size > 0) this.#stop(`${sessions.size} sessions are left open`)
    if (running.size > 0) this.#stop(`${running.size} runs are left`)
    if (schedule !== undefined && schedule.running > 0)
      this.#stop(`${schedule.running} slots are taken for ever`)
    this.#stop(await judgeContent(journal, this.#book))
  }
}

type Start = Extract<Op, { do: 'start' }>

type Unasked = QueueRequest extends infer R
  ? R extends unknown
    ? Omit<R, 'replyTo'>
    : never
  : never

/** What makes a repetition of it the same request. */
function contentOf(request: Unasked): string {
  if (request.type === 'initialize-test') return `${request.priority}`
  return request.type === 'start-test' ? request.options.bucket : ''
}

function isHarm(op: Op): boolean {
  return ['end', 'throw', 'crash', 'restart', 'lose-consumer'].includes(op.do)
}

function idOf(test: number): string {
  return `t${test}`
}
