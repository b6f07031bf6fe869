/**
 * Programs for queues, several at a time over one broker, on a seed.
 *
 * Each program has a queue with a config of its own and a queue for its dead letters; clients send, receive and
 * settle without waiting for each other. The journal is slow, refuses, and leaves open what it has done; the power
 * fails at any moment. After each failure and at the end, what is there is held against what the clients know.
 */
import { inspect, isDeepStrictEqual } from 'node:util'

import {
  createBroker,
  type Broker,
  type NewMessage,
  type QueueConfig,
  type QueueName,
  type Settlement,
} from '../../../src/broker/index.ts'
import type { Journal } from '../../../src/journal/index.ts'
import { isFault, type Fault, type Random } from '../../../src/std/index.ts'
import type { World } from '../../../src/testkit/index.ts'
import { elsewhere, type Engine } from './engines.ts'
import { Reference, type Hold, type Known, type Where } from './known.ts'

export type Run = Readonly<{
  violations: readonly string[]
  /** What has happened, so that one can see that something has. */
  tally: Readonly<Record<string, number>>
}>

/** Programs that are played at a time, and how many steps there are for each. */
export const PROGRAMS = 12
const STEPS_EACH = 9
const GROUPS = ['a', 'b', 'c'] as const
const VISIBILITY_MS = 5_000
/** Virtual time in which everything comes to rest. */
const REST_MS = 20_000
/** Refusals that leave open what has happened. */
const OPEN: ReadonlySet<string> = new Set(['unknown-outcome', 'broker-closed'])

type Program = {
  readonly name: QueueName
  readonly dead: QueueName
  readonly reference: Reference
  readonly holds: Hold[]
  sent: number
  pauses: number
}

export async function play(
  earth: World,
  engine: Engine,
  programs: number = PROGRAMS,
): Promise<Run> {
  const run = new Play(earth, engine, programs)
  try {
    await run.begin()
    await run.act()
    return await run.end()
  } finally {
    await engine.end()
    await earth.stop()
  }
}

class Play {
  readonly #earth: World
  readonly #engine: Engine
  readonly #draw: Random
  readonly #size: number
  readonly #programs: Program[] = []
  readonly #violations: string[] = []
  readonly #tally: Record<string, number> = {}
  #journal!: Journal
  #broker!: Broker
  #life = 0

  constructor(earth: World, engine: Engine, count: number) {
    this.#size = count
    this.#earth = earth
    this.#engine = engine
    this.#draw = earth.random
  }

