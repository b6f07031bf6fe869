import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { runInNewContext } from 'node:vm'

import { createSteppedSystem, receive } from '../kernel/index.ts'
import { deepFreeze, isMutation } from './freeze.ts'
import { inbox } from './inbox.ts'

/** What is thrown by a change must be recognised as one. */
function refuses(change: () => unknown): void {
  assert.throws(change, (error) => isMutation(error))
}

describe('deep freeze', () => {
  test('freezes plain data all the way down, in place', () => {
    const by: { name?: string } = { name: 'a' }
    const message = { type: 'add', items: [{ price: 1 }, { price: 2 }], by }

    assert.equal(deepFreeze(message), message)

    refuses(() => (message.type = 'x'))
    refuses(() => (message.items[0]!.price = 2))
    refuses(() => message.items.push({ price: 3 }))
    refuses(() => message.items.pop())
    refuses(() => message.items.splice(0, 1))
    refuses(() => Object.assign(message.by, { age: 1 }))
    refuses(() => delete message.by.name)
    refuses(() => Object.defineProperty(message, 'type', { value: 'y' }))
  })

  test('maps and sets can be read and no longer changed', () => {
    const message = { map: new Map([['a', { n: 1 }]]), set: new Set([{ n: 2 }]) }

    deepFreeze(message)

    assert.equal(message.map.get('a')?.n, 1)
    assert.equal(message.set.size, 1)
    refuses(() => message.map.set('b', { n: 2 }))
    refuses(() => message.map.delete('a'))
    refuses(() => message.map.clear())
    refuses(() => message.set.add({ n: 3 }))
    refuses(() => (message.map.get('a')!.n = 2))
    for (const each of message.set) refuses(() => (each.n = 3))
    assert.deepEqual(structuredClone(message), {
      map: new Map([['a', { n: 1 }]]),
      set: new Set([{ n: 2 }]),
    })
  })

  test('leaves alone what belongs to somebody', async () => {
    class Account {
      balance = 0
    }
    const system = createSteppedSystem()
    const actor = system.spawn(
      'actor',
      receive<string>(() => undefined),
    )
    const box = inbox<string>('box')
    const handMade = {
      path: '/hand-made',
      heard: [] as string[],
      tell(message: string) {
        this.heard.push(message)
      },
    }
    const computed = {
      base: [1],
      get total() {
        return this.base.length
      },
    }
    const message = {
      actor,
      box,
      handMade,
      computed,
      account: new Account(),
      bytes: new Uint8Array(2),
      buffer: Buffer.from('ab'),
      promise: Promise.resolve(1),
      map: new (class extends Map<string, number> {})(),
      weak: new WeakMap(),
      error: new Error('x'),
    }

    deepFreeze(message)

    refuses(() => Object.assign(message, { more: 1 }))
    assert.equal(actor.tell('hello'), undefined)
    assert.equal(system.step(), true)
    box.tell('hello')
    box.expect('hello')
    handMade.tell('hello')
    assert.deepEqual(handMade.heard, ['hello'])
    computed.base.push(2)
    message.account.balance = 5
    message.bytes[0] = 1
    message.buffer[0] = 1
    message.map.set('a', 1)
    message.error.message = 'y'
    assert.equal(await message.promise, 1)
  })

  test('a message that is a ref stays one', () => {
    const box = inbox<string>()

    deepFreeze(box)
    box.tell('hello')

    box.expect('hello')
  })

  test('cycles, shared parts and long chains end', () => {
    const cyclic: { self?: unknown; n: number } = { n: 1 }
    cyclic.self = cyclic
    let chain: { next: unknown } = { next: null }
    for (let n = 0; n < 100_000; n++) chain = { next: chain }

    deepFreeze({ cyclic, again: cyclic, chain })

    refuses(() => (cyclic.n = 2))
    assert.ok(Object.isFrozen(chain))
  })

  test('what is inside something frozen by hand is frozen too', () => {
    const message = Object.freeze({ inner: { n: 1 } })

    deepFreeze(message)

    refuses(() => (message.inner.n = 2))
  })

  test('a message that is no object passes through', () => {
    for (const value of [undefined, null, 1, 'a', true, Symbol.iterator, 10n])
      assert.equal(deepFreeze(value), value)
    assert.ok(!Object.isFrozen(deepFreeze(refuses)))
  })

  test('data of another realm is data', () => {
    const foreign: { list: number[] } = runInNewContext('({ list: [1] })')

    deepFreeze(foreign)

    assert.ok(Object.isFrozen(foreign) && Object.isFrozen(foreign.list))
  })

  test('a proxy is asked nothing', () => {
    const refusing = new Proxy(
      {},
      {
        ownKeys: () => assert.fail('asked'),
        getPrototypeOf: () => assert.fail('asked'),
        preventExtensions: () => assert.fail('asked'),
      },
    )

    deepFreeze({ refusing })
  })

  test('other type errors are not taken for a change', () => {
    assert.equal(isMutation(new TypeError('x is not a function')), false)
    assert.equal(isMutation(new Error('read only property')), false)
    assert.equal(isMutation(undefined), false)
  })
})
