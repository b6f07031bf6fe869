/**
 * A queue: one actor, and everything that happens to its messages in one order.
 *
 * A turn does what one message asks for and ends with the same three steps: what is to be written goes out, who
 * waits is served, and the timer is set. Handlers never wait: what has to be waited for comes back as a message.
 * Only its first message waits, for what is on record. If that cannot be read whoever asks is told so, and the
 * next to ask after a while makes it try again.
 */
import type { StoredRecord } from '../journal/index.ts'
import { receive, setup, type Behavior, type Context, type Ref } from '../kernel/index.ts'
import { fault, unreachable } from '../std/index.ts'
import type { MoveTask, QueueFault, QueueStats } from './broker.ts'
import { rideCounts, writeAllCounts } from './counting.ts'
import { bury, type Leaver } from './dying.ts'
import { LOAD_RETRY_MS } from './limits.ts'
import { admitStored, load } from './loading.ts'
import { statesOf, statsOf, type SlotReport } from './looking.ts'
import { nextTime, passTime } from './passing-time.ts'
import { beginPurge, endPurge, stepPurge, type PurgeAnswer } from './purging.ts'
import { QueueCore } from './queue-core.ts'
import { readRecords, textsOf } from './reading.ts'
import {
  dismissAll,
  handOutRead,
  receiveFrom,
  serveWaiters,
  stopWaiting,
  type Reading,
  type Receive,
} from './receiving.ts'
import {
  beginRedrive,
  beginStep,
  cancelRedrive,
  stepRedrive,
  tasksOf,
  type Redrive,
} from './redriving.ts'
import { refuse } from './refusing.ts'
import { refuseBlocked, send, sendBlocked, type Send } from './sending.ts'
import { settle, type Settle } from './settling.ts'
import type { Entry, Shared } from './premises.ts'
import { Writing } from './writing.ts'

export type QueueMessage =
  | Send
  | Receive
  | Settle
  | Readonly<{ type: 'stop-waiting'; replyTo: Receive['replyTo'] }>
  /** A message from another queue, durable already. */
  | Readonly<{ type: 'arrived'; seq: number; text: string }>
  | Readonly<{ type: 'configure'; entry: Entry; replyTo: Ref<true> }>
  | Readonly<{ type: 'purge'; includeLeased: boolean; replyTo: Ref<PurgeAnswer> }>
  | Readonly<{ type: 'redrive'; redrive: Redrive; replyTo: Ref<MoveTask | QueueFault> }>
  | Readonly<{ type: 'cancel-redrive'; handle: string; replyTo: Ref<MoveTask | QueueFault> }>
  | Readonly<{ type: 'redrives'; replyTo: Ref<readonly MoveTask[] | QueueFault> }>
  | Readonly<{
      type: 'states'
      seqs: readonly number[]
      replyTo: Ref<readonly SlotReport[] | QueueFault>
    }>
  | Readonly<{ type: 'stats'; replyTo: Ref<QueueStats | QueueFault> }>
  /** Looks after what is due, though nobody asks. */
  | Readonly<{ type: 'wake'; replyTo: Ref<true> }>
  /** Nothing is taken any more; settles when what was begun is durable. */
  | Readonly<{ type: 'end'; reason: QueueFault; replyTo: Ref<true> }>
  | Readonly<{ type: 'written'; refusal: QueueFault | undefined }>
  | Readonly<{ type: 'texts'; reading: Reading; found: readonly StoredRecord[] | undefined }>
  | Readonly<{
      type: 'graves'
      leavers: readonly Leaver[]
      target: Entry | undefined
      texts: ReadonlyMap<string, string>
    }>
  | Readonly<{
      type: 'to-move'
      redrive: Redrive
      slots: readonly number[]
      texts: ReadonlyMap<string, string>
    }>
  | Readonly<{ type: 'due' | 'go-on' }>

