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
import { isBehind } from './counting.ts'
import { deathOf, expire, mustDie } from './dying.ts'
import {
  BURIAL_RETRY_MS,
  DEDUP_MS_FIFO,
  PARKED_MAX,
  RECEIVE_BYTES_MAX,
  RECEIVE_MAX,
  UNREADABLE_RETRY_MS,
  VISIBILITY_MS_MAX,
  WAIT_MS_MAX,
} from './limits.ts'
import { keyOf } from './message-id.ts'
import { messageOf } from './message-text.ts'
import type { QueueCore } from './queue-core.ts'
import { NO_SLOT } from './slots.ts'
import { Waiter } from './waiters.ts'

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

/** How many texts are read at once, for whoever receives next, and how many bytes of them. */
const READ_AHEAD = 256
const READ_AHEAD_BYTES = 1_048_576
/** Who has waited long enough is told so many at a time. */
const SLICE = 1_000
/** Receives of a FIFO queue that may be asked for again; the oldest is forgotten first. */
const ATTEMPTS_MAX = 10_000

export function receiveFrom(core: QueueCore, request: Receive): void {
  const { config } = core.entry
  const { max, waitMs = config.waitMs, visibilityMs = config.visibilityMs } = request
  const refusal = judge(max, waitMs, visibilityMs)
  if (refusal !== undefined) return void request.replyTo.tell(refusal)
  const waiter = new Waiter({
    max,
    until: core.now + waitMs,
    visibilityMs,
    signal: request.signal,
    attemptId: request.attemptId,
    replyTo: request.replyTo,
  })
  if (repeat(core, waiter)) return
  if (core.waiters.size === 0 && handOut(core, waiter)) return
  if (waiter.until <= core.now) return void waiter.replyTo.tell(nothing(core))
  if (core.waiters.size >= PARKED_MAX) {
    const reason = fault('too-many-parked', `${PARKED_MAX} receives wait at this queue already`)
    return void waiter.replyTo.tell(reason)
  }
  core.waiters.add(waiter)
}

/** Gives what has become ready to those who wait. */
export function serveWaiters(core: QueueCore): void {
  while (core.state.ready.size > 0) {
    const waiter = core.waiters.first
    if (waiter === undefined) return
    if (waiter.isGone) dismiss(core, waiter, [])
    else if (handOut(core, waiter)) core.waiters.remove(waiter)
    else return
  }
}

/** Those who have waited long enough go without; says whether some are left for the next turn. */
export function endWaiting(core: QueueCore): boolean {
  for (let count = 0; count < SLICE; count++) {
    const waiter = core.waiters.overdue(core.now)
    if (waiter === undefined) return false
    dismiss(core, waiter, [])
  }
  return true
}

/** Whoever waits for that answer does not any more. */
export function stopWaiting(core: QueueCore, replyTo: Waiter['replyTo']): void {
  const waiter = core.waiters.by(replyTo)
  if (waiter !== undefined) dismiss(core, waiter, [])
}

export function dismissAll(core: QueueCore, reason: QueueFault): void {
  for (let { first } = core.waiters; first !== undefined; first = core.waiters.first)
    dismiss(core, first, reason)
}

/**
 * The texts that were read. A message without one is damaged: it is put off, since its neighbours can be read, and
 * somebody may repair it.
 */
export function handOutRead(
  core: QueueCore,
  { waiter, slots, gens }: Reading,
  found: readonly StoredRecord[] | undefined,
): void {
  const { state, now } = core
  const againMs = found === undefined ? BURIAL_RETRY_MS : UNREADABLE_RETRY_MS
  const texts = new Map(found?.map(({ key, value }) => [key, value]))
  const deliveries: Delivery[] = []
  let unreadable = 0
  for (const [index, slot] of slots.entries()) {
    if (!state.isHeld(slot, gens[index]!)) continue // its lease was over before it began
    const key = core.keyOf(slot)
    const text = state.slots.texts.get(slot) ?? texts.get(key)
    texts.delete(key)
    if (text !== undefined) deliveries.push(deliveryOf(core, slot, text))
    else {
      unreadable++
      state.uncount(slot)
      state.giveBack(slot, now, now + againMs)
      core.shared.log.error('a message cannot be read', { queue: core.entry.name.name, key })
    }
  }
  keepAhead(core, texts)
  if (deliveries.length > 0 || unreadable === 0) return reply(core, waiter, deliveries)
  const reason = fault('unreadable', 'what is on record of the message cannot be read', {
    remedy: 'verify and repair the store',
  })
  waiter.replyTo.tell(reason)
}

function judge(max: number, waitMs: number, visibilityMs: number): QueueFault | undefined {
  if (!(Number.isInteger(max) && max >= 1 && max <= RECEIVE_MAX))
    return fault('bad-message', `a receive asks for 1 to ${RECEIVE_MAX} messages`)
  if (!(waitMs >= 0 && waitMs <= WAIT_MS_MAX))
    return fault('bad-message', `a receive waits from 0 to ${WAIT_MS_MAX} ms`)
  if (!(visibilityMs >= 0 && visibilityMs <= VISIBILITY_MS_MAX))
    return fault('bad-message', `a lease lasts from 0 to ${VISIBILITY_MS_MAX} ms`)
  return undefined
}

/** Who does not wait is told why there is nothing, if that is not because there is nothing. */
function nothing({ state, entry: { config } }: QueueCore): readonly Delivery[] | QueueFault {
  if (config.fifo || state.leased < config.inFlightMax || state.ready.size === 0) return []
  return fault('too-many-in-flight', `${config.inFlightMax} messages of this queue are in flight`, {
    remedy: 'delete what has been received',
  })
}

