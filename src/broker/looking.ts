/** What a queue says of its messages and of itself to whoever looks. */
import type { BrokerMetrics, Failure, MessageState, QueueStats } from './broker.ts'
import type { QueueCore } from './queue-core.ts'
import type { Shared } from './premises.ts'
import { DELAYED, LEASED, LEAVING, NO_SLOT, READY } from './slots.ts'

/** Where a message is. */
export type SlotReport = Readonly<{
  seq: number
  state: MessageState
  dueAt: number
  receives: number
  firstReceivedAt: number
  failures: readonly Failure[] | undefined
}>

/** How many neighbours are looked at before one is looked for anew. */
const NEAR = 64

/** Those of these messages that are there; the numbers grow. */
export function statesOf(
  { state: { slots }, failures }: QueueCore,
  seqs: readonly number[],
): readonly SlotReport[] {
  const found: SlotReport[] = []
  let slot = NO_SLOT
  for (const seq of seqs) {
    for (let near = 0; slot !== NO_SLOT && slots.seq[slot]! < seq; near++)
      slot = near < NEAR ? slots.newer[slot]! : NO_SLOT
    if (slot === NO_SLOT) slot = slots.from(seq)
    if (slot === NO_SLOT) break
    const state = slots.seq[slot] === seq ? nameOf(slots.state[slot]!) : undefined
    if (state === undefined) continue
    found.push({
      seq,
      state,
      dueAt: slots.dueAt[slot]!,
      receives: slots.receives[slot]!,
      firstReceivedAt: slots.firstReceivedAt[slot]!,
      failures: failures.get(slot),
    })
  }
  return found
}

export function statsOf(core: QueueCore): QueueStats {
  const { state, counts } = core
  const { slots, ready, delayed, leased, leaving, bytes } = state
  const oldest = slots.oldest === NO_SLOT ? core.now : slots.sentAt[slots.oldest]!
  return {
    ready: ready.size,
    delayed,
    // What is about to go or to come back is nobody's to receive.
    leased: leased + leaving,
    bytes,
    oldestAgeMs: Math.max(0, core.now - oldest),
    waiting: core.waiters.size,
    ...counts,
  }
}

/** Over all queues. What is in them is summed over those whose messages are in memory. */
export function metricsOf(
  { bodies, totals, committing, awake }: Shared,
  queues: number,
  awakeQueues: number,
): BrokerMetrics {
  const { commits, records, refusals } = committing
  const depth = { ready: 0, delayed: 0, leased: 0, messageBytes: 0, waiting: 0 }
  for (const { state, waiters } of awake.values()) {
    depth.ready += state.ready.size
    depth.delayed += state.delayed
    depth.leased += state.leased + state.leaving
    depth.messageBytes += state.bytes
    depth.waiting += waiters.size
  }
  const textChars = bodies.used
  return { queues, awakeQueues, ...depth, textChars, commits, records, refusals, ...totals }
}

function nameOf(state: number): MessageState | undefined {
  if (state === READY) return 'ready'
  if (state === DELAYED) return 'delayed'
  return state === LEASED || state === LEAVING ? 'leased' : undefined
}
