/**
 * How often a message was delivered and how that failed, on record.
 *
 * A delivery does not wait for the disk, so its count is written a little later, or with whatever is written next.
 * But a message that comes back is not seen again before its count is on record, and until when it is put off. So a
 * crash can make nobody forget more than the one delivery that was under way.
 */
import type { RecordWrite } from '../journal/index.ts'
import type { Failure } from './broker.ts'
import { COUNTS_MS, FAILURES_MAX, FAILURE_REASON_CHARS_MAX } from './limits.ts'
import type { QueueCore } from './queue-core.ts'
import { DELAYED, FREE, LEAVING } from './slots.ts'

/** How long a delivery has to last for its count to go with what is written next: most are settled before. */
const RIDE_MS = 100
const RIDERS_MAX = 256
/** Counts that are written at once. */
const NOTES_MAX = 1_000
/** What one of them is reckoned to have. */
const NOTE_BYTES = 512

export function noteFailure(core: QueueCore, slot: number, failure: Omit<Failure, 'at'>): void {
  const before =
    core.failures.get(slot) ?? core.failuresOf(slot, core.state.slots.texts.get(slot) ?? '')
  const reason = failure.reason.slice(0, FAILURE_REASON_CHARS_MAX)
  core.failures.set(slot, [...before, { ...failure, reason, at: core.now }].slice(-FAILURES_MAX))
}

/** Its record is behind from now on. */
export function isBehind(core: QueueCore, slot: number): void {
  if (!core.behind.has(slot)) core.behind.set(slot, core.now)
}

/** Gives a message back when its count is on record; if that cannot be written, then without. */
export function giveBackNoted(
  core: QueueCore,
  slot: number,
  dueAt: number,
  ended: () => void,
): void {
  core.state.leave(slot)
  core.writing.add({
    messages: [],
    notes: [noteOf(core, slot, dueAt)],
    bytes: NOTE_BYTES,
    done() {
      core.stay(slot, dueAt)
      ended()
    },
    failed() {
      isBehind(core, slot)
      core.stay(slot, dueAt)
      ended()
    },
  })
}

/** When counts are to be written next; Infinity if none is behind. */
export function nextCountAt({ behind, isCounting }: QueueCore): number {
  if (isCounting) return Infinity
  for (const since of behind.values()) return since + COUNTS_MS
  return Infinity
}

/** Writes those that have been behind for long enough. Nobody waits for it. */
export function writeCounts(core: QueueCore): void {
  const notes = core.isCounting ? [] : notesSince(core, core.now - COUNTS_MS, NOTES_MAX)
  if (notes.length === 0) return
  core.isCounting = true
  add(core, notes, () => (core.isCounting = false))
}

/** Those that go with what is written anyway. */
export function rideCounts(core: QueueCore): void {
  if (core.behind.size === 0 || !core.writing.isAboutToWrite) return
  const notes = notesSince(core, core.now - RIDE_MS, RIDERS_MAX)
  if (notes.length > 0) add(core, notes, ignore)
}

/** All of them, for a queue that ends. */
export function writeAllCounts(core: QueueCore): void {
  for (;;) {
    const notes = notesSince(core, Infinity, NOTES_MAX)
    if (notes.length === 0) return
    add(core, notes, ignore)
  }
}

/** What is on record of a message goes with it. */
export function notesToDelete(core: QueueCore, slot: number): readonly RecordWrite[] {
  if (!core.noted.has(slot)) return NO_RECORDS
  return [{ collection: core.notes, key: core.keyOf(slot), deleted: true }]
}

const NO_RECORDS: readonly RecordWrite[] = []

function add(core: QueueCore, notes: readonly RecordWrite[], ended: () => void): void {
  core.writing.add({
    messages: [],
    notes,
    bytes: notes.length * NOTE_BYTES,
    done: ended,
    failed: ended,
  })
}

function notesSince(core: QueueCore, latest: number, max: number): RecordWrite[] {
  const notes: RecordWrite[] = []
  const { state } = core.state.slots
  for (const [slot, since] of core.behind) {
    if (since > latest || notes.length >= max) break
    // What is between two states has its count written with it, if it is to stay.
    if (state[slot] !== FREE && state[slot] !== LEAVING)
      notes.push(noteOf(core, slot, dueAtOf(core, slot)))
    else core.behind.delete(slot)
  }
  return notes
}

/** When it is seen again, if it has been put off. */
function dueAtOf({ state: { slots } }: QueueCore, slot: number): number {
  return slots.state[slot] === DELAYED ? slots.dueAt[slot]! : 0
}

function noteOf(core: QueueCore, slot: number, dueAt: number): RecordWrite {
  const { receives, firstReceivedAt } = core.state.slots
  const failures = core.failures.get(slot)
  core.noted.add(slot)
  core.behind.delete(slot)
  return {
    collection: core.notes,
    key: core.keyOf(slot),
    value: JSON.stringify({
      n: receives[slot],
      first: firstReceivedAt[slot],
      ...(dueAt > core.now && { due: dueAt }),
      ...(failures !== undefined && { failures }),
    }),
  }
}

function ignore(): void {}
