/**
 * A simple kernel to compare the real one with: arrays for mailboxes, sets for tokens, no lanes.
 *
 * It says what each actor's next message is, who may run, what a tell answers and what every number
 * is. Who runs when is left to the kernel: the model is told of each turn and says what must happen
 * in it. It is always told first, so what the kernel then does can be compared at once.
 *
 * The one thing it has to wait for is an `onStop`, which is code of the actor's: then `hookDue` is
 * set, and whatever was under way goes on when the hook has returned.
 */
import type { Supervision } from '../../src/kernel/index.ts'
import { Accounts } from './model/accounts.ts'
import {
  ModelActor,
  type Cause,
  type Entry,
  type Letter,
  type ModelToken,
  type RunningTimer,
  type SystemWork,
} from './model/actor.ts'
import { Agenda } from './model/agenda.ts'
import {
  arm,
  Slot,
  type Disarm,
  type ModelCondition,
  type Surroundings,
} from './model/conditions.ts'
import { Post, remove } from './model/post.ts'
import type { Nature } from './program.ts'

/** What came of a turn. */
export type Ending =
  | Readonly<{ type: 'ok' | 'stopped' | 'stashed' | 'failed' }>
  | Readonly<{ type: 'become'; behavior: number }>
  | Readonly<{ type: 'async'; slot: Slot }>

const NO_ENTRY: Entry = { letter: undefined }

export class Model implements Surroundings {
  readonly agenda: Agenda = new Agenda()
  readonly accounts: Accounts = new Accounts()
  readonly post: Post
  readonly root: ModelActor
  readonly actors: ModelActor[] = []
  /** The actor whose `onStop` the kernel must call before anything else. */
  hookDue: ModelActor | undefined
  /** Whoever looks for room once that hook has been called. */
  #looksForRoom: ModelActor | undefined
  readonly #signals = new Map<string, Set<() => void>>()
  readonly #sticky = new Set<string>()
  /** Whether the kernel ends it within the call: allowed only where nothing holds it. */
  readonly #endsAtOnce: (actor: ModelActor) => boolean

  constructor(nature: Nature, endsAtOnce: (actor: ModelActor) => boolean) {
    this.root = new ModelActor(0, undefined, nature)
    this.actors.push(this.root)
    this.#endsAtOnce = endsAtOnce
    this.post = new Post(this.accounts, {
      hold: (sender) => this.#token(sender),
      resume: (token) => this.resume(token),
    })
  }

  spawn(parent: ModelActor, nature: Nature): ModelActor {
    const child = new ModelActor(this.actors.length, parent, nature)
    parent.children.push(child)
    this.actors.push(child)
    this.accounts.spawned++
    return child
  }

  // Suspending

  suspend(actor: ModelActor, condition: ModelCondition): ModelToken {
    const token = this.#token(actor)
    if (!token.active) return token
    const disarm = arm(condition, this, () => {
      if (token.active) this.resume(token)
    })
    if (token.active) token.disarm = disarm
    else disarm()
    return token
  }

  resume(token: ModelToken): void {
    if (!token.active) {
      this.accounts.unbalanced++
      return
    }
    this.#giveBack(token)
    this.accounts.resumes++
  }

