/**
 * A queue: one actor, and everything that happens to its messages in one order.
 *
 * A turn does what one message asks for and ends with the same three steps: what is to be written goes out, who
 * waits is served, and the timer is set. Handlers never wait: what has to be waited for comes back as a message.
 */
import { setup, receive, type Behavior, type Context, type Ref } from '../kernel/index.ts'
import { READ_LIMIT_MAX, type CommitResult, type StoredRecord } from '../journal/index.ts'
import { Accident, fault, unreachable } from '../std/index.ts'
import type { Failure, MoveTask, QueueFault, QueueStats } from './broker.ts'
import { bury, remove, type Leaver } from './dying.ts'
import { PURGE_PAUSE_MS } from './limits.ts'
import { admitStored, load } from './loading.ts'
import { countsMs, nextTime, passTime, writeCounts } from './passing-time.ts'
import { extrasOf } from './message-text.ts'
import { QueueCore } from './queue-core.ts'
import {
  dismissAll,
  handBack,
  handOutRead,
  receiveFrom,
  serveWaiters,
  stopWaiting,
  type Reading,
  type Receive,
} from './receiving.ts'
import {
  beginStep,
  cancelRedrive,
  REDRIVE_STEP_MS,
  stepRedrive,
  type Redrive,
} from './redriving.ts'
import { send, sendBlocked, type Send } from './sending.ts'
import { settle, type Settle } from './settling.ts'
import type { Entry, Shared } from './shared.ts'
import { DELAYED, LEASED, NO_SLOT, READY } from './slots.ts'
import { Writing } from './writing.ts'

export type QueueMessage =
  | Send
  | Receive
  | Settle
  | Readonly<{ type: 'stop-waiting'; replyTo: Receive['replyTo'] }>
  /** A message from another queue, durable already. */
  | Readonly<{ type: 'arrived'; seq: number; text: string; bytes: number }>
  | Readonly<{ type: 'configure'; entry: Entry }>
  | Readonly<{
      type: 'purge'
      includeLeased: boolean
      replyTo: Ref<Readonly<{ ok: true; purged: number }> | QueueFault>
    }>
  | Readonly<{ type: 'redrive'; redrive: Redrive; replyTo: Ref<MoveTask | QueueFault> }>
  | Readonly<{ type: 'cancel-redrive'; replyTo: Ref<MoveTask | QueueFault> }>
  | Readonly<{ type: 'redrives'; replyTo: Ref<readonly MoveTask[]> }>
  | Readonly<{ type: 'states'; seqs: readonly number[]; replyTo: Ref<readonly SlotReport[]> }>
  | Readonly<{ type: 'stats'; replyTo: Ref<QueueStats> }>
  /** Nothing is taken any more; settles when what was begun is durable. */
  | Readonly<{ type: 'end'; reason: QueueFault; replyTo: Ref<true> }>
  | Readonly<{ type: 'written'; result: CommitResult }>
  | Readonly<{ type: 'not-written'; error: unknown }>
  | Readonly<{ type: 'texts'; reading: Reading; found: readonly StoredRecord[] }>
  | Readonly<{ type: 'no-texts'; reading: Reading; error: unknown }>
  | Readonly<{ type: 'grave'; leaver: Leaver; target: Entry | undefined; text: string | undefined }>
  | Readonly<{
      type: 'to-move'
      redrive: Redrive
      slots: readonly number[]
      texts: ReadonlyMap<number, string>
      targets: ReadonlyMap<number, Entry>
    }>
  | Readonly<{ type: 'due' | 'count' | 'step' }>

/** Where a message is, for whoever looks at it. */
export type SlotReport = Readonly<{
  seq: number
  state: 'ready' | 'delayed' | 'leased'
  dueAt: number
  receives: number
  firstReceivedAt: number
  failures: readonly Failure[] | undefined
}>

export function queue(shared: Shared, entry: Entry): Behavior<QueueMessage> {
  return setup((ctx) => {
    const actor = new QueueActor(ctx, shared, entry)
    return receive((_ctx, message) => actor.take(message))
  })
}

class QueueActor {
  readonly #ctx: Context<QueueMessage>
  readonly #core: QueueCore
  readonly #enders: Ref<true>[] = []