  async begin(): Promise<void> {
    await this.#start()
    for (let n = 0; n < this.#size; n++) this.#programs.push(this.#program(n))
    for (const { name, reference } of this.#programs)
      await this.#again(() => this.#broker.create(name, reference.config, { ifExists: 'update' }))
  }

  async act(): Promise<void> {
    const draw = this.#draw
    for (let n = 0; n < this.#size * STEPS_EACH; n++) {
      if (this.#journal.state === 'failed') await this.#crash()
      const dice = draw.below(1_000)
      if (dice < 12) await this.#crash()
      else if (dice < 18) await this.#restart()
      else for (let ops = 1 + draw.below(4); ops > 0; ops--) this.#op(draw.pick(this.#programs))
      if (draw.below(3) > 0)
        await this.#pass(draw.below(8) === 0 ? draw.below(4_000) : draw.below(20))
    }
  }

  async end(): Promise<Run> {
    this.#engine.makeRoom()
    await this.#rest()
    await this.#restart()
    await this.#rest()
    await this.#checkAll()
    for (const program of this.#programs) await this.#drain(program)
    for (const { reference, name } of this.#programs)
      this.#violations.push(...reference.violations.map((each) => `${name.name}: ${each}`))
    for (const { actor, error } of this.#earth.failures)
      this.#violations.push(`${actor} failed: ${inspect(error)}`)
    await this.#until(this.#broker.close())
    return { violations: this.#violations, tally: this.#tally }
  }

  #program(n: number): Program {
    const draw = this.#draw
    const fifo = draw.below(4) === 0
    const suffix = fifo ? '.fifo' : ''
    const name = `q${n}${suffix}`
    const dead = `d${n}${suffix}`
    const overflow = draw.pick(['reject', 'drop-oldest', 'dead-letter-oldest', 'block'] as const)
    const config: Partial<QueueConfig> = {
      fifo,
      visibilityMs: VISIBILITY_MS,
      maxReceives: 1 + draw.below(4),
      deadLetterQueue: dead,
      ...(draw.below(3) === 0 && { backoff: { baseMs: 50, factor: 2, maxMs: 400, jitter: 0 } }),
      ...(draw.below(3) === 0 && { maxLength: 2 + draw.below(6), overflow, blockMs: 500 }),
      ...(draw.below(3) === 0 && { onExpire: 'dead-letter' as const }),
      ...(fifo && { dedupWindowMs: 3_600_000 }),
      ...(draw.below(4) === 0 && { delayMs: 20 }),
    }
    const place = { account: '1', region: 'r' }
    return {
      name: { ...place, name },
      dead: { ...place, name: dead },
      reference: new Reference(config),
      holds: [],
      sent: 0,
      pauses: 0,
    }
  }

  #op(program: Program): void {
    const dice = this.#draw.below(100)
    if (dice < 38) return this.#send(program)
    if (dice < 62) return this.#receive(program, 'main')
    if (dice < 66) return this.#receive(program, 'dead')
    if (dice < 92) return this.#settle(program)
    if (dice < 94) return this.#pause(program)
    if (dice < 95) return this.#purge(program)
    if (dice < 98) return this.#redrive(program)
    return this.#follow('stats', this.#broker.stats(program.name), () => undefined)
  }

  #send(program: Program): void {
    const draw = this.#draw
    const { reference, name } = program
    const { fifo = false, overflow, delayMs: usual = 0 } = reference.config
    const count = draw.below(4) === 0 ? 1 + draw.below(5) : 1
    const knowns: Known[] = []
    const messages: NewMessage[] = []
    if (overflow === 'drop-oldest') for (const each of reference.byTag.values()) each.uncertain++
    if (overflow === 'dead-letter-oldest')
      for (const each of reference.byTag.values()) each.mayHaveMoved = true
    for (let n = 0; n < count; n++) {
      const tag = `${name.name}-${program.sent++}`
      const delayMs = !fifo && draw.below(5) === 0 ? draw.below(300) : usual
      const ttlMs = draw.below(8) === 0 ? 1 + draw.below(1_000) : Infinity
      const group = fifo || draw.below(3) === 0 ? draw.pick(GROUPS) : undefined
      const known = reference.asked(tag, this.#now, { group, ttlMs }, delayMs)
      if (overflow === 'drop-oldest') known.uncertain++
      if (overflow === 'dead-letter-oldest') known.mayHaveMoved = true
      knowns.push(known)
      messages.push({
        body: tag,
        delayMs,
        ...(draw.below(3) === 0 && { priority: draw.below(256) }),
        ...(ttlMs !== Infinity && { ttlMs }),
        ...(group !== undefined && { group }),
        ...(fifo && { dedupId: tag }),
      })
    }
    this.#sendAll(program, messages, knowns)
    // The same again, whatever has become of the first: it is one message.
    if (fifo && draw.below(4) === 0) this.#sendAll(program, messages, knowns)
  }

  #sendAll(program: Program, messages: readonly NewMessage[], knowns: readonly Known[]): void {
    for (const known of knowns) known.pending++
    this.#follow('send', this.#broker.send(program.name, messages), (answers) => {
      for (const [index, known] of knowns.entries()) {
        const answer = answers[index]!
        known.pending--
        known.wasAnswered = true
        if (!answer.ok) {
          this.#count(answer.code)
          if (known.outcome !== 'open') continue
          if (OPEN.has(answer.code)) known.outcome = 'unsure'
          else if (known.pending === 0) known.outcome = 'refused'
          if (program.reference.config.fifo === true && this.#draw.below(2) === 0) {
            // Whoever is refused asks again, and whatever was remembered of the first is not in the way.
            known.outcome = 'open'
            this.#sendAll(program, [messages[index]!], [known])
          }
          continue
        }
        if (answer.duplicate) this.#count('duplicate')
        if (known.messageId !== undefined && known.messageId !== answer.messageId)
          program.reference.say(`${known.tag} is ${known.messageId} and ${answer.messageId}`)
        known.messageId = answer.messageId
        known.seq = answer.seq
        known.outcome = 'acked'
        known.ackedAt = Math.min(known.ackedAt, this.#now)
      }
    })
  }

  #receive(program: Program, where: Where): void {
    const draw = this.#draw
    const { name, dead, reference, holds } = program
    const visibilityMs = draw.below(4) === 0 ? 1 + draw.below(500) : VISIBILITY_MS
    const options = {
      max: 1 + draw.below(4),
      waitMs: draw.pick([0, 0, 100, 1_000]),
      visibilityMs,
    }
    const asked = this.#broker.receive(where === 'main' ? name : dead, options)
    this.#follow('receive', asked, (answer) => {
      if (isFault(answer)) return this.#count(answer.code)
      this.#count(`received ${where}`, answer.length)
      holds.push(...reference.delivered(where, answer, visibilityMs))
    })
  }

