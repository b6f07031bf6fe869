/**
 * Twenty bundles at once, and a server that is killed in the middle of them: every test comes to one end,
 * in the order that the queue promises, and never do more run than there are slots.
 */
import assert from 'node:assert/strict'
import { existsSync, readFileSync } from 'node:fs'
import { createServer, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'

import { passing, until } from '../acceptance/until.ts'
import { doing, station, type Change, type Station } from './e2e.ts'
import { processesOf } from './running.ts'

const COUNT = 20
const SLOTS = 2
/** The one that surely runs when the server is killed. By its priority it is the eighth to run. */
const KILLED_AT = 7
const ALL_MS_MAX = 400_000
const LOOK_EVERY_MS = 200

/** What makes the life of a test, without what may be there or not. */
const LIFE: ReadonlySet<string> = new Set([
  'initialized',
  'started',
  'testing',
  'result-kept',
  'completed',
  'errored',
  'cancelled',
  'interrupted',
])
const ENDS: ReadonlySet<string> = new Set(['completed', 'errored', 'cancelled', 'interrupted'])

test('twenty bundles and a kill', { timeout: ALL_MS_MAX }, async (t) => {
  await using held = await holding()
  await using at = await station({
    'probe.slots': SLOTS,
    'probe.policy': 'strict',
    'probe.httpAllow': [held.url],
  })
  const waiting = {
    'features/one.feature': `Feature: one\n  Scenario: only\n    When I GET "${held.url}/"\n    Then the response status should be 200\n`,
  }
  await at.ask('PUT', '/api/v1/queue/mode', { mode: 'paused' })
  // Of five, one is urgent, two are not, one cannot be loaded, and one is cancelled in line.
  const started: string[] = []
  for (let n = 0; n < COUNT; n++) {
    const files = n === KILLED_AT ? waiting : n % 5 === 3 ? { 'readme.md': '' } : doing('')
    started.push(await at.start(at.bundle(files), { priority: n % 5 === 0 ? 7 : 3 }))
  }
  const every5th = (...places: readonly number[]): readonly string[] =>
    started.filter((_, n) => places.includes(n % 5))
  const [broken, unwanted] = [every5th(3), every5th(4)]
  const inOrder = [...every5th(0), ...every5th(1, 2)]
  for (const testId of unwanted) await at.ask('DELETE', `/api/v1/test/${testId}`)

  const watching = new Watching(at)
  await at.ask('PUT', '/api/v1/queue/mode', { mode: 'open' })
  await until('one of them waits for its answer', ALL_MS_MAX, () => held.isAsked())
  const victims = inOrder.flatMap((testId) => processesOf(testId))
  assert.ok(victims.length > 0)
  await at.killAndBegin()
  held.letGo()
  await until('the processes of the killed server are gone', ALL_MS_MAX, () =>
    victims.every((pid) => !isRunning(pid)),
  )
  await until('all have ended', ALL_MS_MAX, () => {
    const ended = at.changes.filter(({ name }) => name === 'completed')
    return ended.length === inOrder.length
  })
  await watching.end()
  const interrupted = inOrder.filter((testId) => at.eventsOf(testId).includes('interrupted'))

  await t.test('the feed goes on where it broke off: no event is missed or told twice', () => {
    const ids = at.changes.flatMap(({ id }) => (id === undefined ? [] : [Number(id)]))
    assert.deepEqual(
      ids,
      ids.toSorted((a, b) => a - b),
    )
    assert.equal(new Set(ids).size, ids.length)
  })

  await t.test('those that could run have passed, each of them once', async () => {
    for (const testId of inOrder) {
      const { outcome, attempt } = await at.status(testId)
      assert.equal(outcome, 'passed')
      const isAgain = interrupted.includes(testId)
      assert.equal(attempt, isAgain ? 2 : 1)
      const run = ['testing', 'result-kept', 'completed']
      const again = at.eventsOf(testId).filter((name) => name === 'requeued')
      assert.ok(again.length <= 1, 'whoever waited stands in line again, once')
      // The kill may come between a result and its evidence, which then follows.
      await until('its evidence is stored', ALL_MS_MAX, async () => {
        const { evidence } = await at.status(testId)
        return evidence === 'stored'
      })
      const events = at.eventsOf(testId).filter((name) => LIFE.has(name))
      assert.deepEqual(events, [
        'initialized',
        'started',
        ...(isAgain ? ['testing', 'interrupted'] : []),
        ...run,
      ])
      assert.equal((await at.evidence(testId)).size, 6)
      const history = await at.ask('GET', `/api/v1/test/${testId}/history`)
      assert.deepEqual(
        (history['events'] as { type: string }[]).map(({ type }) => type),
        at.eventsOf(testId),
      )
    }
  })

  await t.test('the others have ended as they were made to, and did not run', async () => {
    for (const [ids, end, outcome] of [
      [broken, 'errored', 'errored'],
      [unwanted, 'cancelled', 'cancelled'],
    ] as const)
      for (const testId of ids) {
        assert.equal((await at.status(testId)).outcome, outcome)
        const events = at.eventsOf(testId)
        assert.deepEqual(
          events.filter((name) => LIFE.has(name)),
          ['initialized', 'started', end],
        )
      }
  })

  await t.test('those that ran when the server was killed were interrupted, and no others', () => {
    assert.ok(interrupted.includes(started[KILLED_AT]!))
    assert.ok(interrupted.length <= SLOTS, `${interrupted.length}`)
  })

  await t.test('they ran by priority, then in the order of their starts', () => {
    const begun = at.changes.filter(({ name }) => name === 'testing').map(({ testId }) => testId)
    const expected = inOrder.flatMap((testId) =>
      testId === interrupted.at(-1) ? [testId, ...interrupted] : [testId],
    )
    // Those that are told to run in the same moment may write it down either way round.
    for (const [n, testId] of begun.entries())
      assert.ok(expected.slice(Math.max(0, n - 1), n + SLOTS).includes(testId), `at ${n}`)
    assert.deepEqual(begun.toSorted(), expected.toSorted())
  })

  await t.test('never did more run than there are slots', () => {
    assert.ok(watching.looks > COUNT, `looked ${watching.looks} times`)
    assert.equal(watching.most, SLOTS)
    assert.ok(mostAtOnce(at.changes) <= SLOTS)
  })

  await t.test('the counts add up, and nothing is left where tests are prepared', async () => {
    const queue = await at.ask('GET', '/api/v1/queue/status')
    assert.partialDeepStrictEqual(queue, { pending: 0, 'testing-count': 0, testing: [] })
    await at.tidied()
    assert.deepEqual(at.uploads(), [])
    assert.deepEqual(
      started.flatMap((testId) => processesOf(testId)),
      [],
    )
  })
})

/** Looks at the queue all the time, as far as there is a server to ask. */
class Watching {
  most = 0
  looks = 0
  #isOver = false
  readonly #ended: Promise<void>

  constructor(at: Station) {
    this.#ended = this.#watch(at)
  }

  async end(): Promise<void> {
    this.#isOver = true
    await this.#ended
  }

  async #watch(at: Station): Promise<void> {
    while (!this.#isOver) {
      const queue = await at.ask('GET', '/api/v1/queue/status').catch(() => undefined)
      if (queue !== undefined) {
        this.looks += 1
        const testing = queue['testing'] as readonly string[]
        assert.equal(testing.length, queue['testing-count'])
        this.most = Math.max(this.most, testing.length)
      }
      await passing(LOOK_EVERY_MS)
    }
  }
}

/** A service that answers nobody until it is let go. */
async function holding(): Promise<
  AsyncDisposable & Readonly<{ url: string; isAsked: () => boolean; letGo: () => void }>
> {
  const held: ServerResponse[] = []
  let isFree = false
  const server: Server = createServer((_request, response) => {
    if (isFree) response.end()
    else held.push(response)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    isAsked: () => held.length > 0,
    letGo() {
      isFree = true
      for (const response of held) response.end()
    },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

function mostAtOnce(changes: readonly Change[]): number {
  const running = new Set<string>()
  let most = 0
  for (const { name, testId } of changes) {
    if (name === 'testing') running.add(testId)
    if (ENDS.has(name)) running.delete(testId)
    most = Math.max(most, running.size)
  }
  return most
}

function isRunning(pid: string): boolean {
  const status = `/proc/${pid}/status`
  try {
    return existsSync(status) && !/^State:\s+Z/m.test(readFileSync(status, 'utf8'))
  } catch {
    return false
  }
}
