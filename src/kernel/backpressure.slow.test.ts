import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import { afterIo, random, silentLog, systemClock } from '../std/index.ts'
import { createSystem, receive, type Handle, type Ref, type System } from './index.ts'

const MESSAGES = 1_000_000
const MESSAGES_PER_MS = 1_000
const BOUND = 1_024
/** Messages that the producer has ready for each one that the consumer takes. */
const FASTER = 10
const SAMPLES = 20
/** Who needs more to come to rest hangs. */
const TURNS_MAX = 100_000

/** Bytes in use once everything that nobody holds is gone. */
function heapUsed(): number {
  assert.ok(gc !== undefined, 'run with --expose-gc: the heap is measured')
  gc()
  return process.memoryUsage().heapUsed
}

async function until(isTrue: () => boolean): Promise<void> {
  while (!isTrue()) await new Promise<void>(afterIo)
}

const megabytes = (bytes: number): string => (bytes / 2 ** 20).toFixed(1)

type Ring = Readonly<{ members: Handle<number>[]; figures: () => Figures }>
type Figures = Readonly<{ told: number; handled: number; refused: number }>

/** Each member answers a message above 0 with two smaller ones to the next member. */
function ring(system: System, length: number, bound: number): Ring {
  const members: Handle<number>[] = []
  let [told, handled, refused] = [0, 0, 0]
  for (let n = 0; n < length; n++) {
    const behavior = receive<number>((_ctx, depth) => {
      handled += 1
      if (depth === 0) return
      const target: Ref<number> = members[(n + 1) % length]!
      for (let more = 0; more < 2; more++) {
        told += 1
        const refusal = target.tell(depth - 1)
        if (refusal === undefined) continue
        assert.equal(refusal.code, 'backpressure-cycle')
        refused += 1
      }
    })
    members.push(system.spawn(`${length}-${n}`, behavior, { bound, overflow: 'suspend-sender' }))
  }
  return { members, figures: () => ({ told, handled, refused }) }
}

describe('a producer that is ten times faster than its consumer', () => {
  test('is held back: nothing is lost, the order is kept, memory stays flat', async (t) => {
    let next = 0
    // Time passes with the messages that are handled, not with what else the machine has to do.
    const clock = { ...systemClock, monotonic: () => next / MESSAGES_PER_MS }
    await using system = createSystem({ clock })
    let outOfOrder = 0
    const heap: number[] = []
    const rss: number[] = []
    const consumer = system.spawn(
      'consumer',
      receive<number>((_ctx, message) => {
        if (message !== next) outOfOrder += 1
        next += 1
        if (next % (MESSAGES / SAMPLES) === 0) {
          heap.push(heapUsed())
          rss.push(process.memoryUsage().rss)
        }
      }),
      { bound: BOUND, overflow: 'suspend-sender' },
    )
    let sent = 0
    let refused = 0
    let deepest = 0
    const producer = system.spawn(
      'producer',
      receive<string>((ctx) => {
        for (let n = 0; n < FASTER && sent < MESSAGES; n++) {
          if (consumer.tell(sent++) !== undefined) refused += 1
        }
        deepest = Math.max(deepest, sent - next)
        if (sent < MESSAGES) ctx.self.tell('more')
      }),
    )
    producer.tell('more')
    await until(() => next === MESSAGES)
    const tookMs = clock.monotonic()

    const { suspend_count, suspended_ms_total, blocked_senders, dead_letters } = system.metrics()
    const share = suspended_ms_total / tookMs
    t.diagnostic(
      `${MESSAGES} messages in ${tookMs.toFixed(0)} ms; the producer was suspended ` +
        `${suspend_count} times, ${(100 * share).toFixed(0)} % of the time`,
    )
    t.diagnostic(`heap ${heap.map(megabytes).join(' ')} MiB`)
    t.diagnostic(`resident ${rss.map(megabytes).join(' ')} MiB`)
    assert.equal(sent, MESSAGES)
    assert.equal(refused, 0)
    assert.equal(outOfOrder, 0)
    assert.deepEqual(dead_letters, {})
    assert.equal(blocked_senders, 0)
    assert.ok(suspend_count > MESSAGES / BOUND / 2, `${suspend_count}`)
    assert.ok(share > 0.1 && share <= 1, `${share}`)
    assert.ok(deepest <= BOUND + FASTER, `${deepest} messages were under way at once`)

    const settledHeap = heap.slice(2)
    const growth = settledHeap.at(-1)! - settledHeap[0]!
    assert.ok(growth < 1e6, `the heap grew by ${megabytes(growth)} MiB`)
    const rssGrowth = rss.at(-1)! - rss[2]!
    assert.ok(rssGrowth < 32e6, `the process grew by ${megabytes(rssGrowth)} MiB`)
  })
})

describe('senders in a circle, all of them full', () => {
  for (const length of [1, 2, 3]) {
    test(`${length} of them: the last is refused, nobody hangs, every message is accounted for`, async (t) => {
      const draws = random(length)
      let cycles = 0
      for (let round = 0; round < 500; round++) {
        const system = createSystem({ log: silentLog })
        const { members, figures } = ring(system, length, 1 + draws.below(20))
        let begun = 0
        for (const member of members) {
          for (let n = 1 + draws.below(5); n > 0; n--) {
            if (member.tell(draws.below(10)) === undefined) begun += 1
          }
        }
        const isOver = (): boolean => {
          const { ready_depth, blocked_senders } = system.metrics()
          const { told, handled, refused } = figures()
          return blocked_senders === 0 && ready_depth === 0 && handled + refused === told + begun
        }
        // In turns of the loop, of which a slow machine takes as many as a quick one.
        let turns = 0
        await until(() => isOver() || ++turns > TURNS_MAX)

        const { backpressure_cycles, blocked_senders, suspended_now } = system.metrics()
        const { told, handled } = figures()
        const lost = system.metrics().dead_letters['backpressure-cycle'] ?? 0
        assert.equal(blocked_senders, 0)
        assert.equal(suspended_now, 0)
        assert.equal(handled + lost, told + begun)
        assert.equal(backpressure_cycles, lost)
        cycles += backpressure_cycles
        assert.deepEqual(await system.stop(), { overdue: [] })
      }
      t.diagnostic(`${cycles} circles broken`)
      assert.ok(cycles > 0)
    })
  }
})
