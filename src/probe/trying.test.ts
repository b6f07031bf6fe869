import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import { Accident, fault, random } from '../std/index.ts'
import { virtualClock, type VirtualClock } from '../testkit/index.ts'
import {
  ATTEMPTS_MAX,
  BREAKER_FAILURES_MAX,
  BREAKER_OPEN_MS,
  createTrying,
  isTransient,
  PAUSE_FIRST_MS,
  PAUSE_MS_MAX,
  type Trying,
} from './trying.ts'

const { signal } = new AbortController()

function transient(detail: Readonly<Record<string, unknown>> = {}): Accident {
  return new Accident(
    fault('storage-unavailable', 'the store is away', { isTransient: true, ...detail }),
  )
}

const wrong = new Accident(fault('bundle-not-found', 'no such bucket', { isTransient: false }))

function scene(seed = 1): { clock: VirtualClock; trying: Trying } {
  const clock = virtualClock()
  return { clock, trying: createTrying({ clock, random: random(seed) }) }
}

/** Turns the clock to each timer in turn until the promise has settled; answers the pauses. */
async function turned(clock: VirtualClock, promise: Promise<unknown>): Promise<number[]> {
  const pauses: number[] = []
  let isSettled = false
  const settled = promise.then(
    () => (isSettled = true),
    () => (isSettled = true),
  )
  for (;;) {
    for (let n = 0; n < 20; n++) await Promise.resolve()
    if (isSettled || clock.next === undefined) break
    pauses.push(clock.next - clock.monotonic())
    clock.advance(clock.next - clock.monotonic())
  }
  assert.ok(isSettled)
  await settled
  return pauses
}

/** Fails as often as it is told to, and counts how often it was asked. */
function dependency(failures: number, error: unknown = transient()) {
  const asked = { count: 0 }
  return Object.assign(asked, {
    act: async (): Promise<string> => {
      asked.count += 1
      if (asked.count <= failures) throw error
      return 'answer'
    },
  })
}

async function fail(trying: Trying, clock: VirtualClock, name = 'store'): Promise<number> {
  const down = dependency(Infinity)
  const failing = trying.run(name, down.act, { signal })
  await turned(clock, failing)
  await assert.rejects(failing, { code: 'storage-unavailable' })
  return down.count
}

async function firstPause(seed: number): Promise<number> {
  const { clock, trying } = scene(seed)
  const [first] = await turned(clock, trying.run('store', dependency(1).act, { signal }))
  return first ?? 0
}

describe('trying', () => {
  // It fails without `continue`-ing after `pause`, and the second half without `isTransient`.
  test('probe-E6: what passes is tried again with growing, scattered pauses; what is wrong is not', async () => {
    const { clock, trying } = scene()
    const flaky = dependency(ATTEMPTS_MAX - 1)
    const answer = trying.run('store', flaky.act, { signal })
    const pauses = await turned(clock, answer)
    assert.equal(await answer, 'answer')
    assert.equal(flaky.count, ATTEMPTS_MAX)
    assert.equal(pauses.length, ATTEMPTS_MAX - 1)
    for (const [n, ms] of pauses.entries())
      assert.ok(ms > (PAUSE_FIRST_MS * 2 ** n) / 2 - 1 && ms <= PAUSE_FIRST_MS * 2 ** n, `${ms}`)

    const misnamed = dependency(Infinity, wrong)
    const refused = trying.run('store', misnamed.act, { signal })
    await turned(clock, refused)
    await assert.rejects(refused, { code: 'bundle-not-found' })
    assert.equal(misnamed.count, 1)
    const bug = dependency(Infinity, new TypeError('a bug'))
    await assert.rejects(trying.run('store', bug.act, { signal }), TypeError)
    assert.equal(bug.count, 1)
  })

  test('who fails together comes back apart', async () => {
    assert.notEqual(await firstPause(1), await firstPause(2))
  })

  test('gives up after as many tries as there are', async () => {
    const { clock, trying } = scene()
    assert.equal(await fail(trying, clock), ATTEMPTS_MAX)
  })

  test('waits as long as it was asked to, within reason', async () => {
    const { clock, trying } = scene()
    const asking = async (retryAfterMs: number): Promise<number | undefined> => {
      const busy = dependency(1, transient({ retryAfterMs }))
      return (await turned(clock, trying.run('store', busy.act, { signal })))[0]
    }
    assert.equal(await asking(3_000), 3_000)
    assert.equal(await asking(PAUSE_MS_MAX * 10), PAUSE_MS_MAX)
  })

  test('ends with its signal, between two tries as well', async () => {
    const { clock, trying } = scene()
    const abort = new AbortController()
    const waiting = trying.run('store', dependency(Infinity).act, { signal: abort.signal })
    for (let n = 0; n < 20; n++) await Promise.resolve()
    assert.notEqual(clock.next, undefined)
    abort.abort(new Error('given up'))
    await assert.rejects(waiting, /given up/)
    assert.equal(clock.next, undefined)
    const late = dependency(0)
    await assert.rejects(trying.run('store', late.act, { signal: abort.signal }), /given up/)
    assert.equal(late.count, 0)
  })
})

