/**
 * Plays one program against the real actors and judges what can be seen: after every turn, whenever all is
 * calm, and at the end, when all troubles are over and time has passed beyond every deadline.
 */
import { deepStrictEqual } from 'node:assert/strict'

import type { Ref } from '../../../src/kernel/index.ts'
import { isLive } from '../../../src/probe/record.ts'
import { fold, type TestRecord } from '../../../src/probe/record.ts'
import type { GuardianMessage, QueueMessage, QueueRequest } from '../../../src/probe/protocol.ts'
import { eventOf, testOfStream, TESTS } from '../../../src/probe/register.ts'
import { afterIo, isFault, random, type Fault, type Random } from '../../../src/std/index.ts'
import {
  simulatedDisk,
  virtualClock,
  type SimulatedDisk,
  type VirtualClock,
} from '../../../src/testkit/index.ts'
import { Book } from './book.ts'
import { Estate } from './estate.ts'
import { Line } from './line.ts'
import { goodScript, KEYS, type Op, type Program } from './program.ts'
import { Requests, type Asked } from './requests.ts'
import { Server } from './server.ts'

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
    if (player.violation === undefined) throw error
  }
  return { violation: player.violation, tally: player.tally() }
}

class Player {
  readonly #program: Program
  readonly #clock: VirtualClock = virtualClock()
  readonly #draws: Random
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
  #starts = new Map<number, Extract<Op, { do: 'start' }>>()
  #turns = 0
  violation: string | undefined

  constructor(program: Program) {
    this.#program = program
    const { seed, settings, ops } = program
    const wrong = (what: string): void => void (this.violation ??= what)
    this.#draws = random(seed)
    this.#disk = simulatedDisk({ seed, clock: this.#clock, faults: [] })
    this.#book = new Book(program, wrong)
    this.#estate = new Estate(this.#book, settings.slots ?? 1, wrong)
    const isFair = program.troubles.length === 0 && !ops.some(isHarm)
    this.#requests = new Requests(this.#book, isFair, wrong)
    this.#line = new Line(this.#book, settings, wrong)
  }

  async play(): Promise<void> {
    await this.#begin()
    for (const op of this.#program.ops) {
      await this.#do(op)
      if (op.turns < 0) await this.#calm()
      else await this.#turn(op.turns)
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
      turns: this.#turns,
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
        this.#starts.set(op.test, op)
        return this.#start(op, `/b/${this.#buckets++}`)
      }
      case 'start-again': {
        const before = this.#starts.get(op.test)
        if (before !== undefined) this.#start(before, `/b/${this.#buckets - 1}`)
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
        return this.#pass(op.ms)
      case 'end':
      case 'throw':
        return this.#hurt(op)
      case 'crash':
        return this.#crash()
      case 'restart':
        return this.#restart()
    }
  }

  #start(op: Extract<Op, { do: 'start' }>, bucket: string): void {
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
      content: request.type === 'initialize-test' ? `${request.priority}` : '',
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
    const page = await this.#until(probe!.list({ limit: 2 }))
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
    await this.#until(probe!.close())
    await this.#until(journal.close())
    await this.#calm()
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
        return await this.#until(this.#server.begin())
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

  async #turn(count: number): Promise<void> {
    for (let n = 0; n < count; n++) {
      await hop()
      if (!this.#step()) return
    }
  }

  /** Until nobody has anything to do before time goes on. */
  async #calm(): Promise<void> {
    for (;;) {
      await hop()
      if (!this.#step()) break
    }
    this.#line.judge(this.#server)
    this.#stop()
  }

