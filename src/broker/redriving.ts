/**
 * The way back: messages of this queue are moved to where they died, or to another queue, a few at a time. Each
 * move is one batch over the two queues, and how far it has come is in the same batch. So a redrive that a crash
 * interrupts goes on where it was, and its count is right.
 *
 *   broker-tasks   <queue>-<number>     what was asked for, and how it ended
 *                  <queue>-<number>.p   how many were moved, and up to which message it has looked
 */
import type { RecordWrite } from '../journal/index.ts'
import type { Ref } from '../kernel/index.ts'
import { fault } from '../std/index.ts'
import type { MoveTask, QueueFault } from './broker.ts'
import { moveTo } from './dying.ts'
import { MOVE_TASKS_MAX } from './limits.ts'
import { keyOf, seqOfMessageId } from './message-id.ts'
import { extrasOf } from './message-text.ts'
import type { QueueCore } from './queue-core.ts'
import type { Entry } from './premises.ts'
import { DELAYED, NO_SLOT, READY } from './slots.ts'

export const TASKS = 'broker-tasks'

/** What is on record of it. */
export type RedriveOrder = Readonly<{
  task: MoveTask
  /** What came later is not meant. */
  upTo: number
  targetId?: number
  ids?: readonly string[]
  search?: string
}>

export type PastRedrive = Readonly<{ task: MoveTask; key: string }>

export class Redrive {
  task: MoveTask
  readonly order: RedriveOrder
  readonly key: string
  readonly ids: ReadonlySet<number> | undefined
  /** Everything before it has been looked at. */
  after = -1
  underway = 0
  /** Messages that were meant and had nowhere to go, or could not be read. */
  left = 0
  /** Whether it is on record, and therefore has begun. */
  hasBegun = false
  readonly #sinceMs: number
  #movedSince = 0
  #steppedAt = -Infinity

  constructor(order: RedriveOrder, queueId: number, nowMs: number) {
    this.task = order.task
    this.order = order
    this.key = `${tasksPrefix(queueId)}${keyOf(order.upTo)}`
    this.ids = order.ids && new Set(order.ids.map((id) => seqOfMessageId(id) ?? -1))
    this.#sinceMs = nowMs
  }