async function broken(): Promise<ReturnType<typeof scene>> {
  const stage = scene()
  for (let n = 0; n < BREAKER_FAILURES_MAX; n++) await fail(stage.trying, stage.clock)
  return stage
}

describe('breaker', () => {
  // It fails when all dependencies share one breaker, and without `breaker.failed`.
  test('probe-E7: a dependency that is down is left alone, and only that one', async () => {
    const { clock, trying } = scene()
    for (let n = 1; n < BREAKER_FAILURES_MAX; n++) await fail(trying, clock)
    assert.equal(trying.isLeftAlone('store'), false)
    await fail(trying, clock)
    assert.equal(trying.isLeftAlone('store'), true)

    const refused = dependency(0)
    await assert.rejects(trying.run('store', refused.act, { signal }), (error) => {
      assert.ok(isTransient(error))
      assert.equal(error.code, 'storage-unavailable')
      assert.match(error.message, /^store is left alone after 5 failures: the store is away/)
      assert.equal(error.detail['retryAfterMs'], BREAKER_OPEN_MS)
      return true
    })
    assert.equal(refused.count, 0)
    assert.equal(await trying.run('vault', dependency(0).act, { signal }), 'answer')
  })

  test('probe-E7: errors of definition never open it, and show that the dependency is there', async () => {
    const { clock, trying } = scene()
    const misnamed = dependency(Infinity, wrong)
    for (let n = 0; n < BREAKER_FAILURES_MAX * 3; n++)
      await assert.rejects(trying.run('store', misnamed.act, { signal }))
    assert.equal(trying.isLeftAlone('store'), false)

    for (let n = 1; n < BREAKER_FAILURES_MAX; n++) await fail(trying, clock)
    await assert.rejects(trying.run('store', misnamed.act, { signal }))
    await fail(trying, clock)
    assert.equal(trying.isLeftAlone('store'), false)
  })

  test('lets one through after its pause, and closes when that is answered', async () => {
    const { clock, trying } = await broken()
    clock.advance(BREAKER_OPEN_MS)
    const { promise, resolve } = Promise.withResolvers<string>()
    const first = trying.run('store', () => promise, { signal })
    await assert.rejects(trying.run('store', dependency(0).act, { signal }), /left alone/)
    resolve('there again')
    assert.equal(await first, 'there again')
    assert.equal(await trying.run('store', dependency(0).act, { signal }), 'answer')
  })

  test('opens again when the one it let through has failed, or has gone', async () => {
    const { clock, trying } = await broken()
    clock.advance(BREAKER_OPEN_MS)
    assert.equal(await fail(trying, clock), 1)
    await assert.rejects(trying.run('store', dependency(0).act, { signal }), /left alone/)

    clock.advance(BREAKER_OPEN_MS)
    const abort = new AbortController()
    const gone = trying.run(
      'store',
      async () => {
        abort.abort()
        throw transient()
      },
      { signal: abort.signal },
    )
    await assert.rejects(gone)
    assert.equal(await trying.run('store', dependency(0).act, { signal }), 'answer')
  })
})