  async #pass(ms: number): Promise<void> {
    const target = this.#clock.monotonic() + ms
    for (;;) {
      await this.#calm()
      const { next } = this.#clock
      const now = this.#clock.monotonic()
      if (next === undefined || next > target) return this.#clock.pass(Math.max(0, target - now))
      this.#clock.pass(next - now)
    }
  }

  async #until<T>(promise: Promise<T>): Promise<T> {
    let isSettled = false
    const settled = (): void => void (isSettled = true)
    promise.then(settled, settled)
    for (;;) {
      await hop()
      if (isSettled) return promise
      if (this.#step()) continue
      const { next } = this.#clock
      if (next === undefined) return this.#stop('it waits for ever') ?? promise
      this.#clock.pass(Math.max(0, next - this.#clock.monotonic()))
    }
  }

  /** One turn of an actor, or one timer that is due; false where there is neither. */
  #step(): boolean {
    const { system } = this.#server
    const { readyDepth } = system
    const { next } = this.#clock
    const isDue = next !== undefined && next <= this.#clock.monotonic()
    const count = readyDepth + (isDue ? 1 : 0)
    if (count === 0) return false
    const chosen = this.#choose(count)
    if (chosen === readyDepth) this.#clock.fire((equals) => this.#choose(equals))
    else system.step(() => chosen)
    if (++this.#turns > TURNS_MAX) this.violation ??= 'it never comes to rest'
    this.#stop()
    return true
  }

  #choose(count: number): number {
    const { order } = this.#program
    if (count === 1) return 0
    if (order === 'any' || this.#draws.below(8) === 0) return this.#draws.below(count)
    return order === 'arrival' ? 0 : count - 1
  }

  #stop(what?: string): undefined {
    this.violation ??= what
    if (this.violation !== undefined) throw new Error(this.violation)
  }

  /** Everything is allowed to go on, and time passes until all tests are over. */
  async #settle(): Promise<void> {
    await this.#pass(0)
    this.#line.disturb()
    for (let isOpen = false; !isOpen; isOpen = await this.#isOpen()) {
      this.#ask({ type: 'set-mode', mode: 'open' })
      await this.#pass(10_000)
    }
    for (let n = 0; n < SETTLE_TIMES; n++) {
      await this.#pass(SETTLE_MS)
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
    const status = await this.#until(this.#server.probe!.queueStatus())
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
      await this.#pass(20_000)
      this.#start({ do: 'start', test, ...op }, '/b/last')
      await this.#pass(SETTLE_MS)
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
    const all = await journal.readAll({ limit: 1_000 })
    const records = new Map<string, TestRecord>()
    for (const { key, value } of await journal.readRecords(TESTS, ''))
      records.set(key, JSON.parse(value) as TestRecord)
    const streams = Map.groupBy(all, ({ stream }) => testOfStream(stream) ?? '')
    for (const [testId, stored] of streams) {
      const folded = fold(
        testId,
        stored.map(({ data }) => eventOf(data)),
      )
      this.#same(folded, records.get(testId), `the record of ${testId} is not its history`)
      if (folded !== undefined && isLive(folded)) this.#stop(`${testId} is live at the end`)
      records.delete(testId)
    }
    if (records.size > 0) this.#stop(`${[...records.keys()].join()}: records without a history`)
    const live = await journal.readRecords('probe-live', '')
    if (live.length > 0) this.#stop(`${live.length} tests are looked after for ever`)
    const ordered = (await journal.readRecords('probe-order', '')).map(({ value }) => value)
    const present = [...this.#book.tests.values()].filter(({ isForgotten }) => !isForgotten)
    this.#same(
      ordered.toSorted(),
      present.map(({ testId }) => testId).toSorted(),
      'the order of tests is not of all of them',
    )
  }

  #same(a: unknown, b: unknown, otherwise: string): void {
    try {
      deepStrictEqual(a, b)
    } catch {
      this.#stop(otherwise)
    }
  }
}

type Unasked = QueueRequest extends infer R
  ? R extends unknown
    ? Omit<R, 'replyTo'>
    : never
  : never

function isHarm(op: Op): boolean {
  return ['end', 'throw', 'crash', 'restart', 'lose-consumer'].includes(op.do)
}

function idOf(test: number): string {
  return `t${test}`
}

function hop(): Promise<void> {
  return new Promise(afterIo)
}
