/** The ends of deliveries: deleted, failed, given back, put off, rejected. */
import type { Ref } from '../kernel/index.ts'
import { fault } from '../std/index.ts'
import type { QueueFault, Receipt, Settled, Settlement } from './broker.ts'
import { deathOf, expire, noteFailure, remove } from './dying.ts'
import { VISIBILITY_MS_MAX } from './limits.ts'
import type { QueueCore } from './queue-core.ts'
import { DELAYED, FREE, LEASED, LEAVING, NO_SLOT, READY } from './slots.ts'

export type Settle = Readonly<{
  type: 'settle'
  items: readonly Settlement[]
  replyTo: Ref<readonly (Settled | QueueFault)[]>
}>

const EFFECTIVE: Settled = Object.freeze({ ok: true, effective: true })
const IDLE: Settled = Object.freeze({ ok: true, effective: false })

export function settle(core: QueueCore, { items, replyTo }: Settle): void {
  const answers: (Settled | QueueFault)[] = []
  let open = items.length + 1
  const close = (): void => {
    open--
    if (open === 0) replyTo.tell(answers)
  }
  for (const [index, item] of items.entries())
    settleOne(core, item, (answer) => {
      answers[index] = answer
      close()
    })
  close()
}

type End = (answer: Settled | QueueFault) => void

function settleOne(core: QueueCore, item: Settlement, end: End): void {
  const { receipt } = item
  if (receipt.queueId !== core.entry.id)
    return end(fault('bad-receipt', 'the receipt is of another queue'))
  const slot = slotOf(core, receipt)
  const isHeld = slot !== NO_SLOT && core.state.isHeld(slot, receipt.gen) && isOfNow(core, receipt)
  if (item.type === 'delete')
    return isHeld ? remove(core, slot, ending(core, end)) : removeLate(core, slot, end)
  if (!isHeld) return end(notInFlight(core, slot))
  switch (item.type) {
    case 'nack':
      core.counts.nacked++
      noteFailure(core, slot, {
        reason: item.reason ?? 'not acknowledged',
        ...(item.consumer !== undefined && { consumer: item.consumer }),
      })
      return fail(core, slot, item.delayMs, (outcome) => end(outcome ?? EFFECTIVE))
    case 'release': {
      core.state.uncount(slot)
      const now = core.now
      core.state.giveBack(slot, now, now)
      return end(EFFECTIVE)
    }
    case 'extend':
      return end(extend(core, slot, item.visibilityMs))
    case 'reject':
      noteFailure(core, slot, {
        reason: item.reason ?? 'rejected',
        ...(item.consumer !== undefined && { consumer: item.consumer }),
      })
      return deathOf(core, slot, 'rejected', (outcome) => end(outcome ?? EFFECTIVE))
  }
}

/** A delivery came to nothing: once more after a pause, or no more. */
export function fail(
  core: QueueCore,
  slot: number,
  delayMs: number | undefined,
  ended: (outcome: QueueFault | undefined) => void,
): void {
  const { state, entry, shared } = core
  const { config } = entry
  const now = core.now
  if (state.isTooOld(slot, now)) {
    expire(core, slot)
    return ended(undefined)
  }
  const receives = state.slots.receives[slot]!
  if (receives >= config.maxReceives && config.deadLetterQueue !== undefined)
    return deathOf(core, slot, `received ${receives} times`, ended)
  const { baseMs, factor, maxMs, jitter } = config.backoff
  const pause = Math.min(maxMs, baseMs * factor ** (receives - 1))
  const spread = pause === 0 ? 0 : pause * jitter * (shared.random.next() * 2 - 1)
  state.giveBack(slot, now, now + Math.round(delayMs ?? pause + spread))
  ended(undefined)
}

/** By a receipt whose delivery is over: only what nobody holds, and in a FIFO queue nothing. */
function removeLate(core: QueueCore, slot: number, end: End): void {
  const state = slot === NO_SLOT ? FREE : core.state.slots.state[slot]!
  if (state === FREE) return end(IDLE)
  if (state === LEAVING) {
    // Somebody is deleting it; what is said here must not be said before that is so.
    const seq = core.state.slots.seq[slot]
    const isThere = (): boolean =>
      core.state.slots.seq[slot] === seq && core.state.slots.state[slot] !== FREE
    return core.writing.add({
      messages: [],
      notes: [],
      bytes: 0,
      done: () => end(isThere() ? staleReceipt() : IDLE),
      failed: end,
    })
  }
  if (core.entry.config.fifo) return end(staleReceipt())
  if (state === READY || state === DELAYED) return remove(core, slot, ending(core, end))
  end(IDLE)
}

function ending(core: QueueCore, end: End): (outcome: QueueFault | undefined) => void {
  return (outcome) => {
    if (outcome === undefined) core.counts.deleted++
    end(outcome ?? EFFECTIVE)
  }
}

function extend(core: QueueCore, slot: number, visibilityMs: number): Settled | QueueFault {
  if (!(visibilityMs >= 0 && visibilityMs <= VISIBILITY_MS_MAX))
    return fault('bad-message', `a lease lasts from 0 to ${VISIBILITY_MS_MAX} ms`)
  const now = core.now
  if (visibilityMs === 0) fail(core, slot, 0, () => undefined)
  else core.state.extend(slot, now + visibilityMs)
  return EFFECTIVE
}

/** Where the message of a receipt is; a receipt of an earlier start has slots of its own. */
function slotOf(core: QueueCore, { slot, seq, token }: Receipt): number {
  if (token !== core.shared.fence.token) return core.slotOfLoaded(seq)
  const { slots } = core.state
  const isThere = slot < slots.state.length && slots.seq[slot] === seq && slots.state[slot] !== FREE
  return isThere ? slot : NO_SLOT
}

function isOfNow(core: QueueCore, { token }: Receipt): boolean {
  return token === core.shared.fence.token
}

function notInFlight(core: QueueCore, slot: number): QueueFault {
  if (slot !== NO_SLOT && core.state.slots.state[slot] === LEASED) return staleReceipt()
  return fault('not-in-flight', 'the message is not in flight: its lease is over, or it is gone', {
    remedy: 'extend a lease before it ends',
  })
}

function staleReceipt(): QueueFault {
  return fault('stale-receipt', 'the delivery that the receipt names is over')
}