  /** When it is to have its turn, at the rate it was given; Infinity if it has one whenever the queue has. */
  get nextAt(): number {
    const { ratePerSecond } = this.task
    if (ratePerSecond === undefined || !this.hasBegun || this.underway > 0) return Infinity
    const allowedAt = this.#sinceMs + (this.#movedSince * 1_000) / ratePerSecond
    return Math.max(allowedAt, this.#steppedAt + REDRIVE_STEP_MS)
  }

  /** How many it may move by now, at most so many at a time. */
  allowed(now: number, max: number): number {
    const { ratePerSecond } = this.task
    if (ratePerSecond === undefined) return max
    const due = Math.floor(((now - this.#sinceMs) * ratePerSecond) / 1_000) + 1 - this.#movedSince
    return Math.max(0, Math.min(max, due))
  }

  chose(count: number, now: number): void {
    this.#movedSince += count
    this.#steppedAt = now
  }

  /** What was looked at and not meant has not been moved. */
  unchose(): void {
    this.#movedSince--
  }
}

/** How many are moved at once, and how many are looked at for it. */
const STEP = 500
const STEP_BYTES = 8_388_608
const LOOKED_AT_MAX = 20_000
/** How often a redrive with a rate has its turn at most. */
const REDRIVE_STEP_MS = 100

export function beginRedrive(
  core: QueueCore,
  redrive: Redrive,
  replyTo: Ref<MoveTask | QueueFault>,
): void {
  if (core.redrive !== undefined) {
    const { handle } = core.redrive.task
    return void replyTo.tell(
      fault('task-running', 'messages of this queue are being moved already', { handle }),
    )
  }
  const { ready, delayed } = core.state
  redrive.task = { ...redrive.task, toMove: redrive.ids?.size ?? ready.size + delayed }
  core.redrive = redrive
  core.writing.add({
    messages: [],
    notes: [orderRecord(redrive)],
    bytes: 1_024 + 40 * (redrive.ids?.size ?? 0),
    done() {
      redrive.hasBegun = true
      replyTo.tell(redrive.task)
    },
    failed(reason) {
      core.redrive = undefined
      replyTo.tell(reason)
    },
  })
}

/** Chooses who goes next; their texts are read, and `stepRedrive` moves them. */
export function beginStep(core: QueueCore): void {
  const { redrive, now } = core
  if (redrive === undefined || !redrive.hasBegun || redrive.underway > 0) return
  if (redrive.task.state === 'cancelling') return endRedrive(core, 'cancelled')
  const max = redrive.allowed(now, STEP)
  if (max === 0) return
  const { slots } = core.state
  const chosen: number[] = []
  let slot = slots.from(redrive.after + 1)
  let looked = 0
  let bytes = 0
  for (; chosen.length < max && looked < LOOKED_AT_MAX && bytes < STEP_BYTES; looked++) {
    if (slot === NO_SLOT || slots.seq[slot]! > redrive.order.upTo) break
    redrive.after = slots.seq[slot]!
    if (slots.state[slot] === READY || slots.state[slot] === DELAYED) {
      chosen.push(slot)
      bytes += slots.bytes[slot]!
    }
    slot = slots.newer[slot]!
  }
  if (chosen.length === 0)
    return looked === LOOKED_AT_MAX ? core.outside.goOn() : endRedrive(core, 'completed')
  for (const each of chosen) core.state.leave(each)
  redrive.underway = chosen.length
  redrive.chose(chosen.length, now)
  core.outside.readToMove(redrive, chosen)
}

export function stepRedrive(
  core: QueueCore,
  redrive: Redrive,
  slots: readonly number[],
  texts: ReadonlyMap<string, string>,
): void {
  for (const slot of slots) {
    const text = core.state.slots.texts.get(slot) ?? texts.get(core.keyOf(slot))
    const extras = text === undefined ? undefined : extrasOf(text)
    const targetId = redrive.order.targetId ?? extras?.deadLetterOf
    const target = targetId === undefined ? undefined : core.shared.entryOf(targetId)
    const isMeant = text === undefined || isWanted(core, redrive, slot, text, extras?.first)
    if (text === undefined || !isMeant || target === undefined || target.isDeleting) {
      if (isMeant) redrive.left++
      redrive.unchose()
      stay(core, redrive, slot)
      continue
    }
    const marks = extras?.failures === undefined ? {} : { failures: extras.failures }
    move(core, redrive, slot, text, target, marks)
  }
}

function move(
  core: QueueCore,
  redrive: Redrive,
  slot: number,
  text: string,
  target: Entry,
  marks: Parameters<typeof moveTo>[4],
): void {
  const moved = redrive.task.moved + 1
  redrive.task = { ...redrive.task, moved }
  const progress = { moved, after: core.state.slots.seq[slot]! }
  const note = { collection: TASKS, key: `${redrive.key}.p`, value: JSON.stringify(progress) }
  moveTo(
    core,
    slot,
    text,
    target,
    marks,
    (outcome) => {
      redrive.underway--
      if (outcome === undefined) return core.count('moved')
      redrive.task = {
        ...redrive.task,
        moved: redrive.task.moved - 1,
        state: 'cancelling',
        reason: outcome.message,
      }
    },
    [note],
  )
}

export function cancelRedrive(core: QueueCore, handle: string): MoveTask | QueueFault {
  const { redrive } = core
  if (redrive?.task.handle !== handle || redrive.task.state !== 'running')
    return fault('no-such-task', 'there is no such task, or it has ended')
  redrive.task = { ...redrive.task, state: 'cancelling' }
  return redrive.task
}

/** The latest first. */
export function tasksOf({ redrive, pastRedrives }: QueueCore): readonly MoveTask[] {
  const past = pastRedrives.map(({ task }) => task)
  return redrive === undefined ? past : [redrive.task, ...past]
}

function isWanted(
  core: QueueCore,
  { ids, order: { search } }: Redrive,
  slot: number,
  text: string,
  first: number | undefined,
): boolean {
  if (ids !== undefined && !ids.has(first ?? core.state.slots.seq[slot]!)) return false
  return search === undefined || text.includes(search)
}

function stay(core: QueueCore, redrive: Redrive, slot: number): void {
  redrive.underway--
  core.stay(slot, core.state.slots.dueAt[slot]!)
}

function endRedrive(core: QueueCore, state: 'completed' | 'cancelled'): void {
  const { redrive } = core
  if (redrive === undefined) return
  const { left, task, key } = redrive
  const reason =
    task.reason ?? (left > 0 ? `${left} messages have nowhere to go, or cannot be read` : undefined)
  redrive.task = {
    ...task,
    state: reason === undefined ? state : 'failed',
    ...(reason !== undefined && { reason }),
  }
  core.redrive = undefined
  core.pastRedrives.unshift({ task: redrive.task, key })
  const forgotten = core.pastRedrives.splice(MOVE_TASKS_MAX)
  const notes: RecordWrite[] = [
    orderRecord(redrive),
    { collection: TASKS, key: `${key}.p`, deleted: true },
    ...forgotten.map((past) => ({ collection: TASKS, key: past.key, deleted: true }) as const),
  ]
  core.writing.add({ messages: [], notes, bytes: 1_024, done: ignore, failed: ignore })
}

function ignore(): void {}

function orderRecord({ order, task, key }: Redrive): RecordWrite {
  return { collection: TASKS, key, value: JSON.stringify({ ...order, task }) }
}

/** The keys of a queue's tasks begin with it. */
export function tasksPrefix(queueId: number): string {
  return `${queueId.toString(36).padStart(8, '0')}-`
}

/** Puts together again what is on record, the oldest first. */
export function recallRedrives(
  core: QueueCore,
  records: readonly Readonly<{ key: string; value: string }>[],
): void {
  for (const { key, value } of records) {
    if (key.endsWith('.p')) {
      if (core.redrive === undefined || key !== `${core.redrive.key}.p`) continue
      const { moved, after }: { moved: number; after: number } = JSON.parse(value)
      core.redrive.task = { ...core.redrive.task, moved }
      core.redrive.after = after
      continue
    }
    const order: RedriveOrder = JSON.parse(value)
    if (order.task.state !== 'running') core.pastRedrives.unshift({ task: order.task, key })
    else {
      core.redrive = new Redrive(order, core.entry.id, core.now)
      core.redrive.hasBegun = true
    }
  }
}