  constructor(ctx: Context<QueueMessage>, shared: Shared, entry: Entry) {
    this.#ctx = ctx
    const writing = new Writing(shared.journal, shared.fence, (commit) =>
      ctx.pipe<CommitResult>(
        commit,
        (result) => ({ type: 'written', result }),
        (error) => ({ type: 'not-written', error }),
      ),
    )
    this.#core = new QueueCore(shared, entry, writing, {
      readTexts: (keys, reading) =>
        ctx.pipe<readonly StoredRecord[]>(
          shared.journal.getRecords(this.#core.messages, keys),
          (found) => ({ type: 'texts', reading, found }),
          (error) => ({ type: 'no-texts', reading, error }),
        ),
      findGrave: (leaver) => this.#findGrave(leaver),
      readToMove: (redrive, slots) => this.#readToMove(redrive, slots),
    })
  }

  take(message: QueueMessage): undefined | Promise<undefined> {
    if (this.#core.isLoaded) return this.#turn(message)
    return load(this.#core).then(() => this.#turn(message))
  }

  #turn(message: QueueMessage): undefined {
    const core = this.#core
    if (core.ended === undefined || isOfTheHouse(message)) this.#handle(message)
    else refuse(message, core.ended)
    if (core.ended === undefined) {
      if (core.blocked.length > 0) sendBlocked(core)
      if (core.redrive !== undefined && core.redrive.task.ratePerSecond === undefined)
        beginStep(core)
    }
    core.writing.flush()
    serveWaiters(core)
    core.writing.flush() // what serving found to be too old
    this.#setTimers()
    if (core.writing.isIdle) for (const ender of this.#enders.splice(0)) ender.tell(true)
    return undefined
  }

  #handle(message: QueueMessage): void {
    const core = this.#core
    switch (message.type) {
      case 'send':
        return send(core, message)
      case 'receive':
        return receiveFrom(core, message)
      case 'settle':
        return settle(core, message)
      case 'stop-waiting':
        return stopWaiting(core, message.replyTo)
      case 'arrived':
        if (core.slotOfLoaded(message.seq) === NO_SLOT)
          admitStored(core, message.seq, message.text, 0, 0, core.now)
        return undefined
      case 'configure':
        return this.#configure(message.entry)
      case 'purge':
        return this.#purge(message)
      case 'redrive':
        return this.#redrive(message)
      case 'cancel-redrive':
        message.replyTo.tell(cancelRedrive(core) ?? noSuchTask())
        if (core.redrive !== undefined) beginStep(core)
        return undefined
      case 'redrives':
        message.replyTo.tell([
          ...(core.redrive === undefined ? [] : [core.redrive.task]),
          ...core.pastRedrives,
        ])
        return undefined
      case 'states':
        return void message.replyTo.tell(statesOf(core, message.seqs))
      case 'stats':
        return void message.replyTo.tell(statsOf(core))
      case 'end':
        return this.#end(message)
      case 'written':
        return core.writing.ended(message.result)
      case 'not-written':
        return core.writing.broken(message.error)
      case 'texts':
        return handOutRead(core, message.reading, message.found)
      case 'no-texts':
        return handBack(core, message.reading, unreadable(message.error))
      case 'grave':
        return bury(core, message.leaver, message.target, message.text)
      case 'to-move':
        return stepRedrive(core, message.redrive, message.slots, message.texts, message.targets)
      case 'due':
        if (passTime(core)) this.#ctx.self.tell(message)
        return undefined
      case 'count':
        return writeCounts(core)
      case 'step':
        return beginStep(core)
      default:
        return unreachable(message)
    }
  }

  #setTimers(): void {
    const core = this.#core
    const { timers } = this.#ctx
    const at = core.ended === undefined ? nextTime(core) : Infinity
    if (at !== this.#dueAt) {
      this.#dueAt = at
      if (at === Infinity) timers.cancel('due')
      else timers.after('due', Math.max(0, at - core.now), { type: 'due' })
    }
    const counting = countsMs(core)
    if (counting !== undefined && !timers.isActive('count'))
      timers.after('count', counting, { type: 'count' })
    if (core.redrive?.task.ratePerSecond !== undefined && !timers.isActive('step'))
      timers.after('step', REDRIVE_STEP_MS, { type: 'step' })
  }

  #dueAt = Infinity

  #configure(entry: Entry): void {
    const core = this.#core
    const before = core.entry.config.retentionMs
    core.entry = entry
    if (entry.config.retentionMs === before) return
    const { sentAt } = core.state.slots
    core.state.setAges((slot) => core.expiryOf(sentAt[slot]!, core.ownLimits.get(slot) ?? Infinity))
  }

  #purge({ includeLeased, replyTo }: Extract<QueueMessage, { type: 'purge' }>): void {
    const core = this.#core
    const { slots } = core.state
    if (core.now < core.purgedAt + PURGE_PAUSE_MS)
      return void replyTo.tell(
        fault('purge-in-progress', `a queue is purged once in ${PURGE_PAUSE_MS / 1_000} s`),
      )
    core.purgedAt = core.now
    let [open, purged] = [1, 0]
    let failure: QueueFault | undefined
    const close = (outcome: QueueFault | undefined): void => {
      open--
      failure ??= outcome
      if (open === 0) replyTo.tell(failure ?? { ok: true, purged })
    }
    for (let slot = slots.oldest, next; slot !== NO_SLOT; slot = next) {
      next = slots.newer[slot]!
      const state = slots.state[slot]
      if (state !== READY && state !== DELAYED && !(includeLeased && state === LEASED)) continue
      open++
      purged++
      remove(core, slot, close)
    }
    close(undefined)
  }

  #redrive({ redrive, replyTo }: Extract<QueueMessage, { type: 'redrive' }>): void {
    const core = this.#core
    if (core.redrive !== undefined) {
      const { handle } = core.redrive.task
      return void replyTo.tell(
        fault('task-running', 'messages of this queue are being moved already', { handle }),
      )
    }
    core.redrive = redrive
    const { ready, delayed } = core.state
    redrive.task = { ...redrive.task, toMove: redrive.ids?.size ?? ready.size + delayed }
    replyTo.tell(redrive.task)
  }

  #end({ reason, replyTo }: Extract<QueueMessage, { type: 'end' }>): void {
    const core = this.#core
    if (core.ended === undefined) {
      core.ended = reason
      dismissAll(core, reason)
      for (let blocked = core.blocked.popFront(); blocked; blocked = core.blocked.popFront())
        blocked.replyTo.tell(blocked.messages.map(() => reason))
      writeCounts(core)
    }
    this.#enders.push(replyTo)
  }

  #findGrave(leaver: Leaver): void {
    const { shared, entry, state } = this.#core
    const text = state.slots.text[leaver.slot]
    const key = this.#core.keyOf(leaver.slot)
    const none = (): QueueMessage => ({ type: 'grave', leaver, target: undefined, text: undefined })
    this.#ctx.pipe(
      Promise.all([
        shared.deadLetters(entry),
        text ??
          shared.journal.getRecords(this.#core.messages, [key]).then(([found]) => found?.value),
      ]),
      ([target, found]) => ({ type: 'grave', leaver, target, text: found }),
      (error) => {
        shared.log.warn('a message could not be moved to the dead letters', {
          key,
          error: String(error),
        })
        return none()
      },
    )
  }

  #readToMove(redrive: Redrive, slots: readonly number[]): void {
    const core = this.#core
    const { shared } = core
    const bySlot = new Map<number, string>()
    const byKey = new Map<string, number>()
    for (const slot of slots) {
      const text = core.state.slots.text[slot]
      if (text === undefined) byKey.set(core.keyOf(slot), slot)
      else bySlot.set(slot, text)
    }
    const read = async (): Promise<QueueMessage> => {
      const keys = [...byKey.keys()]
      for (let from = 0; from < keys.length; from += READ_LIMIT_MAX)
        for (const { key, value } of await shared.journal.getRecords(
          core.messages,
          keys.slice(from, from + READ_LIMIT_MAX),
        ))
          bySlot.set(byKey.get(key)!, value)
      const targets = new Map<number, Entry>()
      for (const text of bySlot.values()) {
        const died = extrasOf(text)?.deadLetterOf
        const entry = died === undefined ? undefined : shared.entryOf(died)
        if (died !== undefined && entry !== undefined) targets.set(died, entry)
      }
      return { type: 'to-move', redrive, slots, texts: bySlot, targets }
    }
    this.#ctx.pipe(
      read(),
      (message) => message,
      () => ({ type: 'to-move', redrive, slots, texts: new Map(), targets: new Map() }),
    )
  }
}

