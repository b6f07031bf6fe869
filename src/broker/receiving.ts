/**
 * Receives: what is ready is handed out at once, and who finds nothing is parked, first come first served.
 *
 * Nothing here waits for the disk, but for texts that are not in memory: these are read with those of the next in
 * line, and handed out when they are there.
 */
import type { StoredRecord } from '../journal/index.ts'
import type { Ref } from '../kernel/index.ts'
import { fault } from '../std/index.ts'
import type { Delivery, QueueFault } from './broker.ts'
import { expire } from './dying.ts'
import { DEDUP_MS_FIFO, PARKED_MAX } from './limits.ts'
import { keyOf } from './message-id.ts'
import { extrasOf, messageOf } from './message-text.ts'
import { Waiter, type QueueCore } from './queue-core.ts'
import { NO_SLOT } from './slots.ts'

export type Receive = Readonly<{
  type: 'receive'
  max: number
  waitMs: number | undefined
  visibilityMs: number | undefined
  signal: AbortSignal | undefined
  attemptId: string | undefined
  replyTo: Ref<readonly Delivery[] | QueueFault>
}>

/** Texts that were asked for, and for whom. */
export type Reading = Readonly<{
  waiter: Waiter
  slots: readonly number[]
  gens: readonly number[]
}>

/** How many texts are read at once, for whoever receives next. */
const READ_AHEAD = 256

export function receiveFrom(core: QueueCore, request: Receive): void {
  const { config } = core.entry
  const waiter = new Waiter({
    max: request.max,
    until: core.now + (request.waitMs ?? config.waitMs),
    visibilityMs: request.visibilityMs ?? config.visibilityMs,
    signal: request.signal,
    attemptId: request.attemptId,
    replyTo: request.replyTo,
  })
  if (repeat(core, waiter)) return
  if (core.waiters.length === 0 && handOut(core, waiter)) return
  if (waiter.until <= core.now) return void waiter.replyTo.tell([])
  if (core.waiting.size >= PARKED_MAX) {
    const reason = fault('too-many-parked', `${PARKED_MAX} receives wait at this queue already`)
    return void waiter.replyTo.tell(reason)
  }
  core.waiters.pushBack(waiter)
  core.waiting.push(waiter)
}

/** Gives what has become ready to those who wait. */
export function serveWaiters(core: QueueCore): void {
  while (core.state.ready.size > 0) {
    const waiter = core.waiters.peekFront()
    if (waiter === undefined) return
    if (!waiter.isGone && waiter.signal?.aborted !== true && !handOut(core, waiter)) return
    core.waiters.popFront()
    core.waiting.remove(waiter)
    if (waiter.signal?.aborted === true) waiter.replyTo.tell([])
  }
}

/** Those who have waited long enough go without. */
export function endWaiting(core: QueueCore): void {
  for (;;) {
    const first = core.waiting.peek()
    if (first === undefined || first.until > core.now) break
    dismiss(core, first, [])
  }
  while (core.waiters.peekFront()?.isGone === true) core.waiters.popFront()
}

/** Whoever waits for that answer does not any more. */
export function stopWaiting(core: QueueCore, replyTo: Waiter['replyTo']): void {
  for (let index = 0; index < core.waiters.length; index++) {
    const waiter = core.waiters.at(index)!
    if (waiter.replyTo === replyTo && !waiter.isGone) return dismiss(core, waiter, [])
  }
}

export function dismissAll(core: QueueCore, reason: QueueFault): void {
  for (let waiter = core.waiting.peek(); waiter !== undefined; waiter = core.waiting.peek())
    dismiss(core, waiter, reason)
  core.waiters.clear()
}

/** The texts that were read; a message without one is damaged, and stays where nobody is given it. */
export function handOutRead(
  core: QueueCore,
  { waiter, slots, gens }: Reading,
  found: readonly StoredRecord[],
): void {
  core.readings--
  const texts = new Map(found.map(({ key, value }) => [key, value]))
  const deliveries: Delivery[] = []
  for (const [index, slot] of slots.entries()) {
    if (!core.state.isHeld(slot, gens[index]!)) continue // its lease was over before it began
    const text = core.state.slots.text[slot] ?? texts.get(core.keyOf(slot))
    if (text === undefined) {
      core.shared.log.error('a message is not on record', {
        queue: core.entry.name.name,
        key: core.keyOf(slot),
      })
      continue
    }
    deliveries.push(deliveryOf(core, slot, text))
  }
  keepAhead(core, texts)
  reply(core, waiter, slots, deliveries)
}

/** They could not be read: as if nobody had asked. */
export function handBack(
  core: QueueCore,
  { waiter, slots, gens }: Reading,
  reason: QueueFault,
): void {
  core.readings--
  const now = core.now
  for (const [index, slot] of slots.entries()) {
    if (!core.state.isHeld(slot, gens[index]!)) continue
    core.state.uncount(slot)
    core.state.giveBack(slot, now, now)
  }
  waiter.replyTo.tell(reason)
}

