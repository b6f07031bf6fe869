import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import { random } from '../../std/index.ts'
import { virtualClock, type VirtualClock } from '../../testkit/index.ts'
import { TRACKED_ROLE, type Location } from './directory.ts'
import {
  LOCATION_ANSWERS_MAX,
  remoteLocations,
  type RemoteLocations,
  type RemoteOptions,
  type TransportRequest,
  type TransportResponse,
} from './remote.ts'

type Answering = (request: TransportRequest) => TransportResponse | Error
type Scene = Readonly<{
  clock: VirtualClock
  remote: RemoteLocations
  requests: TransportRequest[]
  /** What comes of it once time has gone on for as long as it takes. */
  settled: <Value>(work: Value | Promise<Value>) => Promise<Value>
  finds: (id?: string) => Promise<Location | undefined | string>
}>

const place = (id: string): string => JSON.stringify({ id, roles: [TRACKED_ROLE], name: 'x' })
const ok = (body: string, control?: string): TransportResponse => ({
  status: 200,
  headers: { 'cache-control': control },
  body,
})
const status = (code: number): TransportResponse => ({ status: code, headers: {}, body: '' })

function scene(answering: Answering, options: Partial<RemoteOptions> = {}): Scene {
  const clock = virtualClock()
  const requests: TransportRequest[] = []
  const remote = remoteLocations({
    baseUrl: 'http://places',
    transport: (request) => {
      requests.push(request)
      const answer = answering(request)
      return answer instanceof Error ? Promise.reject(answer) : Promise.resolve(answer)
    },
    clock,
    random: random(1),
    ...options,
  })
  const settled: Scene['settled'] = async (work) => {
    const progress = { isOver: false }
    const settling = Promise.resolve(work).finally(() => (progress.isOver = true))
    settling.catch(() => undefined)
    for (let n = 0; n < 200; n++) {
      for (let m = 0; m < 20; m++) await Promise.resolve()
      if (progress.isOver) break
      if (clock.next !== undefined) clock.advance(clock.next - clock.monotonic())
    }
    return settling
  }
  return {
    clock,
    remote,
    requests,
    settled,
    finds: (id = 'DC') => settled(remote.find(id)).catch((error: { code: string }) => error.code),
  }
}

const DC: Location = { id: 'DC', roles: [TRACKED_ROLE], children: [] }

