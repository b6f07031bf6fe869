/** What the model of the orchestrator has found, each as a small test of its own. */
import assert from 'node:assert/strict'
import { test } from 'node:test'

import { receive } from '../../src/kernel/index.ts'
import { EVIDENCE_TRIES_MAX } from '../../src/probe/limits.ts'
import { reader } from '../../src/probe/reader.ts'
import type { QueueMessage, QueueRequest } from '../../src/probe/protocol.ts'
import { Request, Requests } from '../../src/probe/requests.ts'
import { Accident, fault, isFault } from '../../src/std/index.ts'
import { inbox, stage } from '../../src/testkit/index.ts'
import { Fakes } from './fakes.ts'
import { testHouse } from './house.ts'
import { lifeIn } from './life.ts'
import { scene } from './scene.ts'

test('evidence that hangs each time it is stored is given up, and the test leaves the queue', async () => {
  const fakes = new Fakes()
  let tries = 0
  const { storage, ...ports } = fakes.ports
  const store: typeof storage.store = async (_bucket, _directory, _files, { signal }) => {
    if (++tries === 1) throw new Accident(fault('storage-unavailable', 'the storage is away'))
    await new Promise((_resolve, reject) => signal.addEventListener('abort', reject))
  }
  Object.assign(fakes, { ports: { ...ports, storage: { ...storage, store } } })
  await using at = await scene({ fakes })
  const testId = await at.running()
  fakes.runOf(testId).finish()
  await at.town.advance(10_000_000)
  assert.equal(tries, 1 + EVIDENCE_TRIES_MAX)
  assert.equal((await at.status(testId)).evidence, 'lost')
  assert.equal((await at.until(at.probe.queueStatus())).totalTests, 0)
  assert.deepEqual([...fakes.staged], [])
})

test('a request for a test that has begun again since goes to its actor', async () => {
  const { house, clock } = await testHouse()
  const initialized = { type: 'initialized', at: 1, deadlineAt: 2, priority: 0 } as const
  await house.register.append('t', undefined, [initialized])
  const queue = inbox<QueueMessage>('queue')
  const client = inbox<unknown>('client')
  const request = { type: 'cancel-test', testId: 't', replyTo: client } as const
  const subject = stage(reader(house, queue, request), { clock })
  await subject.settle()
  assert.deepEqual(
    queue.messages.map(({ type }) => type),
    ['cancel-test'],
  )
  assert.equal(client.messages.length, 0)
  assert.equal(subject.isStopped, true)
})

test('a request that was answered when the queue failed is not answered again by whoever has it', () => {
  const client = inbox<unknown>('client')
  const message: QueueRequest = { type: 'retry-test', testId: 't', replyTo: client }
  const open = new Requests()
  const request = new Request(message, open)
  request.tell('the queue has failed')
  request.handTo(open)
  request.tell('accepted')
  assert.deepEqual(client.messages, ['the queue has failed'])
})

test('directories of a cancelled test stay until its worker has ended', async () => {
  let isEnding = false
  const at = await lifeIn('Testing', {
    factories: {
      cucumber: () =>
        receive((_ctx, { type }) => {
          isEnding ||= type === 'stop'
          return undefined
        }),
    },
  })
  await at.cancel()
  assert.equal(isEnding, true)
  assert.ok(!at.silent.take().includes('block-storage stop'))
})

test('evidence that was being stored when the actor of its test ended is stored by the next one', async () => {
  await using at = await scene()
  const away = new Accident(fault('storage-unavailable', 'the storage is away'))
  const gate = Promise.withResolvers<void>()
  at.fakes.onStore = () => gate.promise
  const testId = await at.running()
  at.fakes.runOf(testId).fail(new Accident(fault('run-ended-early', 'the run ended early')))
  await at.settle()
  at.kill(testId)
  gate.reject(away)
  await at.settle()
  at.fakes.onStore = async () => undefined
  await at.town.advance(2_000)
  const { outcome, evidence } = await at.status(testId)
  assert.deepEqual([outcome, evidence], ['errored', 'stored'])
  assert.deepEqual([...at.fakes.staged], [])
})

test('directories go with a test whose block storage has failed while the test was cancelled', async () => {
  const security = { credentials: new Map(), secrets: new Map() }
  await using at = await scene({
    factories: {
      // It does not end when it is told to, so that there is time.
      vault: ({ parent }) =>
        receive((_ctx, { type }) => {
          if (type !== 'initialize') return
          parent.tell({ type: 'security-fetched', security })
          parent.tell({ type: 'child-ready', kind: 'vault' })
        }),
    },
  })
  const gate = Promise.withResolvers<void>()
  at.fakes.onStore = () => gate.promise
  const testId = await at.running()
  at.fakes.runOf(testId).finish()
  await at.settle()
  await at.until(at.probe.cancel(testId))
  at.kill(testId, 'block-storage')
  gate.reject(new Accident(fault('storage-unavailable', 'the storage is away')))
  await at.town.advance(10_000)
  assert.equal((await at.status(testId)).outcome, 'cancelled')
  assert.deepEqual([...at.fakes.staged], [])
})

test('of two who write on at the same place one is refused, and does not take the other for himself', async () => {
  const { house } = await testHouse()
  const initialized = { type: 'initialized', at: 1, deadlineAt: 2, priority: 0 } as const
  const first = await house.register.append('t', undefined, [initialized])
  assert.ok(first.type === 'appended')
  await house.register.append('t', first.record, [{ type: 'cancelled', at: 2 }])
  await assert.rejects(
    house.register.append('t', first.record, [{ type: 'extended', at: 2, ms: 1, deadlineAt: 3 }]),
    { code: 'unknown-outcome' },
  )
  assert.equal((await house.register.read('t'))?.outcome, 'cancelled')
})

test('retention forgets nobody who has an actor', async () => {
  await using at = await scene({
    settings: { slots: 2, retentionTests: 1, completedMs: 8_000_000 },
  })
  const tests = [await at.running(), await at.running()]
  for (const testId of tests) at.fakes.runOf(testId).finish()
  await at.town.advance(3_600_000)
  for (const testId of tests) assert.equal((await at.until(at.probe.retry(testId))).accepted, true)
})

test('whoever is first in line runs first, also beside one that is queued again at that moment', async () => {
  await using at = await scene({ settings: { slots: 1, completedMs: 1_000_000 } })
  const again = await at.running()
  at.fakes.runOf(again).finish()
  const current = await at.running()
  const other = await at.initialize()
  const accepted = await at.until(
    Promise.all([at.probe.retry(again), at.probe.start(other, { bucket: '/bundles/a' })]),
  )
  assert.ok(accepted.every((answer) => !isFault(answer) && answer.accepted))
  await at.settle()
  const positions = new Map<number | undefined, string>()
  for (const testId of [again, other]) positions.set((await at.status(testId)).position, testId)
  at.fakes.runOf(current).finish()
  await at.reaches(positions.get(1)!, 'Testing')
  assert.equal((await at.status(positions.get(2)!)).state, 'Loaded')
})
