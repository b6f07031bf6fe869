/**
 * How late a message is that is due, on a real clock.
 *
 * A busy machine makes everybody late. So what is measured is measured beside something that has no broker in it
 * and, where the machine is too busy for that, beside messages that are sent when they are due. A limit that is
 * missed is tried again.
 */
import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'

import { createBroker, type Broker, type QueueName } from '../../src/broker/index.ts'
import { memoryJournal } from '../../src/journal/index.ts'
import { createSystem } from '../../src/kernel/index.ts'
import { isFault, random, systemClock } from '../../src/std/index.ts'

const TRIES = 4
const MESSAGES = 200
const LATE_MS_MAX = 5
const LEASE_MS = 100
/** A machine on which messages without a delay are this late has much else to do. */
const QUIET_MS_MAX = 5
const BUSY_RATIO_MAX = 1.5

const A: QueueName = { account: '1', region: 'r', name: 'a' }
const B: QueueName = { ...A, name: 'b' }

test('a delayed message is handed out on time, and one whose lease has ended as well', async (t) => {
  await attempts(t, async (broker) => {
    const draw = random(3)
    const late: number[] = []
    const idle: number[] = []
    await broker.create(A, { visibilityMs: LEASE_MS, maxReceives: Infinity })
    await broker.create(B)
    /** When each is to be seen next. */
    const due = new Map<string, number>()
    const plain = Array.from({ length: MESSAGES }, async (_, n) => {
      const delayMs = 10 + draw.below(600)
      due.set(`${n}`, delayMs)
      const dueMs = systemClock.monotonic() + delayMs
      const sent = broker.send(A, [{ body: `${n}`, delayMs }])
      for (const atMs of [dueMs, dueMs + LEASE_MS]) {
        idle.push(await timer(atMs))
        void broker.send(B, [{ body: `${atMs}` }])
      }
      await sent
    })
    const beside = undelayed(broker)
    for (let got = 0; got < 2 * MESSAGES;) {
      const some = await broker.receive(A, { max: 1, waitMs: 2_000 })
      assert.ok(!isFault(some))
      for (const { sentAt, body, receives, receipt, visibleAt } of some) {
        got++
        const wanted = due.get(body)! + (receives === 1 ? sentAt : 0)
        late.push(Math.max(0, systemClock.now() - wanted))
        due.set(body, visibleAt)
        if (receives > 1) void broker.settle(A, [{ type: 'delete', receipt }])
      }
    }
    await Promise.all(plain)
    const [own, timers, other] = [p99(late), p99(idle), p99(await beside)]
    const isQuiet = other <= QUIET_MS_MAX
    return {
      isMet: own <= LATE_MS_MAX + (isQuiet ? 2 * timers : BUSY_RATIO_MAX * other),
      what:
        `p99 ${own} ms late, plain timers ${timers.toFixed(1)} ms, ` +
        `messages that a timer sends ${other.toFixed(1)} ms`,
    }
  })
})

/** How late each message comes that is sent when it is due, and so waits for nothing but its turn. */
async function undelayed(broker: Broker): Promise<number[]> {
  const late: number[] = []
  while (late.length < 2 * MESSAGES) {
    const some = await broker.receive(B, { max: 1, waitMs: 2_000 })
    assert.ok(!isFault(some))
    for (const { body, receipt } of some) {
      late.push(systemClock.monotonic() - Number(body))
      void broker.settle(B, [{ type: 'delete', receipt }])
    }
  }
  return late
}

/** How late a timer is that nobody else has to do with. */
function timer(dueMs: number): Promise<number> {
  return new Promise((resolve) => {
    systemClock.setTimer(dueMs, () => resolve(systemClock.monotonic() - dueMs))
  })
}

function p99(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length * 0.99)]!
}

async function attempts(
  t: TestContext,
  measure: (broker: Broker) => Promise<Readonly<{ isMet: boolean; what: string }>>,
): Promise<void> {
  // The first is for the compiler.
  for (let n = 0; ; n++) {
    const journal = await memoryJournal()
    const system = createSystem({ name: 'timing' })
    const broker = await createBroker({ system, journal })
    const { isMet, what } = await measure(broker)
    t.diagnostic(what)
    await broker.close()
    await system.stop()
    await journal.close()
    if (n > 0 && isMet) return
    assert.ok(n < TRIES, what)
  }
}
