import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import fc from 'fast-check'

import { bodyOf, bytesOf, extrasOf, headOf, messageOf, sizeOf, textOf } from './message-text.ts'

/** As version 1 wrote it. It is never taken out: what was written is read for ever. */
const VERSION_1 =
  '1|1767225600000|7|1767225601000|1767225700000|113|{"attributes":{"a":{"type":"String","text":"x|y"}},"group":"g","dedupId":"d","first":4294967297,"deadLetterOf":3}|the body | with bars'

describe('a message as it is written down', () => {
  test('of version 1 is read', () => {
    const text = VERSION_1
    assert.deepEqual(headOf(text), {
      sentAt: 1_767_225_600_000,
      level: 7,
      dueAt: 1_767_225_601_000,
      expiresAt: 1_767_225_700_000,
    })
    assert.equal(bodyOf(text), 'the body | with bars')
    assert.deepEqual(extrasOf(text), {
      attributes: { a: { type: 'String', text: 'x|y' } },
      group: 'g',
      dedupId: 'd',
      first: 4_294_967_297,
      deadLetterOf: 3,
    })
    assert.deepEqual(headOf('1|5|0|||0||hi'), {
      sentAt: 5,
      level: 0,
      dueAt: 5,
      expiresAt: Infinity,
    })
    assert.equal(bodyOf('1|5|0|||0||hi'), 'hi')
  })

  test('of a version that nobody knows is not read as if one did', () => {
    assert.throws(() => headOf('2|5|0|||0||hi'))
  })

  test('is the same when it is read, whatever its body has', () => {
    fc.assert(
      fc.property(
        fc.record({
          sentAt: fc.nat(),
          level: fc.integer({ min: 0, max: 255 }),
          delay: fc.nat({ max: 1_000 }),
          ttl: fc.option(fc.integer({ min: 1, max: 1_000 })),
        }),
        fc.option(fc.string({ unit: 'grapheme' })),
        fc.string({ unit: 'grapheme' }),
        ({ sentAt, level, delay, ttl }, group, body) => {
          const head = {
            sentAt,
            level,
            dueAt: sentAt + delay,
            expiresAt: ttl === null ? Infinity : sentAt + ttl,
          }
          const extras = group === null ? undefined : { group, first: 7 }
          const text = textOf(head, extras, body)
          assert.deepEqual(headOf(text), head)
          assert.deepEqual(extrasOf(text), extras)
          assert.equal(bodyOf(text), body)
          assert.equal(sizeOf(text), Buffer.byteLength(body))
        },
      ),
    )
  })

  test('counts its body and the names, types and values of its attributes', () => {
    const attributes = {
      ä: { type: 'String', text: 'x' },
      b: { type: 'Binary', base64: Buffer.from([1, 2, 3]).toString('base64') },
    }
    assert.equal(bytesOf({ body: 'ü', attributes }), 2 + (2 + 6 + 1) + (1 + 6 + 3))
    const text = textOf({ sentAt: 1, level: 0, dueAt: 1, expiresAt: Infinity }, { attributes }, 'ü')
    assert.equal(sizeOf(text), 21)
  })

  test('that was moved has the id that it had first', () => {
    const head = { sentAt: 1, level: 0, dueAt: 1, expiresAt: Infinity }
    const counts = { receives: 0, firstReceivedAt: 0, failures: [] }
    const before = messageOf(textOf(head, undefined, 'x'), 5, counts, () => undefined)
    const after = messageOf(textOf(head, { first: 5 }, 'x'), 9, counts, () => undefined)
    assert.equal(after.messageId, before.messageId)
    assert.equal(after.seq, 9)
  })
})
