/**
 * Everything that nobody holds goes, a part at a time: each part is one batch, and others have their turn in
 * between. What was sent after the purge began is not meant.
 */
import type { RecordWrite } from '../journal/index.ts'
import type { Ref } from '../kernel/index.ts'
import { fault } from '../std/index.ts'
import type { QueueFault } from './broker.ts'
import { notesToDelete } from './counting.ts'
import { PURGE_PAUSE_MS } from './limits.ts'
import type { QueueCore } from './queue-core.ts'
import { DELAYED, LEASED, LEAVING, NO_SLOT, READY } from './slots.ts'

export type PurgeAnswer = Readonly<{ ok: true; purged: number }> | QueueFault

export type Purge = {
  readonly includeLeased: boolean
  readonly upTo: number
  readonly replyTo: Ref<PurgeAnswer>
  /** Everything before it has been looked at. */
  after: number
  purged: number
  isWriting: boolean
}

/** Messages of one batch, and messages that are looked at for it. */
const PART = 1_000
const LOOKED_AT_MAX = 20_000

export function beginPurge(
  core: QueueCore,
  includeLeased: boolean,
  replyTo: Ref<PurgeAnswer>,
): void {
  if (core.purge !== undefined || core.now < core.purgedAt + PURGE_PAUSE_MS)
    return void replyTo.tell(
      fault('purge-in-progress', `a queue is purged once in ${PURGE_PAUSE_MS / 1_000} s`),
    )
  core.purgedAt = core.now
  const upTo = core.shared.nextSeq()
  core.purge = { includeLeased, upTo, replyTo, after: -1, purged: 0, isWriting: false }
  stepPurge(core)
}

export function stepPurge(core: QueueCore): void {
  const { purge, state } = core
  if (purge === undefined || purge.isWriting) return
  const { slots } = state
  const leaving: { slot: number; dueAt: number }[] = []
  const messages: RecordWrite[] = []
  const notes: RecordWrite[] = []
  let slot = slots.from(purge.after + 1)
  let unsettled = NO_SLOT
  for (let count = 0; count < LOOKED_AT_MAX && leaving.length < PART; count++) {
    if (slot === NO_SLOT || slots.seq[slot]! > purge.upTo) break
    if (slots.state[slot] === LEAVING) {
      unsettled = slot // it may stay after all
      break
    }
    const next = slots.newer[slot]!
    purge.after = slots.seq[slot]!
    if (isMeant(slots.state[slot]!, purge.includeLeased)) {
      leaving.push({ slot, dueAt: slots.dueAt[slot]! })
      state.leave(slot)
      messages.push({ collection: core.messages, key: core.keyOf(slot), deleted: true })
      notes.push(...notesToDelete(core, slot))
    }
    slot = next
  }
  if (leaving.length === 0) {
    const isOver = slot === NO_SLOT || slots.seq[slot]! > purge.upTo
    if (unsettled !== NO_SLOT) core.whenSettled(unsettled, () => stepPurge(core))
    else if (isOver) endPurge(core)
    else core.outside.goOn()
    return
  }
  purge.isWriting = true
  core.writing.add({
    messages,
    notes,
    bytes: 0,
    done() {
      for (const each of leaving) core.release(each.slot)
      purge.purged += leaving.length
      core.count('purged', leaving.length)
      purge.isWriting = false
      stepPurge(core)
    },
    failed(reason) {
      for (const each of leaving) core.stay(each.slot, each.dueAt)
      endPurge(core, reason)
    },
  })
}

/** It is done, or cannot be done. */
export function endPurge(core: QueueCore, reason?: QueueFault): void {
  const { purge } = core
  if (purge === undefined) return
  core.purge = undefined
  purge.replyTo.tell(reason ?? { ok: true, purged: purge.purged })
}

function isMeant(state: number, includeLeased: boolean): boolean {
  return state === READY || state === DELAYED || (includeLeased && state === LEASED)
}
