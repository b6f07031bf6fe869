/** In node:test. Outside this repository the doors are `flytower/testkit` and so on. */
import assert from 'node:assert/strict'
import { test } from 'node:test'

import { receive } from '../../src/kernel/index.ts'
import { explore, given, inbox, stage } from '../../src/testkit/index.ts'
import { BOILING_MS, kettle, type KettleNews } from './kettle.ts'
import { serviceBook } from './service-book.ts'

test('boils after its time, and says so', () => {
  const kitchen = inbox<KettleNews>('kitchen')
  const subject = stage(kettle(4, kitchen))

  subject.tell({ type: 'switch-on' })
  kitchen.expect({ type: 'heats' })
  subject.advance(BOILING_MS - 1)
  kitchen.expectEmpty()
  subject.advance(1)

  kitchen.expect({ type: 'boils', cups: 4 })
  assert.equal(subject.state, 'hot')
})

test('is heating before it says so', () => {
  const kitchen = inbox<KettleNews>('kitchen')
  const subject = stage(kettle(4, kitchen))
  subject.run()

  subject.post({ type: 'switch-on' })
  subject.step()

  assert.equal(subject.state, 'heating')
  kitchen.expectEmpty()
})

test('switched off at the last moment, it boils or it does not, in every order', async () => {
  await explore(200, async (world) => {
    const kitchen = world.inbox<KettleNews>('kitchen')
    const subject = world.system.spawn('kettle', kettle(4, kitchen))
    subject.tell({ type: 'switch-on' })
    await kitchen.expect({ type: 'heats' })
    await world.advance(BOILING_MS - 1)
    subject.tell({ type: 'switch-off' })
    await world.advance(BOILING_MS)

    assert.ok(kitchen.messages.length <= 1)
  })
})

test('an entity is specified without a runtime', () => {
  given(serviceBook, [{ type: 'boiled', cups: 97 }])
    .when({ type: 'boil', cups: 4 })
    .expect([], { ok: false })
    .when({ type: 'descale' })
    .expect([{ type: 'descaled' }], { ok: true })
    .when({ type: 'boil', cups: 4 })
    .expectState({ cups: 4 })
})

test('what goes wrong inside an actor reaches the test', () => {
  const strict = receive<number>((_ctx, n) => assert.equal(n, 1))
  assert.throws(() => stage(strict).tell(2), { name: 'AssertionError' })

  const greedy = receive<{ n: number }>((_ctx, message) => void message.n++)
  assert.throws(() => stage(greedy).tell({ n: 1 }), { code: 'message-mutated' })
})