export function queue(shared: Shared, entry: Entry): Behavior<QueueMessage> {
  // What an incarnation before has written must be there before it is read again.
  const before = { commit: Promise.resolve<unknown>(undefined) }
  return setup((ctx) => {
    const actor = new QueueActor(ctx, shared, entry, before)
    return receive((_ctx, message) => actor.take(message), { onStop: () => actor.fall() })
  })
}

class QueueActor {
  readonly #ctx: Context<QueueMessage>
  readonly #shared: Shared
  readonly #before: { commit: Promise<unknown> }
  readonly #enders: Ref<true>[] = []
  #entry: Entry
  #core: QueueCore
  #isLoaded = false
  #notLoaded: Readonly<{ at: number; reason: QueueFault }> | undefined
  #dueAt = Infinity

  constructor(
    ctx: Context<QueueMessage>,
    shared: Shared,
    entry: Entry,
    before: { commit: Promise<unknown> },
  ) {
    this.#ctx = ctx
    this.#shared = shared
    this.#before = before
    this.#entry = shared.entryOf(entry.id) ?? entry
    this.#core = this.#freshCore()
  }

  take(message: QueueMessage): undefined | Promise<undefined> {
    if (this.#isLoaded) return this.#turn(message)
    if (message.type === 'end') return this.#endUnread(message.replyTo)
    if (message.type === 'configure') this.#configure(message.entry)
    const { steady } = this.#shared
    if (this.#notLoaded !== undefined && steady.now() < this.#notLoaded.at + LOAD_RETRY_MS)
      return refuse(message, this.#notLoaded.reason)
    return this.#load(message)
  }

  /** Whoever it owes an answer is told that there will be none. */
  fall(): void {
    const reason = fault('unknown-outcome', 'the queue has ended in the middle of something')
    dismissAll(this.#core, reason)
    refuseBlocked(this.#core, reason)
    endPurge(this.#core, reason)
    this.#forgetAll()
  }

  async #load(message: QueueMessage): Promise<undefined> {
    await this.#before.commit
    try {
      await load(this.#core)
      // It may have been changed while nobody could tell it.
      this.#configure(this.#shared.entryOf(this.#entry.id) ?? this.#entry)
      this.#isLoaded = true
      this.#notLoaded = undefined
    } catch (error) {
      const { name } = this.#core.entry.name
      this.#shared.log.error('a queue cannot be loaded', { queue: name, error: String(error) })
      const reason = fault('unreadable', `the queue ${name} cannot be read: ${String(error)}`, {
        remedy: 'verify and repair the store',
      })
      this.#notLoaded = { at: this.#shared.steady.now(), reason }
      this.#forgetAll()
      this.#core = this.#freshCore()
      return refuse(message, reason)
    }
    return this.#turn(message)
  }

  #turn(message: QueueMessage): undefined {
    const core = this.#core
    if (core.ended === undefined || isOfTheHouse(message)) this.#handle(message)
    else refuse(message, core.ended)
    if (core.ended === undefined) {
      if (core.blocked.length > 0) sendBlocked(core)
      if (core.redrive !== undefined) beginStep(core)
    }
    rideCounts(core)
    core.writing.flush()
    if (core.ended === undefined) serveWaiters(core)
    core.writing.flush() // what serving found to be too old
    this.#setTimer()
    if (core.isAtRest) for (const ender of this.#enders.splice(0)) ender.tell(true)
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
        if (core.foundEarly.delete(message.seq)) return undefined
        core.keepText(admitStored(core, message.seq, message.text, core.now), message.text)
        return undefined
      case 'configure':
        this.#configure(message.entry)
        return void message.replyTo.tell(true)
      case 'purge':
        return beginPurge(core, message.includeLeased, message.replyTo)
      case 'redrive':
        return beginRedrive(core, message.redrive, message.replyTo)
      case 'cancel-redrive':
        return void message.replyTo.tell(cancelRedrive(core, message.handle))
      case 'redrives':
        return void message.replyTo.tell(tasksOf(core))
      case 'states':
        return void message.replyTo.tell(statesOf(core, message.seqs))
      case 'stats':
        return void message.replyTo.tell(statsOf(core))
      case 'wake':
        return void message.replyTo.tell(true)
      case 'end':
        return this.#end(message)
      case 'written':
        return core.writing.ended(message.refusal)
      case 'texts':
        return handOutRead(core, message.reading, message.found)
      case 'graves':
        return bury(core, message.leavers, message.target, message.texts)
      case 'to-move':
        return stepRedrive(core, message.redrive, message.slots, message.texts)
      case 'due':
        this.#dueAt = Infinity
        if (passTime(core)) this.#ctx.self.tell(message)
        return undefined
      case 'go-on':
        return stepPurge(core)
      default:
        return unreachable(message)
    }
  }

  #setTimer(): void {
    const core = this.#core
    const { timers } = this.#ctx
    const at = core.ended === undefined ? nextTime(core) : Infinity
    if (at === this.#dueAt) return
    this.#dueAt = at
    if (at === Infinity) timers.cancel('due')
    else timers.after('due', Math.max(0, at - core.now), DUE)
  }

  #configure(entry: Entry): void {
    const core = this.#core
    this.#entry = core.entry = entry
    core.state.retentionMs = entry.config.retentionMs
  }

  #end({ reason, replyTo }: Extract<QueueMessage, { type: 'end' }>): void {
    const core = this.#core
    if (core.ended === undefined) {
      core.ended = reason
      dismissAll(core, reason)
      refuseBlocked(core, reason)
      endPurge(core, reason)
      writeAllCounts(core)
    }
    this.#enders.push(replyTo)
  }

  /** It has nothing in hand that would have to become durable. */
  #endUnread(replyTo: Ref<true>): undefined {
    replyTo.tell(true)
    return undefined
  }

  #forgetAll(): void {
    const { state } = this.#core
    for (const text of state.slots.texts.all()) this.#shared.bodies.giveUp(text.length)
  }

  #freshCore(): QueueCore {
    const ctx = this.#ctx
    const shared = this.#shared
    const { journal } = shared
    const writing = new Writing(shared.committing, (commit) => {
      this.#before.commit = commit
      ctx.pipe<QueueFault | undefined>(commit, (refusal) => ({ type: 'written', refusal }), rethrow)
    })
    const core: QueueCore = new QueueCore(shared, this.#entry, writing, {
      readTexts: (keys, reading) =>
        ctx.pipe<readonly StoredRecord[] | undefined>(
          readRecords(journal, core.messages, keys),
          (found) => ({ type: 'texts', reading, found }),
          rethrow,
        ),
      findGraves: (leavers) =>
        ctx.pipe<readonly [Entry | undefined, ReadonlyMap<string, string>]>(
          Promise.all([
            shared.graveOf(core.entry) ?? shared.makeGrave(core.entry),
            textsOf(
              core,
              leavers.map(({ slot }) => slot),
            ),
          ]),
          ([target, texts]) => ({ type: 'graves', leavers, target, texts }),
          rethrow,
        ),
      readToMove: (redrive, slots) =>
        ctx.pipe<ReadonlyMap<string, string>>(
          textsOf(core, slots),
          (texts) => ({ type: 'to-move', redrive, slots, texts }),
          rethrow,
        ),
      goOn: () => ctx.self.tell(GO_ON),
    })
    return core
  }
}

const DUE: QueueMessage = Object.freeze({ type: 'due' })
const GO_ON: QueueMessage = Object.freeze({ type: 'go-on' })

function rethrow(error: unknown): never {
  throw error
}

/** What has to go on after the end, so that what was begun can end. */
function isOfTheHouse({ type }: QueueMessage): boolean {
  return OF_THE_HOUSE.has(type)
}

const OF_THE_HOUSE: ReadonlySet<QueueMessage['type']> = new Set([
  'written',
  'texts',
  'graves',
  'to-move',
  'end',
  'stats',
  'wake',
])