  #token(actor: ModelActor): ModelToken {
    const token = { actor, active: actor.state === 'alive', disarm: () => undefined }
    if (token.active) {
      actor.tokens.add(token)
      this.accounts.suspends++
    }
    return token
  }

  #giveBack(token: ModelToken): void {
    token.active = false
    token.disarm()
    token.actor.tokens.delete(token)
  }

  /** Says how many it woke. */
  signal(key: string, sticky: boolean): number {
    const waiting = this.#signals.get(key) ?? new Set()
    if (waiting.size === 0 && sticky) this.#sticky.add(key)
    this.#signals.delete(key)
    let woken = 0
    for (const fire of waiting) {
      woken++
      fire()
    }
    return woken
  }

  waitForSignal(key: string, fire: () => void): Disarm {
    if (this.#sticky.delete(key)) {
      fire()
      return () => undefined
    }
    const waiting = this.#signals.get(key) ?? new Set()
    this.#signals.set(key, waiting)
    waiting.add(fire)
    return () => void waiting.delete(fire)
  }

  waitForRoom(target: ModelActor, wants: number, fire: () => void): Disarm {
    return this.post.waitForRoom(target, wants, fire)
  }

  // Turns

  /** The next message of an actor, which a turn begins with. */
  take(actor: ModelActor): Entry | undefined {
    while (this.shed(actor));
    const entry = actor.ahead ?? actor.queue.shift()
    actor.ahead = undefined
    entry?.pledge?.onTaken()
    return entry
  }

  /** Passes over one promised letter that was withdrawn while it waited; false where none is next. */
  shed(actor: ModelActor): boolean {
    const next = actor.ahead ?? actor.queue[0]
    if (next?.pledge?.isWithdrawn !== true) return false
    this.accounts.met['a promised letter withdrawn']++
    if (actor.ahead === undefined) actor.queue.shift()
    actor.ahead = undefined
    this.post.letIn(actor)
    return true
  }

  /** The handler has returned or thrown. `boxed` says whether the message came from the mailbox. */
  end(actor: ModelActor, entry: Entry, ending: Ending, boxed: boolean): void {
    this.#conclude(actor, entry, ending)
    if (!boxed) return
    if (this.hookDue === undefined) this.post.letIn(actor)
    else this.#looksForRoom = actor
  }

  #conclude(actor: ModelActor, entry: Entry, ending: Ending): void {
    if (ending.type === 'failed') {
      this.fail(actor, entry)
      return
    }
    if (ending.type === 'async') {
      this.#await(actor, entry, ending.slot)
      return
    }
    if (entry.letter === undefined) actor.started = true
    else if (ending.type !== 'stashed') this.accounts.done.add(entry.letter)
    if (actor.failing?.entry === entry) actor.failing = undefined
    if (ending.type === 'stopped') this.requestStop(actor, 'stopped')
    if (ending.type === 'become') actor.behavior = ending.behavior
  }

  #await(actor: ModelActor, entry: Entry, slot: Slot): void {
    actor.awaiting = { entry, slot }
    const { handlerMs } = actor.nature
    if (handlerMs === undefined) return
    actor.awaiting.limit = this.agenda.book(handlerMs, () => {
      this.accounts.met['a handler overdue']++
      actor.awaiting = undefined
      this.fail(actor, entry)
    })
  }

  /** The promise of an async handler settles; undefined where nobody waits for it any more. */
  awaited(actor: ModelActor, slot: Slot): Entry | undefined {
    const { awaiting } = actor
    if (awaiting?.slot !== slot) {
      this.accounts.met['a promise settled for nobody']++
      return undefined
    }
    actor.awaiting = undefined
    if (awaiting.limit !== undefined) this.agenda.cancel(awaiting.limit)
    return awaiting.entry
  }

  /** Puts a letter aside; false where the stash is full. */
  putAside(actor: ModelActor, letter: Letter): boolean {
    const isFull = actor.stash.length >= actor.nature.stash
    this.accounts.met[isFull ? 'a stash full' : 'a letter put aside']++
    if (!isFull) actor.stash.push(letter)
    return !isFull
  }

  unstash(actor: ModelActor): void {
    actor.queue.unshift(...actor.stash.map((letter) => ({ letter })))
    actor.stash = []
  }

  // Timers and watches

  setTimer(
    actor: ModelActor,
    timer: Readonly<{ key: string; ms: number; every: boolean }>,
    letter: Letter,
  ): void {
    const { key, ms, every } = timer
    this.cancelTimer(actor, key)
    if (actor.state !== 'alive') return
    let isQueued = false
    const onTaken = (): void => {
      isQueued = false
      if (!every && actor.timers.get(key) === running) actor.timers.delete(key)
    }
    const expire = (): void => {
      if (actor.state === 'alive' && !isQueued) {
        isQueued = true
        actor.queue.push({ letter, pledge: running.pledge })
      }
      if (every) running.at = this.agenda.book(ms, expire)
    }
    const running: RunningTimer = {
      pledge: { isWithdrawn: false, isOfLife: true, onTaken },
      at: this.agenda.book(ms, expire),
    }
    actor.timers.set(key, running)
  }

  cancelTimer(actor: ModelActor, key: string): void {
    const running = actor.timers.get(key)
    if (running === undefined) return
    actor.timers.delete(key)
    running.pledge.isWithdrawn = true
    this.agenda.cancel(running.at)
  }

  watch(watcher: ModelActor, target: ModelActor, letter: Letter): void {
    this.unwatch(watcher, target)
    if (target.state === 'stopped') this.#tellEnd(watcher, target, letter)
    else target.watchers.push({ watcher, letter })
  }

  unwatch(watcher: ModelActor, target: ModelActor): void {
    target.watchers = target.watchers.filter((each) => each.watcher !== watcher)
    const pledge = watcher.endings.get(target)
    if (pledge !== undefined) pledge.isWithdrawn = true
    watcher.endings.delete(target)
  }

  #tellEnd(watcher: ModelActor, target: ModelActor, letter: Letter): void {
    if (watcher.state !== 'alive') return
    const onTaken = (): void => void watcher.endings.delete(target)
    const pledge = { isWithdrawn: false, isOfLife: false, onTaken }
    watcher.endings.set(target, pledge)
    watcher.queue.push({ letter, pledge })
  }

  // Failing

  /** Without an entry it fails for a child that left it to its parent. */
  fail(actor: ModelActor, entry: Entry | undefined): void {
    this.accounts.failures++
    if (actor.state !== 'alive' || actor.restarting) this.#drop(entry)
    else this.#supervise(actor, entry, actor.nature.supervision)
  }

  #drop(entry: Entry | undefined): void {
    if (entry?.letter !== undefined) this.accounts.dropped.add(entry.letter)
  }

  /** `tried`: how often those retries ran it again of which this is what follows. */
  #supervise(
    actor: ModelActor,
    entry: Entry | undefined,
    supervision: Supervision,
    tried = 0,
  ): void {
    if (supervision.type === 'retry') {
      const { failing } = actor
      const attempts = failing !== undefined && failing.entry === entry ? failing.attempts : 0
      if (entry === undefined || attempts - tried >= supervision.max) {
        this.#supervise(actor, entry, supervision.otherwise, tried + supervision.max)
        return
      }
      actor.failing = { entry, attempts: attempts + 1 }
      actor.ahead = entry
      this.accounts.retries++
      this.#pause(actor, pause(supervision, attempts + 1 - tried))
      return
    }
    if (entry !== undefined) actor.failing = undefined
    this.#drop(entry)
    switch (supervision.type) {
      case 'resume':
        return
      case 'restart': {
        const recent = actor.restarts.filter((at) => at > this.agenda.now - supervision.windowMs)
        if (recent.length < supervision.max) {
          actor.restarts = [...recent, this.agenda.now]
          this.#beginRestart(actor, pause(supervision, actor.restarts.length))
        } else if (supervision.otherwise.type === 'stop') this.requestStop(actor, 'restart-limit')
        else this.#supervise(actor, undefined, supervision.otherwise)
        return
      }
      case 'stop':
        this.requestStop(actor, 'failed')
        return
      case 'escalate':
        this.#escalate(actor)
    }
  }

  #pause(actor: ModelActor, ms: number): void {
    if (ms > 0) this.suspend(actor, { type: 'after', ms })
  }

  #escalate(child: ModelActor): void {
    this.accounts.escalations++
    const { parent } = child
    if (parent === undefined || parent === this.root) this.requestStop(child, 'failed')
    else parent.system.push({ type: 'child-failed', token: this.#token(child) })
  }

  // Ending

  requestStop(actor: ModelActor, cause: Cause): void {
    if (actor.state !== 'alive') return
    const free = actor.children.length === 0 && actor.waiters.length === 0
    const atOnce = free && actor.system.length === 0 && this.#endsAtOnce(actor)
    actor.state = 'stopping'
    actor.cause = cause
    if (atOnce) this.#beginStop(actor)
    else actor.system.unshift({ type: 'stop' })
  }

  /** What concerns the actor itself goes before its messages, also while it rests. */
  runSystem(actor: ModelActor): void {
    while (this.hookDue === undefined) {
      const work = actor.system.shift()
      if (work === undefined) return
      this.#work(actor, work)
    }
  }

  #work(actor: ModelActor, work: SystemWork): void {
    switch (work.type) {
      case 'stop':
        this.#beginStop(actor)
        return
      case 'child-ended':
        if (actor.state === 'stopping' || actor.restarting) this.#proceed(actor)
        return
      case 'child-failed':
        if (actor.state !== 'alive') return
        this.fail(actor, undefined)
        if (actor.state === 'alive' && !actor.restarting && work.token.active) {
          this.resume(work.token)
        }
    }
  }

  #beginStop(actor: ModelActor): void {
    if (actor.tokens.size > 0) this.accounts.met['a stop while suspended']++
    if (actor.restarting) this.accounts.met['a stop during a restart']++
    else this.#giveUpLife(actor)
    actor.restarting = false
    this.#letGo(actor)
    this.#proceed(actor)
  }

  #letGo(actor: ModelActor): void {
    for (const token of actor.tokens) this.#giveBack(token)
    this.post.dropHeld(actor)
  }

  #beginRestart(actor: ModelActor, ms: number): void {
    actor.restarting = true
    this.#giveUpLife(actor)
    actor.failing = undefined
    this.#pause(actor, ms)
    this.#proceed(actor)
  }

  #giveUpLife(actor: ModelActor): void {
    if (actor.ahead?.letter === undefined) actor.ahead = undefined
    if (actor.awaiting !== undefined) {
      const { entry, limit } = actor.awaiting
      if (actor.restarting) this.accounts.met['a restart while awaiting']++
      if (limit !== undefined) this.agenda.cancel(limit)
      this.#drop(entry)
      actor.awaiting = undefined
    }
    for (const key of actor.timers.keys()) this.cancelTimer(actor, key)
    for (const { pledge } of [actor.ahead ?? NO_ENTRY, ...actor.queue]) {
      if (pledge?.isOfLife === true) pledge.isWithdrawn = true // it may wait for its retry
    }
    this.unstash(actor)
  }

  #proceed(actor: ModelActor): void {
    for (let child = actor.children.at(-1); child !== undefined; child = actor.children.at(-1)) {
      this.requestStop(child, 'parent-stopped')
      if (child.state !== 'stopped') return
    }
    if (actor.closing) return
    actor.closing = true
    if (actor.nature.hook !== 'none' && actor.started) this.hookDue = actor
    else this.#goOn(actor)
  }

  /** The kernel has called the hook that was due. */
  hookReturned(actor: ModelActor, how: 'returns' | 'throws' | Slot): void {
    this.hookDue = undefined
    if (how === 'throws') this.accounts.failures++
    if (!(how instanceof Slot)) this.#goOn(actor)
    else {
      how.listener = (outcome) => {
        if (outcome === 'reject') this.accounts.failures++
        this.#goOn(actor)
      }
    }
    const looks = this.#looksForRoom
    this.#looksForRoom = undefined
    if (looks !== undefined) this.post.letIn(looks)
  }

  /** A life has ended, with its one hook: that was all, or another begins. */
  #goOn(actor: ModelActor): void {
    actor.closing = false
    if (actor.state === 'stopping') {
      if (actor.restarting) this.#letGo(actor) // asked to stop while its hook was on its way
      this.#finish(actor)
      return
    }
    actor.restarting = false
    actor.behavior = 0
    actor.started = !actor.nature.setup
    this.accounts.restarts++
    if (!actor.nature.setup) return
    // The start comes first, then what waits for its retry.
    if (actor.ahead !== undefined) actor.queue.unshift(actor.ahead)
    actor.ahead = { letter: undefined }
  }

  #finish(actor: ModelActor): void {
    const { parent } = actor
    actor.state = 'stopped'
    actor.restarting = false
    actor.system.length = 0
    this.accounts.stopped++
    if (parent !== undefined) remove(parent.children, actor)
    for (const { letter } of [...(actor.ahead ? [actor.ahead] : []), ...actor.queue]) {
      if (letter?.promised === false) this.accounts.bury(letter, 'stopped')
    }
    actor.ahead = undefined
    actor.queue = []
    this.post.letIn(actor)
    for (const other of this.actors) this.unwatch(actor, other)
    for (const { watcher, letter } of actor.watchers) this.#tellEnd(watcher, actor, letter)
    actor.watchers = []
    if (parent === undefined || (parent.state !== 'stopping' && !parent.restarting)) return
    const noted = parent.system.some((work) => work.type === 'child-ended')
    if (!noted) parent.system.push({ type: 'child-ended' })
  }

  /** Mail of an actor that is about to end has come to its end before it. */
  buryEarly(letter: Letter): boolean {
    const at = letter.to.queue.findIndex((entry) => entry.letter === letter)
    if (letter.to.state !== 'stopping' || at < 0) return false
    letter.to.queue.splice(at, 1)
    this.accounts.bury(letter, 'stopped')
    return true
  }
}

function pause(
  supervision: Extract<Supervision, { type: 'retry' | 'restart' }>,
  attempt: number,
): number {
  const { minMs, maxMs, factor } = supervision.backoff
  return Math.min(maxMs, minMs * factor ** (attempt - 1))
}
