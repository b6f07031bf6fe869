/**
 * Messages that go elsewhere or nowhere: dead letters and those that grew too old.
 *
 * A death is one batch: gone here and there over there, or neither. The queue that gets it is told when it is
 * durable. Where there is no queue for dead letters, nothing dies: the message is handed out again.
 */
import type { RecordWrite } from '../journal/index.ts'
import type { Failure, QueueFault } from './broker.ts'
import { FAILURES_MAX, FAILURE_REASON_CHARS_MAX } from './limits.ts'
import { keyOf } from './message-id.ts'
import { bodyOf, extrasOf, headOf, textOf } from './message-text.ts'
import type { QueueCore } from './queue-core.ts'
import { messagesOf, type Entry } from './shared.ts'

/** A message that leaves for another queue, on its way. */
export type Leaver = Readonly<{
  slot: number
  gen: number
  reason: string
  /** What became of it. */
  ended: (outcome: QueueFault | undefined) => void
}>

export function noteFailure(core: QueueCore, slot: number, failure: Omit<Failure, 'at'>): void {
  const before = core.failures.get(slot) ?? []
  const reason = failure.reason.slice(0, FAILURE_REASON_CHARS_MAX)
  core.failures.set(slot, [...before, { ...failure, reason, at: core.now }].slice(-FAILURES_MAX))
  core.behind.set(slot, core.state.slots.gen[slot]!)
}

/** It is too old: gone, or dead. */
export function expire(core: QueueCore, slot: number): void {
  core.counts.expired++
  if (core.entry.config.onExpire === 'dead-letter') deathOf(core, slot, 'expired')
  else remove(core, slot)
}

/** Gone for good. */
export function remove(core: QueueCore, slot: number, ended?: Leaver['ended']): void {
  const { state } = core
  state.leave(slot)
  core.writing.add({
    messages: [{ collection: core.messages, key: core.keyOf(slot), deleted: true }],
    notes: noteOf(core, slot),
    bytes: 0,
    done() {
      core.forget(slot)
      state.release(slot)
      ended?.(undefined)
    },
    failed(reason) {
      state.stay(slot, core.now)
      ended?.(reason)
    },
  })
}

/** To the dead letters, if there are any; `ended` is told when that is durable. */
export function deathOf(
  core: QueueCore,
  slot: number,
  reason: string,
  ended: Leaver['ended'] = () => undefined,
): void {
  core.state.leave(slot)
  const leaver = { slot, gen: core.state.slots.gen[slot]!, reason, ended }
  core.outside.findGrave(leaver)
}

/** Where it goes is known, and so is its text. */
export function bury(
  core: QueueCore,
  { slot, reason, ended }: Leaver,
  target: Entry | undefined,
  text: string | undefined,
): void {
  const { state } = core
  if (target === undefined || text === undefined) {
    state.slots.dueAt[slot] = core.now
    state.stay(slot, core.now)
    ended(undefined)
    return
  }
  const failures = core.failuresOf(slot, text)
  const dead = failures.length > 0 ? failures : [{ at: core.now, reason }]
  moveTo(core, slot, text, target, { deadLetterOf: core.entry.id, failures: dead }, (outcome) => {
    if (outcome === undefined) core.counts.deadLettered++
    ended(outcome)
  })
}

/** One batch over two queues. The message is leaving already. */
export function moveTo(
  core: QueueCore,
  slot: number,
  text: string,
  target: Entry,
  marks: Readonly<{ deadLetterOf?: number; failures?: readonly Failure[] }>,
  ended: Leaver['ended'],
): void {
  const { state, shared } = core
  const { slots } = state
  const { deadLetterOf: _died, failures: _failures, ...extras } = extrasOf(text) ?? {}
  const head = headOf(text)
  const seq = shared.nextSeq()
  const moved = textOf(
    { ...head, dueAt: head.sentAt, expiresAt: Infinity },
    { ...extras, first: extras.first ?? slots.seq[slot]!, ...marks },
    bodyOf(text),
  )
  const arrival = { type: 'arrived', seq, text: moved, bytes: slots.bytes[slot]! } as const
  core.writing.add({
    messages: [
      { collection: core.messages, key: core.keyOf(slot), deleted: true },
      { collection: messagesOf(target.id), key: keyOf(seq), value: moved },
    ],
    notes: noteOf(core, slot),
    bytes: moved.length * 3,
    done() {
      core.forget(slot)
      state.release(slot)
      shared.queueOf(target.id)?.tell(arrival)
      ended(undefined)
    },
    failed(reason) {
      state.stay(slot, core.now)
      ended(reason)
    },
  })
}

/** The count of a message goes with it. */
export function noteOf(core: QueueCore, slot: number): readonly RecordWrite[] {
  if (!core.noted.has(slot)) return NO_RECORDS
  return [{ collection: core.notes, key: core.keyOf(slot), deleted: true }]
}

const NO_RECORDS: readonly RecordWrite[] = []
