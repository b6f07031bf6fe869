/** The ends of deliveries: deleted, failed, given back, put off, rejected. */
import type { Ref } from '../kernel/index.ts'
import { fault, unreachable } from '../std/index.ts'
import type { QueueFault, Receipt, Settled, Settlement } from './broker.ts'
import { giveBackNoted, isBehind, noteFailure } from './counting.ts'
import { deathOf, expire, mustDie, remove } from './dying.ts'
import { BROKER_BATCH_MAX, DELAY_MS_MAX, VISIBILITY_MS_MAX } from './limits.ts'
import type { QueueCore } from './queue-core.ts'
import { FREE, LEASED, LEAVING, NO_SLOT } from './slots.ts'

export type Settle = Readonly<{
  type: 'settle'
  items: readonly Settlement[]
  replyTo: Ref<readonly (Settled | QueueFault)[]>
}>

const EFFECTIVE: Settled = Object.freeze({ ok: true, effective: true })
const IDLE: Settled = Object.freeze({ ok: true, effective: false })

export function settle(core: QueueCore, { items, replyTo }: Settle): void {
  if (items.length > BROKER_BATCH_MAX) {
    const reason = fault('bad-message', `${items.length} ends of deliveries are too many at once`, {
      max: BROKER_BATCH_MAX,
    })
    return void replyTo.tell(items.map(() => reason))
  }
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
  const isHeld =
    slot === receipt.slot &&
    receipt.token === core.shared.token &&
    core.state.isHeld(slot, receipt.gen)
  switch (item.type) {
    case 'delete':
      if (!isHeld) return removeLate(core, item, slot, end)
      return remove(core, slot, () => core.holdOn(slot), ending(core, end))
    case 'nack':
      return isHeld ? nack(core, slot, item, end) : end(notInFlight(core, slot))
    case 'release':
      return isHeld ? release(core, slot, end) : end(notInFlight(core, slot))
    case 'extend':
      return isHeld ? extend(core, slot, item.visibilityMs, end) : end(notInFlight(core, slot))
    case 'reject':
      return isHeld ? reject(core, slot, item, end) : end(notInFlight(core, slot))
    default:
      return unreachable(item)
  }
}

function nack(
  core: QueueCore,
  slot: number,
  { delayMs, reason, consumer }: Extract<Settlement, { type: 'nack' }>,
  end: End,
): void {
  if (delayMs !== undefined && !(delayMs >= 0 && delayMs <= DELAY_MS_MAX))
    return end(fault('bad-message', `the delay is from 0 to ${DELAY_MS_MAX} ms`))
  core.count('nacked')
  noteFailure(core, slot, failureOf(reason ?? 'not acknowledged', consumer))
  fail(core, slot, delayMs, (outcome) => end(outcome ?? EFFECTIVE))
}

/** It was not looked at: as if it had not been handed out. */
function release(core: QueueCore, slot: number, end: End): void {
  const now = core.now
  core.state.uncount(slot)
  if (core.noted.has(slot)) isBehind(core, slot)
  else core.behind.delete(slot)
  core.state.giveBack(slot, now, now)
  end(EFFECTIVE)
}

function extend(core: QueueCore, slot: number, visibilityMs: number, end: End): void {
  const now = core.now
  const latest = core.state.slots.leasedAtS[slot]! * 1_000 + VISIBILITY_MS_MAX
  if (!(visibilityMs >= 0 && visibilityMs <= VISIBILITY_MS_MAX && now + visibilityMs <= latest))
    return end(
      fault('bad-message', `a lease lasts ${VISIBILITY_MS_MAX} ms at most, with all extensions`, {
        leftMs: Math.max(0, latest - now),
      }),
    )
  if (visibilityMs === 0) return fail(core, slot, 0, (outcome) => end(outcome ?? EFFECTIVE))
  core.state.extend(slot, now + visibilityMs)
  end(EFFECTIVE)
}

function reject(
  core: QueueCore,
  slot: number,
  { reason, consumer }: Extract<Settlement, { type: 'reject' }>,
  end: End,
): void {
  if (core.entry.config.deadLetterQueue === undefined)
    return end(
      fault('no-dead-letters', 'the queue has no queue for dead letters', {
        remedy: 'set deadLetterQueue, or delete the message',
      }),
    )
  noteFailure(core, slot, failureOf(reason ?? 'rejected', consumer))
  deathOf(core, slot, 'rejected', (outcome) => end(outcome ?? EFFECTIVE))
}

function failureOf(
  reason: string,
  consumer: string | undefined,
): Readonly<{ reason: string; consumer?: string }> {
  return { reason, ...(consumer !== undefined && { consumer }) }
}

/** A delivery came to nothing: once more after a pause, or no more. */
export function fail(
  core: QueueCore,
  slot: number,
  delayMs: number | undefined,
  ended: (outcome: QueueFault | undefined) => void,
): void {
  const { state, entry, shared } = core
  const now = core.now
  if (state.isTooOld(slot, now)) {
    expire(core, slot)
    return ended(undefined)
  }
  const receives = state.slots.receives[slot]!
  if (mustDie(core, slot)) return deathOf(core, slot, `received ${receives} times`, ended)
  const { baseMs, factor, maxMs, jitter } = entry.config.backoff
  const pause = Math.min(maxMs, baseMs * factor ** (receives - 1))
  const spread = pause === 0 ? 0 : pause * jitter * (shared.random.next() * 2 - 1)
  const dueAt = now + Math.round(delayMs ?? pause + spread)
  giveBackNoted(core, slot, dueAt, () => ended(undefined))
}

/** By a receipt whose delivery is over: only what nobody holds, and in a FIFO queue nothing. */
function removeLate(core: QueueCore, item: Settlement, slot: number, end: End): void {
  const state = slot === NO_SLOT ? FREE : core.state.slots.state[slot]!
  if (state === FREE) return end(IDLE)
  // What is said here must not be said before it is clear what becomes of the message.
  if (state === LEAVING) return core.whenSettled(slot, () => settleOne(core, item, end))
  if (core.entry.config.fifo) return end(staleReceipt())
  if (state === LEASED) return end(IDLE)
  const dueAt = core.state.slots.dueAt[slot]!
  remove(core, slot, () => core.stay(slot, dueAt), ending(core, end))
}

function ending(core: QueueCore, end: End): (outcome: QueueFault | undefined) => void {
  return (outcome) => {
    if (outcome === undefined) core.count('deleted')
    end(outcome ?? EFFECTIVE)
  }
}

/** Where the message of a receipt is; a receipt of an earlier start has slots of its own. */
function slotOf(core: QueueCore, { slot, seq, token }: Receipt): number {
  const { slots } = core.state
  const isThere =
    token === core.shared.token &&
    slot < slots.state.length &&
    slots.seq[slot] === seq &&
    slots.state[slot] !== FREE
  return isThere ? slot : slots.find(seq)
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
