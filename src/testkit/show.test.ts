import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import { createSteppedSystem, receive } from '../kernel/index.ts'
import { inbox } from './inbox.ts'
import { isRecord, isRef, show } from './show.ts'

describe('show', () => {
  test('shows data as one would write it', () => {
    assert.equal(
      show({ type: 'add', price: 1.5, tags: ['a'] }),
      "{ type: 'add', price: 1.5, tags: [ 'a' ] }",
    )
    assert.equal(show(undefined), 'undefined')
    assert.equal(show(new Map([['a', new Set([1])]])), "Map(1) { 'a' => Set(1) { 1 } }")
  })

  test('names refs by their path, wherever they are', () => {
    const actor = createSteppedSystem().spawn(
      'orders',
      receive<string>(() => undefined),
    )

    assert.equal(
      show({ replyTo: inbox('client'), to: [actor] }),
      '{ replyTo: ref /client, to: [ ref /orders ] }',
    )
  })

  test('shows an error by name and message, and an instance without what is behind it', () => {
    class Box {
      inner = { deep: { deeper: 1 } }
    }

    assert.equal(show({ error: new RangeError('too far') }), '{ error: RangeError: too far }')
    assert.equal(show(new Box()), 'Box { inner: [Object] }')
  })

  test('ends for whatever it is given', () => {
    const cyclic: unknown[] = []
    cyclic.push(cyclic)
    let deep: unknown = 1
    for (let n = 0; n < 1_000; n++) deep = { deep }
    const hostile = new Proxy({}, { get: () => assert.fail('asked') })

    assert.equal(show(cyclic), '[ [cyclic] ]')
    assert.match(show(deep), /\[…\]/)
    assert.ok(show('x'.repeat(1e6)).length < 5_000)
    assert.ok(show(Array.from({ length: 1e5 }, (_, n) => n)).length < 5_000)
    assert.equal(show({ hostile }), '{ hostile: [proxy] }')
  })
})

describe('what a value is', () => {
  test('a ref can be told and has a path', () => {
    assert.ok(isRef(inbox()))
    assert.ok(!isRef({ tell: 1, path: '/' }) && !isRef({ tell: isRef }) && !isRef(null))
  })

  test('a record has nothing but properties', () => {
    assert.ok(isRecord({}) && isRecord(Object.create(null)))
    for (const value of [null, [], new Map(), new Error('x'), isRecord, 1])
      assert.ok(!isRecord(value))
  })
})
