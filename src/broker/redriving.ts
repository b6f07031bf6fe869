/**
 * The way back: messages of this queue are moved to where they died, or to another queue, a few at a time. Each
 * move is one batch over the two queues; the progress is counted in memory, and a redrive that a crash interrupts
 * has moved what it moved.
 */
import type { MoveTask, QueueFault } from './broker.ts'
import { moveTo } from './dying.ts'
import { seqOfMessageId } from './message-id.ts'
import { extrasOf } from './message-text.ts'
import type { QueueCore } from './queue-core.ts'
import type { Entry } from './shared.ts'
import { DELAYED, NO_SLOT, READY } from './slots.ts'

export class Redrive {
  task: MoveTask
  readonly target: Entry | undefined
  readonly search: string | undefined
  readonly ids: ReadonlySet<number> | undefined
  /** What came later is not meant. */
  readonly upTo: number
  /** Everything before it has been looked at. */
  after = -1
  underway = 0

  constructor(
    task: MoveTask,
    of: Readonly<{ target?: Entry; search?: string; ids?: readonly string[]; upTo: number }>,
  ) {
    this.task = task
    this.target = of.target
    this.search = of.search
    this.ids = of.ids && new Set(of.ids.map((id) => seqOfMessageId(id) ?? -1))
    this.upTo = of.upTo
  }
}

/** How often a redrive with a rate has its turn. */
export const REDRIVE_STEP_MS = 100
const STEP = 500

/** Chooses who goes next; their texts are read, and `stepRedrive` moves them. */
export function beginStep(core: QueueCore): void {
  const { redrive } = core
  if (redrive === undefined || redrive.underway > 0) return
  const { slots } = core.state
  const { ratePerSecond } = redrive.task
  const max =
    ratePerSecond === undefined
      ? STEP
      : Math.max(1, Math.round((ratePerSecond * REDRIVE_STEP_MS) / 1_000))
  const chosen: number[] = []
  for (
    let slot = slots.oldest;
    slot !== NO_SLOT && chosen.length < max;
    slot = slots.newer[slot]!
  ) {
    const seq = slots.seq[slot]!
    if (seq > redrive.upTo) break
    if (seq <= redrive.after) continue
    const state = slots.state[slot]
    if (state !== READY && state !== DELAYED) continue
    redrive.after = seq
    chosen.push(slot)
  }
  if (chosen.length === 0)
    return end(core, redrive.task.state === 'cancelling' ? 'cancelled' : 'completed')
  if (redrive.task.state === 'cancelling') return end(core, 'cancelled')
  for (const slot of chosen) core.state.leave(slot)
  redrive.underway = chosen.length
  core.outside.readToMove(redrive, chosen)
}

export function stepRedrive(
  core: QueueCore,
  redrive: Redrive,
  slots: readonly number[],
  texts: ReadonlyMap<number, string>,
  targets: ReadonlyMap<number, Entry>,
): void {
  for (const slot of slots) {
    const text = texts.get(slot)
    const extras = text === undefined ? undefined : extrasOf(text)
    const died = extras?.deadLetterOf
    const target = redrive.target ?? (died === undefined ? undefined : targets.get(died))
    const isMeant = text !== undefined && isWanted(core, redrive, slot, text, extras?.first)
    if (target === undefined || !isMeant || text === undefined) {
      stay(core, redrive, slot)
      continue
    }
    const marks = extras?.failures === undefined ? {} : { failures: extras.failures }
    moveTo(core, slot, text, target, marks, (outcome) => {
      redrive.underway--
      if (outcome === undefined) redrive.task = { ...redrive.task, moved: redrive.task.moved + 1 }
      else redrive.task = { ...redrive.task, state: 'cancelling', reason: outcome.message }
    })
  }
}

export function cancelRedrive(core: QueueCore): MoveTask | undefined {
  const { redrive } = core
  if (redrive === undefined) return undefined
  redrive.task = { ...redrive.task, state: 'cancelling' }
  return redrive.task
}

function isWanted(
  core: QueueCore,
  { ids, search }: Redrive,
  slot: number,
  text: string,
  first: number | undefined,
): boolean {
  if (ids !== undefined && !ids.has(first ?? core.state.slots.seq[slot]!)) return false
  return search === undefined || text.includes(search)
}

function stay(core: QueueCore, redrive: Redrive, slot: number): void {
  redrive.underway--
  core.state.stay(slot, core.now)
}

function end(core: QueueCore, state: 'completed' | 'cancelled'): void {
  const { redrive } = core
  if (redrive === undefined) return
  const failed = redrive.task.reason !== undefined
  core.pastRedrives.unshift({ ...redrive.task, state: failed ? 'failed' : state })
  core.pastRedrives.length = Math.min(core.pastRedrives.length, PAST_MAX)
  core.redrive = undefined
}

const PAST_MAX = 10

export type RedriveAnswer = MoveTask | QueueFault
