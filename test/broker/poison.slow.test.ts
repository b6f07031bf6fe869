/** Messages that nobody can handle, among many that are handled. */
import assert from 'node:assert/strict'
import { test } from 'node:test'

import { nameOf, Scene, sure } from './scene.ts'

const MESSAGES = 100_000
const MAX_RECEIVES = 3
/** One message in so many. */
const POISON_EVERY = 100
const BATCH = 1_000
const OTHERS_RATE_MIN = 0.95
const CONSUMERS = 8
/** A handler and a flush take about as long. */
const HANDLER_MS = 0.1
const COMMIT_MS = 1

test('of 100 000 messages each poisoned one is dead after so many receives, with its history', async () => {
  await using scene = await Scene.open({ freeze: false, stepsMax: 10 ** 9 })
  const receives = await consume(scene, (n) => n % POISON_EVERY === 7)

  const letters: string[] = []
  for (;;) {
    const some = await scene.receive(nameOf('dead'), BATCH, { visibilityMs: 43_200_000 })
    if (some.length === 0) break
    for (const { body, failures } of some) {
      letters.push(body)
      assert.deepEqual(
        failures.map(({ reason }) => reason),
        Array.from({ length: MAX_RECEIVES }, (_, n) => `try ${n + 1}`),
      )
    }
  }
  assert.equal(letters.length, MESSAGES / POISON_EVERY)
  for (const body of letters) assert.equal(receives.get(body), MAX_RECEIVES)
  const stats = sure(await scene.earth.until(scene.broker.stats(nameOf('a'))))
  assert.equal(stats.deleted, MESSAGES - letters.length)
  assert.deepEqual([stats.ready, stats.delayed, stats.leased], [0, 0, 0])
})

// In virtual time, so that it says how the queue is built; what it costs a processor is a figure of `bench`.
test('one poisoned message in a hundred costs the others a twentieth of their rate at most', async (t) => {
  const healthyMs = await msOf(() => false)
  const poisonedMs = await msOf((n) => n % POISON_EVERY === 7)

  const others = 1 - 1 / POISON_EVERY
  const rate = (others / poisonedMs) * healthyMs
  t.diagnostic(`rate of the others with poison, without it as 1: ${rate.toFixed(3)}`)
  assert.ok(rate >= OTHERS_RATE_MIN, `${rate}`)
})

/** The time in which consumers who do one thing after another have deleted everything or seen it die. */
async function msOf(isPoison: (n: number) => boolean): Promise<number> {
  await using scene = await Scene.open({ freeze: false, stepsMax: 10 ** 9, commitMs: COMMIT_MS })
  const queue = await scene.queue('a', { maxReceives: MAX_RECEIVES, deadLetterQueue: 'dead' })
  for (let n = 0; n < MESSAGES; n += BATCH)
    await scene.send(queue, ...Array.from({ length: BATCH }, (_, i) => `${n + i}`))
  const { clock } = scene.earth
  const start = clock.monotonic()
  await scene.earth.until(Promise.all(Array.from({ length: CONSUMERS }, consumer)))
  return clock.monotonic() - start

  async function consumer(): Promise<void> {
    for (;;) {
      const some = sure(await scene.broker.receive(queue, { max: 10, waitMs: 0 }))
      if (some.length === 0) return
      await scene.pass(some.length * HANDLER_MS)
      const ends = some.map(({ body, receipt }) => ({
        type: isPoison(Number(body)) ? ('nack' as const) : ('delete' as const),
        receipt,
      }))
      await scene.broker.settle(queue, ends)
    }
  }
}

/** Handles everything; says how often each poisoned message was received. */
async function consume(
  scene: Scene,
  isPoison: (n: number) => boolean,
): Promise<ReadonlyMap<string, number>> {
  const queue = await scene.queue('a', { maxReceives: MAX_RECEIVES, deadLetterQueue: 'dead' })
  for (let n = 0; n < MESSAGES; n += BATCH)
    await scene.send(queue, ...Array.from({ length: BATCH }, (_, i) => `${n + i}`))
  const receives = new Map<string, number>()
  for (;;) {
    const some = await scene.receive(queue, 100)
    if (some.length === 0) break
    const items = some.map(({ body, receipt, receives: times }) => {
      if (!isPoison(Number(body))) return { type: 'delete', receipt } as const
      receives.set(body, times)
      return { type: 'nack', receipt, reason: `try ${times}` } as const
    })
    await scene.settle(queue, ...items)
  }
  return receives
}
