import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { test } from 'node:test'

import fc from 'fast-check'

import { Mac } from './mac.ts'

test('a code is the one that the library makes, whatever the key and the message', () => {
  fc.assert(
    fc.property(
      fc.uint8Array({ maxLength: 130 }),
      fc.array(
        fc.oneof(
          fc.string({ unit: 'grapheme', maxLength: 300 }),
          fc.uint8Array({ maxLength: 2_000 }),
        ),
        { minLength: 1, maxLength: 5 },
      ),
      (key, messages) => {
        const mac = new Mac(Buffer.from(key))
        for (const message of messages) {
          const code = typeof message === 'string' ? mac.ofText(message) : mac.ofBytes(message)
          assert.deepEqual(code, createHmac('sha256', key).update(message).digest())
        }
      },
    ),
  )
})

test('keys of one block and of more, and a message that needs more room', () => {
  for (const bytes of [0, 1, 63, 64, 65, 200]) {
    const key = Buffer.alloc(bytes, 0x61)
    for (const message of ['', 'x'.repeat(447), 'x'.repeat(5_000), 'ü'.repeat(2_000)])
      assert.deepEqual(
        new Mac(key).ofText(message),
        createHmac('sha256', key).update(message).digest(),
      )
  }
})
