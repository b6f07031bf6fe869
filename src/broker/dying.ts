/**
 * Messages that go elsewhere or nowhere: dead letters and those that grew too old.
 *
 * A death is one batch: gone here and there over there, or neither. The queue that gets it is told when it is
 * durable. Those that die are buried in the order in which they died, so the dead letters of a group are in its
 * order. Who cannot be buried is tried again after a while, and nobody is given it meanwhile. Where there is no
 * queue for dead letters, nothing dies.
 */
import type { RecordWrite } from '../journal/index.ts'
import { fault } from '../std/index.ts'
import type { Failure, QueueFault } from './broker.ts'
import { notesToDelete } from './counting.ts'
import { BURIAL_RETRY_MS } from './limits.ts'
import { keyOf } from './message-id.ts'
import { bodyOf, extrasOf, headOf, textOf } from './message-text.ts'
import type { QueueCore } from './queue-core.ts'
import { messagesOf, type Entry } from './premises.ts'

/** A message that leaves for another queue, on its way. */
export type Leaver = Readonly<{
  slot: number
  reason: string
  /** What became of it. */
  ended: (outcome: QueueFault | undefined) => void
}>

/** How many are buried at once, and how many bytes of them are read for it. */
const BURIALS_MAX = 256
const BURIAL_BYTES_MAX = 8_388_608

/** Whether the next delivery would be one too many. */
export function mustDie({ state, entry: { config } }: QueueCore, slot: number): boolean {
  return state.slots.receives[slot]! >= config.maxReceives && config.deadLetterQueue !== undefined
}

/** It is too old: gone, or dead. */
export function expire(core: QueueCore, slot: number): void {
  const { onExpire, deadLetterQueue } = core.entry.config
  const ended = (outcome: QueueFault | undefined): void => {
    if (outcome === undefined) core.count('expired')
  }
  if (onExpire === 'dead-letter' && deadLetterQueue !== undefined)
    deathOf(core, slot, 'expired', ended)
  else remove(core, slot, () => core.stay(slot, core.now + BURIAL_RETRY_MS), ended)
}

/** Gone for good; `otherwise` if that cannot be written. */
export function remove(
  core: QueueCore,
  slot: number,
  otherwise: () => void,
  ended: Leaver['ended'],
): void {
  core.state.leave(slot)
  core.writing.add({
    messages: [{ collection: core.messages, key: core.keyOf(slot), deleted: true }],
    notes: notesToDelete(core, slot),
    bytes: 0,
    done() {
      core.release(slot)
      ended(undefined)
    },
    failed(reason) {
      otherwise()
      ended(reason)
    },
  })
}

/** To the dead letters; `ended` is told when that is durable. */
export function deathOf(
  core: QueueCore,
  slot: number,
  reason: string,
  ended: Leaver['ended'] = () => undefined,
): void {
  core.state.leave(slot)
  core.dying.pushBack({ slot, reason, ended })
  beginBurial(core)
}

function beginBurial(core: QueueCore): void {
  const { dying, state } = core
  if (core.isBurying || dying.length === 0) return
  const leavers: Leaver[] = []
  for (let bytes = 0; leavers.length < BURIALS_MAX && bytes < BURIAL_BYTES_MAX;) {
    const leaver = dying.popFront()
    if (leaver === undefined) break
    leavers.push(leaver)
    bytes += state.slots.bytes[leaver.slot]!
  }
  // Where nothing has to be read, whoever settled it waits for one commit as for any other end.
  const { texts } = state.slots
  const grave = core.shared.graveOf(core.entry)
  if (grave !== undefined && leavers.every(({ slot }) => texts.get(slot) !== undefined))
    return bury(core, leavers, grave, NO_TEXTS)
  core.isBurying = true
  core.outside.findGraves(leavers)
}

const NO_TEXTS: ReadonlyMap<string, string> = new Map()

/** Where they go is known, and so are their texts, by key. */
export function bury(
  core: QueueCore,
  leavers: readonly Leaver[],
  target: Entry | undefined,
  texts: ReadonlyMap<string, string>,
): void {
  core.isBurying = false
  for (const { slot, reason, ended } of leavers) {
    const text = core.state.slots.texts.get(slot) ?? texts.get(core.keyOf(slot))
    if (target === undefined || text === undefined) {
      core.stay(slot, core.now + BURIAL_RETRY_MS)
      ended(fault('no-dead-letters', 'the message cannot be moved to the dead letters yet'))
      continue
    }
    const failures = core.failuresOf(slot, text)
    const dead = failures.length > 0 ? failures : [{ at: core.now, reason }]
    moveTo(core, slot, text, target, { deadLetterOf: core.entry.id, failures: dead }, (outcome) => {
      if (outcome === undefined) core.count('deadLettered')
      ended(outcome)
    })
  }
  beginBurial(core)
}

/** One batch over two queues. The message is leaving already. */
export function moveTo(
  core: QueueCore,
  slot: number,
  text: string,
  target: Entry,
  marks: Readonly<{ deadLetterOf?: number; failures?: readonly Failure[] }>,
  ended: Leaver['ended'],
  notes: readonly RecordWrite[] = [],
): void {
  const { state, shared } = core
  const { deadLetterOf: _died, failures: _failures, ...extras } = extrasOf(text) ?? {}
  const head = headOf(text)
  const seq = shared.nextSeq()
  const moved = textOf(
    { ...head, dueAt: head.sentAt, expiresAt: Infinity },
    { ...extras, first: extras.first ?? state.slots.seq[slot]!, ...marks },
    bodyOf(text),
  )
  core.writing.add({
    messages: [
      { collection: core.messages, key: core.keyOf(slot), deleted: true },
      { collection: messagesOf(target.id), key: keyOf(seq), value: moved },
    ],
    notes: [...notesToDelete(core, slot), ...notes],
    bytes: Buffer.byteLength(moved),
    done() {
      core.release(slot)
      shared.tell(target.id, { type: 'arrived', seq, text: moved })
      ended(undefined)
    },
    failed(reason) {
      core.stay(slot, core.now + BURIAL_RETRY_MS)
      ended(reason)
    },
  })
}