/** What has to go on after the end, so that what was begun can end. */
function isOfTheHouse({ type }: QueueMessage): boolean {
  return [
    'written',
    'not-written',
    'texts',
    'no-texts',
    'grave',
    'to-move',
    'end',
    'stats',
  ].includes(type)
}

function refuse(message: QueueMessage, reason: QueueFault): void {
  if (message.type === 'send') message.replyTo.tell(message.messages.map(() => reason))
  else if (message.type === 'settle') message.replyTo.tell(message.items.map(() => reason))
  else if (message.type === 'redrives' || message.type === 'states') message.replyTo.tell([])
  else if (
    message.type === 'receive' ||
    message.type === 'purge' ||
    message.type === 'redrive' ||
    message.type === 'cancel-redrive'
  )
    message.replyTo.tell(reason)
}

function statesOf(
  { state: { slots }, failures }: QueueCore,
  seqs: readonly number[],
): SlotReport[] {
  const wanted = new Set(seqs)
  const found: SlotReport[] = []
  for (
    let slot = slots.oldest;
    slot !== NO_SLOT && found.length < wanted.size;
    slot = slots.newer[slot]!
  ) {
    const seq = slots.seq[slot]!
    const state = slots.state[slot]
    const name =
      state === READY
        ? 'ready'
        : state === DELAYED
          ? 'delayed'
          : state === LEASED
            ? 'leased'
            : undefined
    if (name === undefined || !wanted.has(seq)) continue
    found.push({
      seq,
      state: name,
      dueAt: slots.dueAt[slot]!,
      receives: slots.receives[slot]!,
      firstReceivedAt: slots.firstReceivedAt[slot]!,
      failures: failures.get(slot),
    })
  }
  return found
}

function statsOf(core: QueueCore): QueueStats {
  const { state, counts } = core
  const { slots, ready, delayed, leased, bytes } = state
  const oldest = slots.oldest === NO_SLOT ? core.now : slots.sentAt[slots.oldest]!
  return {
    ready: ready.size,
    delayed,
    leased,
    bytes,
    oldestAgeMs: Math.max(0, core.now - oldest),
    waiting: core.waiting.size,
    ...counts,
  }
}

function noSuchTask(): QueueFault {
  return fault('no-such-task', 'nothing of this queue is being moved')
}

function unreadable(error: unknown): QueueFault {
  const [message, code] =
    error instanceof Accident ? [error.message, error.code] : [String(error), undefined]
  return fault('unreadable', message, { cause: code })
}