describe('places of another service', () => {
  test('are asked for by the paths of its API, with times, and with the trace that goes along', async () => {
    const { remote, requests, settled } = scene(({ url }) =>
      url.endsWith('/path') ? ok(`[${place('A')},${place('B/1')}]`) : ok(place('B/1')),
    )
    const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'
    await settled(remote.find('B/1', { traceparent }))
    assert.deepEqual(await settled(remote.path('B/1')), [
      { id: 'A', roles: [TRACKED_ROLE], children: [] },
      { id: 'B/1', roles: [TRACKED_ROLE], children: [] },
    ])
    await settled(remote.children('B/1'))
    await settled(remote.children('B/1', 2))
    assert.deepEqual(
      requests.map(({ url }) => url),
      ['', '/path', '/children', '/children?depth=2'].map(
        (end) => `http://places/locations/B%2F1${end}`,
      ),
    )
    assert.deepEqual(requests[0], {
      url: 'http://places/locations/B%2F1',
      headers: { accept: 'application/json', traceparent },
      connectMs: 1_000,
      requestMs: 2_000,
    })
    assert.deepEqual(requests[1]?.headers, { accept: 'application/json' })
  })

  test('are nested, as objects or as ids', async () => {
    const inner = { id: 'SU', roles: [], children: ['X'] }
    const body = JSON.stringify({ id: 'WH', roles: ['A'], children: [inner] })
    const { remote, settled } = scene(() => ok(body))
    assert.deepEqual(await settled(remote.find('WH')), { id: 'WH', roles: ['A'], children: ['SU'] })
    assert.deepEqual(await settled(remote.children('WH')), {
      id: 'WH',
      roles: ['A'],
      children: [{ id: 'SU', roles: [], children: [{ id: 'X', roles: [], children: [] }] }],
    })
  })

  test('are nowhere where the service says so', async () => {
    const { finds } = scene(() => status(404))
    assert.equal(await finds(), undefined)
  })

  test('are asked for once while the answer is fresh, and then are known at once', async () => {
    const { clock, remote, requests, finds } = scene(() => ok(place('DC'), 'max-age=60'))
    assert.deepEqual(await finds(), DC)
    assert.deepEqual(remote.find('DC'), DC)
    clock.advance(59_999)
    assert.deepEqual(remote.find('DC'), DC)
    assert.equal(requests.length, 1)
    clock.advance(1)
    assert.deepEqual(await finds(), DC)
    assert.equal(requests.length, 2)
  })

  test('are asked for every time where nothing may be kept', async () => {
    const { requests, finds } = scene(() => ok(place('DC'), 'no-cache'))
    for (let n = 0; n < 3; n++) await finds()
    assert.equal(requests.length, 3)
  })

  test('are asked for once at a time', async () => {
    const { remote, requests, settled } = scene(() => ok(place('DC')))
    const [one, other, another] = ['DC', 'DC', 'WH'].map((id) => remote.find(id))
    assert.equal(one, other)
    assert.deepEqual([await settled(one), await settled(another)], [DC, DC])
    assert.equal(requests.length, 2)
  })

  test('are asked for three times, with pauses that double and differ', async () => {
    for (const failing of [() => status(503), () => new Error('refused')]) {
      const { clock, requests, finds } = scene(failing)
      const begun = clock.monotonic()
      assert.equal(await finds(), 'upstream-unavailable')
      assert.equal(requests.length, 3)
      const pauses = clock.monotonic() - begun
      assert.ok(pauses >= 50 + 100 && pauses <= 100 + 200, `${pauses}`)
    }
  })

  test('are there after a failure that passes', async () => {
    const answers = [status(500), new Error('reset'), ok(place('DC'))]
    const { requests, finds, remote } = scene(() => answers.shift()!)
    assert.deepEqual(await finds(), DC)
    assert.equal(requests.length, 3)
    assert.deepEqual(remote.counts(), { attempts: 3, failures: 2, stale: 0, breaker: 'closed' })
  })

  test('pause two seconds at most', async () => {
    const options = { attempts: 8, breakerFailures: 8, random: { ...random(1), next: () => 1 } }
    const { clock, finds } = scene(() => status(500), options)
    await finds()
    assert.equal(clock.monotonic(), 100 + 200 + 400 + 800 + 1_600 + 2_000 + 2_000)
  })

  test('are not asked for again after an answer that will not change', async () => {
    for (const answer of [
      status(400),
      status(401),
      ok('{'),
      ok('{"id":"DC"}'),
      ok('[]'),
      ok('3'),
    ]) {
      const { requests, finds, remote } = scene(() => answer)
      assert.equal(await finds(), 'upstream-unavailable')
      assert.equal(requests.length, 1)
      assert.equal(remote.counts().breaker, 'closed')
    }
  })

  test('are left alone after five failures, each attempt counted, for a minute; then one is tried', async () => {
    let answer: TransportResponse = status(503)
    const { clock, requests, finds, remote, settled } = scene(() => answer, { staleMs: 0 })
    await finds()
    await finds()
    assert.equal(requests.length, 5)
    assert.equal(remote.counts().breaker, 'open')
    assert.equal(await finds('WH'), 'upstream-unavailable')
    assert.equal(requests.length, 5)

    clock.advance(60_000)
    const failed = await settled(
      Promise.allSettled(['A', 'B', 'C'].map(async (id) => remote.find(id))),
    )
    assert.deepEqual(
      failed.map(({ status: is }) => is),
      ['rejected', 'rejected', 'rejected'],
    )
    assert.equal(requests.length, 6)

    answer = ok(place('DC'))
    clock.advance(60_000)
    assert.deepEqual(await finds(), DC)
    assert.equal(remote.counts().breaker, 'closed')
  })

  test('are as they were while the service is away, for as long as the window', async () => {
    let answer: TransportResponse = ok(place('DC'), 'max-age=1')
    const { clock, finds, remote } = scene(() => answer, { staleMs: 200_000 })
    await finds()
    answer = status(503)
    clock.advance(1_000)
    assert.deepEqual(await finds(), DC)
    assert.deepEqual(await finds(), DC)
    assert.equal(remote.counts().breaker, 'open')
    assert.deepEqual(await finds(), DC)
    assert.equal(remote.counts().stale, 3)
    clock.advance(200_000)
    assert.equal(await finds(), 'upstream-unavailable')
  })

  test('are not used beyond what the service allows', async () => {
    const answers = [ok(place('DC'), 'no-store')]
    const { finds } = scene(() => answers.shift() ?? status(503))
    await finds()
    assert.equal(await finds(), 'upstream-unavailable')
  })

  test('are known to be gone only for as long as that is fresh', async () => {
    const answers = [status(404), ok(place('DC'))]
    const { finds } = scene(() => answers.shift()!)
    assert.equal(await finds(), undefined)
    assert.deepEqual(await finds(), DC)
  })

  test('are kept up to a number, the oldest goes first', async () => {
    const { remote, requests, settled } = scene(({ url }) =>
      ok(place(url.slice('http://places/locations/'.length)), 'max-age=60'),
    )
    for (let n = 0; n < LOCATION_ANSWERS_MAX; n++) await remote.find(`p${n}`)
    assert.ok(!(remote.find('p0') instanceof Promise))
    await settled(remote.find('one-more'))
    assert.ok(!(remote.find('p1') instanceof Promise))
    const before = requests.length
    await settled(remote.find('p0'))
    assert.equal(requests.length, before + 1)
  })

  test('are healthy if the service says so', async () => {
    const { remote, requests } = scene(() => status(200))
    assert.equal(await remote.health(), true)
    assert.equal(requests[0]?.url, 'http://places/health')
    assert.equal(await scene(() => status(503)).remote.health(), false)
    assert.equal(await scene(() => new Error('refused')).remote.health(), false)
  })

  test('cannot be asked more often than the breaker bears', () => {
    assert.throws(() => scene(() => status(200), { attempts: 6 }), { name: 'AssertionFailure' })
  })
})
