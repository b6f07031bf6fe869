/** The queue with as many tests as it may have. */
import assert from 'node:assert/strict'
import { test } from 'node:test'

import { createSteppedSystem, receive } from '../kernel/index.ts'
import { isFault } from '../std/index.ts'
import { inbox } from '../testkit/index.ts'
import { testHouse } from '../../test/probe/house.ts'
import { LIVE_TESTS_MAX } from './limits.ts'
import type { Initialized, ProbeFault } from './protocol.ts'
import { testQueue } from './queue.ts'

test('as many tests are taken as one actor may watch, and not one more', async () => {
  const { house, clock } = await testHouse({
    factories: { execution: () => receive(() => undefined) },
  })
  const system = createSteppedSystem({ clock, bound: LIVE_TESTS_MAX + 10 })
  const queue = system.spawn('queue-actor', testQueue(house))
  const client = inbox<Initialized | ProbeFault>('client')
  while (system.step());
  await house.register.settled()
  for (let n = 0; n <= LIVE_TESTS_MAX; n++)
    queue.tell({ type: 'initialize-test', priority: 0, replyTo: client })
  while (client.messages.length === 0) {
    while (system.step());
    await Promise.resolve()
  }
  const refusal = client.take()
  assert.ok(isFault(refusal))
  assert.equal(refusal.code, 'probe-overloaded')
  assert.equal(house.seen.schedule?.size, LIVE_TESTS_MAX)
  client.expectEmpty()
})