function handOut(core: QueueCore, waiter: Waiter): boolean {
  const { state, entry } = core
  const { config, paused } = entry
  if (paused.receive) return false
  const now = core.now
  const slots: number[] = []
  const isUsual = waiter.visibilityMs === config.visibilityMs
  let [missing, bytes] = [0, 0]
  while (
    slots.length < waiter.max &&
    state.leased < config.inFlightMax &&
    bytes < RECEIVE_BYTES_MAX
  ) {
    const slot = state.lease(now, now + waiter.visibilityMs, isUsual, config.agingMs)
    if (slot === NO_SLOT) break
    if (!isFit(core, slot, now)) continue
    bytes += state.slots.bytes[slot]!
    if (state.slots.texts.get(slot) === undefined) missing++
    slots.push(slot)
  }
  state.endTurn(slots)
  if (slots.length === 0) return false
  if (missing > 0) read(core, waiter, slots)
  else
    reply(
      core,
      waiter,
      slots.map((slot) => deliveryOf(core, slot, state.slots.texts.get(slot)!)),
    )
  return true
}

/** What is too old or was delivered too often goes where it belongs instead. */
function isFit(core: QueueCore, slot: number, now: number): boolean {
  const { state } = core
  state.uncount(slot)
  if (state.isTooOld(slot, now)) expire(core, slot)
  else if (mustDie(core, slot)) deathOf(core, slot, `received ${state.slots.receives[slot]} times`)
  else {
    state.slots.receives[slot]!++
    return true
  }
  return false
}

function reply(core: QueueCore, waiter: Waiter, deliveries: readonly Delivery[]): void {
  core.count('received', deliveries.length)
  for (const { receipt } of deliveries) isBehind(core, receipt.slot)
  if (waiter.attemptId !== undefined && core.entry.config.fifo && deliveries.length > 0)
    remember(core, waiter.attemptId, deliveries)
  waiter.replyTo.tell(deliveries)
}

function remember({ attempts, now }: QueueCore, id: string, deliveries: readonly Delivery[]): void {
  attempts.delete(id) // so that they are in order of time
  if (attempts.size >= ATTEMPTS_MAX)
    for (const oldest of attempts.keys()) {
      attempts.delete(oldest)
      break
    }
  attempts.set(id, {
    slots: deliveries.map(({ receipt }) => receipt.slot),
    gens: deliveries.map(({ receipt }) => receipt.gen),
    until: now + DEDUP_MS_FIFO,
  })
}

/** The same receive of a FIFO queue again gets the same messages, while all of them are still held. */
function repeat(core: QueueCore, waiter: Waiter): boolean {
  const { attempts, state, now } = core
  for (const [id, { until }] of attempts) {
    if (until > now) break
    attempts.delete(id)
  }
  const attempt = waiter.attemptId === undefined ? undefined : attempts.get(waiter.attemptId)
  if (attempt === undefined) return false
  const { slots, gens } = attempt
  if (!slots.every((slot, index) => state.isHeld(slot, gens[index]!))) return false
  if (slots.some((slot) => state.slots.texts.get(slot) === undefined)) read(core, waiter, slots)
  else
    waiter.replyTo.tell(slots.map((slot) => deliveryOf(core, slot, state.slots.texts.get(slot)!)))
  return true
}

function read(core: QueueCore, waiter: Waiter, slots: readonly number[]): void {
  const { texts, next, gen, bytes } = core.state.slots
  const keys = slots.filter((slot) => texts.get(slot) === undefined).map((slot) => core.keyOf(slot))
  let ahead = 0
  for (
    let slot = core.state.ready.laneOf(slots.at(-1)!).head;
    slot !== NO_SLOT && keys.length < READ_AHEAD && ahead < READ_AHEAD_BYTES;
    slot = next[slot]!
  ) {
    if (texts.get(slot) !== undefined) break
    keys.push(core.keyOf(slot))
    ahead += bytes[slot]!
  }
  const gens = slots.map((slot) => gen[slot]!)
  core.outside.readTexts(keys, { waiter, slots, gens })
}

/** What was read for those who receive next. */
function keepAhead(core: QueueCore, texts: ReadonlyMap<string, string>): void {
  const { slots, ready } = core.state
  let slot = ready.first(core.now, core.entry.config.agingMs)
  for (let left = texts.size; slot !== NO_SLOT && left > 0; left--) {
    const text = texts.get(keyOf(slots.seq[slot]!))
    if (text !== undefined) core.keepText(slot, text)
    slot = slots.next[slot]!
  }
}

function deliveryOf(core: QueueCore, slot: number, text: string): Delivery {
  const { slots } = core.state
  const seq = slots.seq[slot]!
  const now = {
    receives: slots.receives[slot]!,
    firstReceivedAt: slots.firstReceivedAt[slot]!,
    failures: core.failures.get(slot),
  }
  return {
    ...messageOf(text, seq, now, (id) => core.shared.entryOf(id)?.name),
    receipt: {
      queueId: core.entry.id,
      slot,
      gen: slots.gen[slot]!,
      seq,
      token: core.shared.token,
    },
    visibleAt: slots.dueAt[slot]!,
  }
}

function dismiss(core: QueueCore, waiter: Waiter, answer: readonly Delivery[] | QueueFault): void {
  core.waiters.remove(waiter)
  waiter.replyTo.tell(answer)
}
