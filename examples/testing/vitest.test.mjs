/** In vitest. Outside this repository the doors are `flytower/testkit` and so on. */
import { expect, test } from 'vitest'

import { receive } from '../../src/kernel/index.ts'
import { explore, given, inbox, stage } from '../../src/testkit/index.ts'
import { BOILING_MS, kettle } from './kettle.ts'
import { serviceBook } from './service-book.ts'

test('boils after its time, and says so', () => {
  const kitchen = inbox('kitchen')
  const subject = stage(kettle(4, kitchen))

  subject.tell({ type: 'switch-on' })
  kitchen.expect({ type: 'heats' })
  subject.advance(BOILING_MS - 1)
  kitchen.expectEmpty()
  subject.advance(1)

  kitchen.expect({ type: 'boils', cups: 4 })
  expect(subject.state).toBe('hot')
})

test('is heating before it says so', () => {
  const kitchen = inbox('kitchen')
  const subject = stage(kettle(4, kitchen))
  subject.run()

  subject.post({ type: 'switch-on' })
  subject.step()

  expect(subject.state).toBe('heating')
  kitchen.expectEmpty()
})

test('switched off at the last moment, it boils or it does not, in every order', async () => {
  await explore(200, async (world) => {
    const kitchen = world.inbox('kitchen')
    const subject = world.system.spawn('kettle', kettle(4, kitchen))
    subject.tell({ type: 'switch-on' })
    await kitchen.expect({ type: 'heats' })
    await world.advance(BOILING_MS - 1)
    subject.tell({ type: 'switch-off' })
    await world.advance(BOILING_MS)

    expect(kitchen.messages.length).toBeLessThanOrEqual(1)
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
  const strict = receive((_ctx, n) => expect(n).toBe(1))
  expect(() => stage(strict).tell(2)).toThrow('to be 1')

  const greedy = receive((_ctx, message) => void message.n++)
  expect(() => stage(greedy).tell({ n: 1 })).toThrow('changed what it was told')
})