function handOut(core: QueueCore, waiter: Waiter): boolean {
  const { state, entry } = core
  const { config, paused } = entry
  if (paused.receive) return false
  if (state.leased >= config.inFlightMax) {
    waiter.replyTo.tell(
      fault('too-many-in-flight', `${config.inFlightMax} messages of this queue are in flight`, {
        remedy: 'delete what has been received',
      }),
    )
    return true
  }
  const now = core.now
  const slots: number[] = []
  const isUsual = waiter.visibilityMs === config.visibilityMs
  let missing = 0
  while (slots.length < waiter.max && state.leased < config.inFlightMax) {
    const slot = state.lease(now, now + waiter.visibilityMs, isUsual, config.agingMs)
    if (slot === NO_SLOT) break
    if (state.isTooOld(slot, now)) {
      state.uncount(slot)
      expire(core, slot)
      continue
    }
    if (state.slots.text[slot] === undefined) missing++
    slots.push(slot)
  }
  state.endTurn(slots)
  if (slots.length === 0) return false
  if (missing > 0) read(core, waiter, slots)
  else
    reply(
      core,
      waiter,
      slots,
      slots.map((slot) => deliveryOf(core, slot, state.slots.text[slot]!)),
    )
  return true
}

function reply(
  core: QueueCore,
  waiter: Waiter,
  slots: readonly number[],
  deliveries: readonly Delivery[],
): void {
  core.counts.received += deliveries.length
  for (const { receipt } of deliveries) core.behind.set(receipt.slot, receipt.gen)
  if (waiter.attemptId !== undefined && core.entry.config.fifo)
    core.attempts.set(waiter.attemptId, {
      slots,
      gens: slots.map((slot) => core.state.slots.gen[slot]!),
      until: core.now + DEDUP_MS_FIFO,
    })
  waiter.replyTo.tell(deliveries)
}

/** The same receive of a FIFO queue again gets the same messages, while all of them are still held. */
function repeat(core: QueueCore, waiter: Waiter): boolean {
  const { attempts, state } = core
  for (const [id, { until }] of attempts) {
    if (until > core.now) break
    attempts.delete(id)
  }
  const attempt = waiter.attemptId === undefined ? undefined : attempts.get(waiter.attemptId)
  if (attempt === undefined) return false
  const { slots, gens } = attempt
  if (!slots.every((slot, index) => state.isHeld(slot, gens[index]!))) return false
  if (slots.some((slot) => state.slots.text[slot] === undefined)) read(core, waiter, slots)
  else waiter.replyTo.tell(slots.map((slot) => deliveryOf(core, slot, state.slots.text[slot]!)))
  return true
}

function read(core: QueueCore, waiter: Waiter, slots: readonly number[]): void {
  const { state } = core
  const keys = slots
    .filter((slot) => state.slots.text[slot] === undefined)
    .map((slot) => core.keyOf(slot))
  const lane = state.slots.lane[slots.at(-1)!]!
  for (
    let slot = lane.head;
    slot !== NO_SLOT && keys.length < READ_AHEAD;
    slot = state.slots.next[slot]!
  )
    if (state.slots.text[slot] === undefined) keys.push(core.keyOf(slot))
  core.readings++
  const gens = slots.map((slot) => state.slots.gen[slot]!)
  core.outside.readTexts(keys, { waiter, slots, gens })
}

/** What was read for those who receive next. */
function keepAhead(core: QueueCore, texts: ReadonlyMap<string, string>): void {
  const { slots, ready } = core.state
  const first = ready.first(core.now, core.entry.config.agingMs)
  let left = texts.size
  for (let slot = first; slot !== NO_SLOT && left > 0; slot = slots.next[slot]!) {
    const text = texts.get(keyOf(slots.seq[slot]!))
    if (text === undefined) continue
    left--
    core.keepText(slot, text)
  }
}

function deliveryOf(core: QueueCore, slot: number, text: string): Delivery {
  const { slots } = core.state
  const seq = slots.seq[slot]!
  const died = extrasOf(text)?.deadLetterOf
  const deadLetterOf = died === undefined ? undefined : core.shared.entryOf(died)?.name
  return {
    ...messageOf(text, seq, {
      receives: slots.receives[slot]!,
      firstReceivedAt: slots.firstReceivedAt[slot]!,
      failures: core.failuresOf(slot, text),
    }),
    ...(deadLetterOf !== undefined && { deadLetterOf }),
    receipt: {
      queueId: core.entry.id,
      slot,
      gen: slots.gen[slot]!,
      seq,
      token: core.shared.fence.token,
    },
    visibleAt: slots.dueAt[slot]!,
  }
}

function dismiss(core: QueueCore, waiter: Waiter, answer: readonly Delivery[] | QueueFault): void {
  waiter.isGone = true
  core.waiting.remove(waiter)
  waiter.replyTo.tell(answer)
}
