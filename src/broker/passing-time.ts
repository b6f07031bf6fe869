/**
 * What time does to a queue. One timer is armed, at the earliest of everything that is due; nothing pulses, and a
 * queue where nothing is due costs nothing.
 */
import type { RecordWrite } from '../journal/index.ts'
import { expire, noteFailure } from './dying.ts'
import { COUNTS_MS } from './limits.ts'
import type { QueueCore } from './queue-core.ts'
import { endWaiting } from './receiving.ts'
import { sendBlocked } from './sending.ts'
import { fail } from './settling.ts'
import { FREE } from './slots.ts'

/** So many at once; then others have their turn. */
const SLICE = 256

/** Does what is due, and says whether some was left for the next turn. */
export function passTime(core: QueueCore): boolean {
  const now = core.now
  endWaiting(core)
  sendBlocked(core)
  for (let count = 0; count < SLICE; count++) {
    const isMore = core.state.nextDue(now, (what, slot) => {
      if (what === 'expired') expire(core, slot)
      else if (what === 'lease-ended') {
        noteFailure(core, slot, { reason: 'the lease ended' })
        fail(core, slot, undefined, () => undefined)
      }
    })
    if (!isMore) return false
  }
  return true
}

/** When there is something to do that nobody will tell the queue; Infinity for never. */
export function nextTime(core: QueueCore): number {
  const waiter = core.waiting.peek()?.until ?? Infinity
  const blocked = core.blocked.peekFront()?.until ?? Infinity
  return Math.min(core.state.nextDueAt(), waiter, blocked)
}

/** How soon counts are to be written; undefined if none is behind. */
export function countsMs(core: QueueCore): number | undefined {
  return core.behind.size > 0 ? COUNTS_MS : undefined
}

/**
 * Writes down how often messages were received that are still there. Nobody waits for it: a count that is lost in
 * a crash allows one delivery more.
 */
export function writeCounts(core: QueueCore): void {
  const { slots } = core.state
  const notes: RecordWrite[] = []
  for (const slot of core.behind.keys()) {
    if (slots.state[slot] === FREE || notes.length >= SLICE) continue
    const failures = core.failures.get(slot)
    notes.push({
      collection: core.notes,
      key: core.keyOf(slot),
      value: JSON.stringify({
        n: slots.receives[slot],
        first: slots.firstReceivedAt[slot],
        ...(failures !== undefined && { failures }),
      }),
    })
    core.noted.add(slot)
    core.behind.delete(slot)
  }
  if (notes.length === 0) return
  core.writing.add({ messages: [], notes, bytes: notes.length * 512, done: ignore, failed: ignore })
}

function ignore(): void {}