  #settle(program: Program): void {
    const draw = this.#draw
    const { name, dead, reference, holds } = program
    if (holds.length === 0) return
    const hold =
      draw.below(5) === 0 ? draw.pick(holds) : holds.at(-1 - draw.below(Math.min(4, holds.length)))!
    const { delivery, where } = hold
    const known = reference.byTag.get(delivery.body)!
    const item = this.#anyEnd(hold)
    const askedAt = this.#now
    const mayEnd = item.type !== 'extend' || item.visibilityMs === 0
    if (mayEnd && hold.life === reference.life) hold.isOver = true
    if (item.type === 'extend') hold.until = Math.min(hold.until, askedAt + item.visibilityMs)
    if (item.type === 'delete') known.uncertain++
    if (item.type === 'reject') known.mayHaveMoved = true
    const isCounted = item.type === 'release' && where === 'main'
    if (isCounted) known.releasing++
    this.#follow(
      item.type,
      this.#broker.settle(where === 'main' ? name : dead, [item]),
      ([answer]) => {
        if (isCounted) known.releasing--
        if (!answer!.ok) {
          this.#count(answer!.code)
          if (item.type === 'delete' && !OPEN.has(answer!.code)) known.uncertain--
          return
        }
        if (!answer!.effective) return this.#count('late delete')
        this.#count(item.type)
        if (item.type === 'delete') {
          known.isGone = true
          known.uncertain--
        } else if (item.type === 'extend') hold.until = askedAt + item.visibilityMs
        else if (isCounted) known.counted--
        else if (item.type === 'nack' && where === 'main' && known.holds.at(-1) === hold)
          known.notBefore = Math.max(known.notBefore, askedAt + (item.delayMs ?? 0))
      },
    )
  }

  #anyEnd({ delivery: { receipt } }: Hold): Settlement {
    const draw = this.#draw
    const dice = draw.below(100)
    if (dice < 45) return { type: 'delete', receipt }
    if (dice < 70)
      return {
        type: 'nack',
        receipt,
        reason: 'no',
        ...(draw.below(2) === 0 && { delayMs: draw.below(200) }),
      }
    if (dice < 80) return { type: 'release', receipt }
    if (dice < 94)
      return { type: 'extend', receipt, visibilityMs: draw.below(8) === 0 ? 0 : draw.below(5_000) }
    return { type: 'reject', receipt, reason: 'never' }
  }

  #pause(program: Program): void {
    const { name, reference } = program
    const receive = this.#draw.below(3) === 0
    const asked = ++program.pauses
    reference.pausedSince = Infinity
    this.#follow('pause', this.#broker.pause(name, { receive }), (answer) => {
      // Where another was asked for meanwhile, nobody knows.
      if (!receive || isFault(answer) || asked !== program.pauses) return
      reference.pausedSince = this.#now
      this.#count('paused')
    })
  }

  #purge({ name, reference }: Program): void {
    const before = [...reference.byTag.values()]
    const sure = before.filter(
      ({ outcome, holds, mayHaveMoved, ttlMs }) =>
        outcome === 'acked' && holds.length === 0 && !mayHaveMoved && ttlMs === Infinity,
    )
    for (const known of before) known.uncertain++
    this.#follow('purge', this.#broker.purge(name), (answer) => {
      if (isFault(answer)) {
        this.#count(answer.code)
        if (!OPEN.has(answer.code) && answer.code === 'purge-in-progress')
          for (const known of before) known.uncertain--
        return
      }
      this.#count('purged', answer.purged)
      for (const known of sure) if (known.holds.length === 0) known.isGone = true
    })
  }

  #redrive({ dead, reference }: Program): void {
    reference.isRedriven = true
    for (const known of reference.byTag.values()) known.mayHaveMoved = true
    const rate = this.#draw.below(3) === 0 ? { ratePerSecond: 1 + this.#draw.below(20) } : {}
    this.#follow('redrive', this.#broker.redrive(dead, rate), (answer) =>
      this.#count(isFault(answer) ? answer.code : 'redriven'),
    )
  }

  /** What comes after the end of a life is not heard. */
  #follow<T>(what: string, asking: Promise<T>, heard: (answer: T) => void): void {
    const life = this.#life
    this.#count(`asked ${what}`)
    const hear = async (): Promise<void> => {
      try {
        const answer = await asking
        if (life === this.#life) heard(answer)
      } catch (error) {
        this.#violations.push(`${what} met with ${inspect(error)}`)
      }
    }
    void hear()
  }

  async #start(): Promise<void> {
    for (;;) {
      this.#journal = await this.#until(this.#engine.open())
      try {
        this.#broker = await this.#until(
          createBroker({
            system: this.#earth.system,
            journal: this.#journal,
            random: this.#draw.fork(),
          }),
        )
        return
      } catch {
        // The journal has its troubles at the start, too: then it is started again.
        await this.#until(this.#journal.close().catch(() => undefined))
        this.#count('started in vain')
      }
    }
  }

  async #crash(): Promise<void> {
    this.#count('crashes')
    this.#life++
    const { refusals } = this.#broker.metrics()
    await this.#engine.crash()
    await this.#until(this.#broker.close())
    for (const { reference } of this.#programs) reference.crashed(refusals)
    await this.#start()
    for (const program of this.#programs) await this.#check(program, true)
  }

  async #restart(): Promise<void> {
    this.#count('restarts')
    await this.#until(this.#broker.close())
    await this.#pass(0)
    this.#life++
    const { refusals } = this.#broker.metrics()
    for (const { reference } of this.#programs) reference.crashed(refusals)
    await this.#until(this.#journal.close().catch(() => undefined))
    await this.#start()
  }

  async #checkAll(): Promise<void> {
    for (const program of this.#programs) await this.#check(program, false)
  }

  async #check({ name, dead, reference }: Program, hasCrashed: boolean): Promise<void> {
    const main = await this.#content(name)
    let letters = await this.#content(dead)
    if (main === undefined || letters === undefined) return
    // A message may have gone from one to the other while one looked: what is the same twice is what is there.
    if (!hasCrashed)
      for (let before = main, tries = 0; tries < 20; tries++) {
        const now = this.#now
        const again = await this.#content(name)
        const lettersAgain = await this.#content(dead)
        if (again === undefined || lettersAgain === undefined) return
        if (isDeepStrictEqual([again, lettersAgain], [before, letters]))
          return reference.checkContent(now, again, lettersAgain)
        before = again
        letters = lettersAgain
        if (tries === 19) this.#count('never at rest')
      }
    else reference.checkPrefix(new Set([...main, ...letters].map(({ body }) => body)))
  }

  async #content(name: QueueName): Promise<readonly Readonly<{ body: string }>[] | undefined> {
    for (let tries = 0; tries < 20; tries++) {
      const found = await this.#until(this.#broker.browse(name, { limit: 1_000 })).catch(
        () => undefined,
      )
      if (found?.ok === true) return found.messages.map(({ body }) => ({ body }))
      if (found?.code === 'no-such-queue') return []
      await this.#pass(200)
    }
    return undefined
  }

  /** Everything that must be there is handed out, and is gone when it was deleted. */
  async #drain(program: Program): Promise<void> {
    const { name, dead, reference } = program
    const wanted = new Set<string>()
    for (const known of reference.byTag.values())
      if (reference.mustBeThere(known, this.#now + REST_MS)) wanted.add(known.tag)
    reference.pausedSince = Infinity
    await this.#again(() => this.#broker.pause(name, { receive: false }))
    for (const queue of reference.isRedriven ? [name, dead, name, dead] : [name, dead])
      // A group waits as long as one of it is on its way to the dead letters, and a troubled journal takes its time.
      for (let rounds = 0, empty = 0; rounds < 200 && empty < (wanted.size > 0 ? 5 : 1); rounds++) {
        const got = await this.#until(
          this.#broker.receive(queue, { max: 10, waitMs: 6_000, visibilityMs: 2_000 }),
        )
        if (isFault(got)) {
          if (got.code === 'no-such-queue') break
          if (this.#journal.state === 'failed') return this.#count('failed at the end')
          continue
        }
        empty = got.length === 0 ? empty + 1 : 0
        for (const { body } of got) wanted.delete(body)
        const items = got.map(({ receipt }) => ({ type: 'delete', receipt }) as const)
        await this.#until(this.#broker.settle(queue, items))
      }
    for (const tag of wanted) reference.say(`${tag} was not handed out at the end`)
  }

  /** Asked until it is answered with something else than a fault. */
  async #again<T>(ask: () => Promise<T | Fault>): Promise<void> {
    for (let tries = 0; tries < 50; tries++) {
      if (!isFault(await this.#until(ask()))) return
      if (this.#journal.state === 'failed') await this.#crash()
      await this.#pass(100)
    }
  }

  async #rest(): Promise<void> {
    await this.#pass(REST_MS)
    if (this.#journal.state === 'failed') await this.#crash()
    await this.#pass(REST_MS)
  }

  async #pass(ms: number): Promise<void> {
    await this.#earth.advance(ms)
    for (let calm = 0; calm < (this.#engine.isReal ? 3 : 0);) {
      if (this.#engine.isBusy) await this.#engine.progress()
      await elsewhere()
      await this.#earth.advance(0)
      calm = this.#engine.isBusy ? 0 : calm + 1
    }
  }

  async #until<T>(goal: Promise<T>): Promise<T> {
    if (!this.#engine.isReal) return this.#earth.until(goal)
    const progress = { isOver: false }
    const end = (): boolean => (progress.isOver = true)
    goal.then(end, end)
    while (!progress.isOver) {
      if (this.#engine.isBusy) await this.#engine.progress()
      await elsewhere()
      await this.#earth.advance(this.#engine.isBusy ? 0 : 10)
    }
    return goal
  }

  get #now(): number {
    return this.#earth.clock.now()
  }

  #count(what: string, times = 1): void {
    this.#tally[what] = (this.#tally[what] ?? 0) + times
  }
}
