/** Runs one program on the kernel and on the model at once, to the first violation or the end. */
import { afterIo, random, type Random } from '../../src/std/index.ts'
import { Acts } from './acts.ts'
import { checkAll, checkAtRest, checkEnd } from './checks.ts'
import { Handlers } from './handlers.ts'
import { isIdle, sameBeginning, watchThread, watchTurns, type TurnWatch } from './inside.ts'
import type { Accounts } from './model/accounts.ts'
import { Pair, type Mode, type Violation } from './pair.ts'
import { IDLE, type Op, type Outcome, type Program } from './program.ts'
import type { Promised } from './promised.ts'

/** Rounds of giving everybody what he waits for, after which nobody may wait. */
const ROUNDS_MAX = 40
/** Turns after which a system that has not come to rest is stuck. */
const TURNS_MAX = 50_000
/** Letters after which the insides are looked at now and then instead of after every turn. */
const LETTERS_LOOKED_AT = 400
const NOW_AND_THEN = 64

export type Result = Readonly<{ violation: Violation | undefined; accounts: Accounts }>

export function run(program: Program, mode: Mode): Promise<Result> {
  return new Run(program, mode).toTheEnd()
}

class Run {
  readonly #pair: Pair
  readonly #acts: Acts
  readonly #draw: Random
  #unlisten: (() => void) | undefined

  constructor(program: Program, mode: Mode) {
    this.#pair = new Pair(program, mode)
    const handlers: Handlers = new Handlers(this.#pair, () => this.#acts)
    this.#acts = new Acts(this.#pair, (actor) => handlers.first(actor))
    this.#draw = random(program.seed).fork()
  }

  async toTheEnd(): Promise<Result> {
    const pair = this.#pair
    this.#watch()
    for (const op of pair.program.ops) {
      await this.#do(op)
      checkAll(pair, 'after the step')
      if (pair.isOver) break
      pair.step++
    }
    if (!pair.isOver) await this.#windDown()
    this.#unlisten?.()
    if (pair.isOver) await this.#abandon()
    if (pair.mode === 'express') watchThread(undefined)
    return { violation: pair.violation, accounts: pair.model.accounts }
  }

  #watch(): void {
    const pair = this.#pair
    const watch: TurnWatch = {
      onTake: (cell) => pair.onTake(cell),
      onSettle: (cell) => pair.onSettle(cell),
    }
    if (pair.mode === 'express') {
      sameBeginning(pair.program.tickMs)
      watchThread(watch)
    } else pair.onFirst = (cell) => watchTurns(cell.core.ready, watch)
  }

  async #do(op: Op): Promise<void> {
    this.#pair.noticeEnd()
    const { promises, subjects } = this.#pair
    if (subjects.length === 1 && op.type !== 'spawn') return
    const acts = this.#acts
    switch (op.type) {
      case 'flood':
        for (let i = 0; i < op.count; i++) acts.send(op.to, IDLE, { inContext: false })
        break
      case 'offer':
        acts.offer(op.to, op.script)
        break
      case 'address':
        acts.address(op.actor)
        break
      case 'tell-at':
        acts.tellAt(op.address, op.script)
        break
      case 'settle':
        await this.#settle(promises[op.promise % promises.length], op.outcome)
        break
      case 'advance':
        this.#advance(op.ms)
        break
      case 'turns':
        for (const pick of op.picks) await this.#turn((count) => pick % count)
        break
      case 'rest':
        await this.#rest()
        break
      case 'listen':
        this.#listen()
        break
      case 'send':
      case 'spawn':
      case 'stop':
      case 'suspend':
      case 'resume':
      case 'signal':
        acts.perform(op)
    }
  }

  #listen(): void {
    if (this.#unlisten === undefined) {
      this.#unlisten = this.#pair.system.trace(() => undefined)
    } else {
      this.#unlisten()
      this.#unlisten = undefined
    }
  }

  #advance(ms: number): void {
    const pair = this.#pair
    const { agenda } = pair.model
    pair.noticeEnd()
    agenda.advance(ms)
    pair.isAdvancing = true
    agenda.catchUp(() => pair.model.hookDue !== undefined)
    pair.clock.advance(ms)
    pair.isAdvancing = false
  }

  async #settle(promised: Promised<unknown> | undefined, outcome: Outcome): Promise<void> {
    if (promised === undefined || promised.isSettled) return
    for (const act of promised.acts) this.#acts.perform(act)
    promised.settle(outcome)
    await Promise.resolve()
  }

  /** One turn of one actor, or of the event loop; false where nobody has anything to do. */
  async #turn(choose: (count: number) => number): Promise<boolean> {
    const { stepped } = this.#pair
    if (stepped === undefined) {
      await new Promise<void>(afterIo)
      return !this.#isIdle()
    }
    return stepped.readyDepth > 0 && stepped.step(choose)
  }

  #isIdle(): boolean {
    return isIdle(this.#pair.known.map(({ cell }) => cell))
  }

  async #rest(): Promise<void> {
    const pair = this.#pair
    for (let turns = 1; await this.#turn((count) => this.#draw.below(count)); turns++) {
      const look = this.#acts.letters < LETTERS_LOOKED_AT || turns % NOW_AND_THEN === 0
      if (look) checkAll(pair, 'on the way to rest')
      pair.expect(turns < TURNS_MAX, () => 'the system does not come to rest')
      if (pair.isOver) return
    }
    checkAtRest(pair)
  }

  /** Gives everybody what he waits for, then ends the system. */
  async #windDown(): Promise<void> {
    const pair = this.#pair
    await this.#rest()
    for (let round = 0; round < ROUNDS_MAX && this.#waits() && !pair.isOver; round++) {
      for (const promised of pair.promises) await this.#settle(promised, 'ok')
      for (const [token, { model }] of pair.tokens.entries()) {
        if (model.active) this.#acts.perform({ type: 'resume', token })
      }
      this.#advance(10)
      await this.#rest()
    }
    pair.expect(!this.#waits(), () => 'somebody waits though he has what he waits for')
    if (pair.isOver) return
    pair.model.requestStop(pair.model.root, 'system-stopped')
    const report = pair.system.stop()
    for (let round = 0; round < ROUNDS_MAX && pair.model.root.state !== 'stopped'; round++) {
      await this.#rest()
      if (pair.isOver) return
      for (const promised of pair.promises) await this.#settle(promised, 'ok')
    }
    await this.#rest()
    if (pair.isOver) return
    const { overdue } = await report
    pair.expect(overdue.length === 0, () => `${overdue.join(', ')} ended too late`)
    await checkEnd(pair)
  }

  #waits(): boolean {
    const { promises, model } = this.#pair
    if (promises.some((promised) => !promised.isSettled)) return true
    return model.actors.some((actor) => {
      const { tokens, system, waiters, hasMail, awaiting, state } = actor
      const waits = tokens.size + system.length + waiters.length > 0
      return state !== 'stopped' && (waits || hasMail || awaiting !== undefined)
    })
  }

  /** After a violation the thread must be free for the next program. */
  async #abandon(): Promise<void> {
    void this.#pair.system.stop({ deadlineMs: 0 })
    this.#pair.clock.advance(1)
    for (let i = 0; i < 100 && this.#pair.mode === 'express' && !this.#isIdle(); i++) {
      await new Promise<void>(afterIo)
    }
  }
}
