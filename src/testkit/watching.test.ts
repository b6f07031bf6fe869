import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import { createSteppedSystem, receive } from '../kernel/index.ts'
import { inbox } from './inbox.ts'
import { onEnd } from './watching.ts'

describe('watching', () => {
  test('tells the end of an actor and of an inbox', () => {
    const system = createSteppedSystem()
    const actor = system.spawn(
      'a',
      receive<string>(() => undefined),
    )
    const box = inbox<string>('b')
    const ended: string[] = []
    onEnd(actor, ({ path }) => ended.push(path))
    onEnd(box, ({ path }) => ended.push(path))

    actor.stop()
    while (system.step());
    box.end()

    assert.deepEqual(ended, ['/a', '/b'])
  })

  test('refuses a ref that cannot end', () => {
    const plain = { path: '/plain', tell: () => undefined }

    assert.throws(() => onEnd(plain, () => undefined), { code: 'not-watchable' })
  })
})
