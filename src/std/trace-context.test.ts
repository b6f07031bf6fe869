import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import fc from 'fast-check'

import { random } from './random.ts'
import { childOf, freshTrace, parseTraceparent, traceparentOf } from './trace-context.ts'

const VALID = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'

describe('trace context', () => {
  test('is read from a header, and written as it was', () => {
    const trace = parseTraceparent(VALID)
    assert.deepEqual(trace, {
      traceId: '0af7651916cd43dd8448eb211c80319c',
      spanId: 'b7ad6b7169203331',
      sampled: true,
    })
    assert.equal(traceparentOf(trace), VALID)
    assert.equal(parseTraceparent(VALID.slice(0, -2) + '02')?.sampled, false)
  })

  test('a header that breaks the rules counts as absent', () => {
    for (const header of [
      undefined,
      '',
      'nonsense',
      VALID.toUpperCase(),
      VALID.slice(1),
      `${VALID}-more`,
      `${VALID}0`,
      VALID.replace('00-', 'ff-'),
      VALID.replace('0af7651916cd43dd8448eb211c80319c', '0'.repeat(32)),
      VALID.replace('b7ad6b7169203331', '0'.repeat(16)),
      VALID.replaceAll('-', '_'),
      ` ${VALID}`,
    ])
      assert.equal(parseTraceparent(header), undefined, header)
  })

  test('a later version may say more behind what is known', () => {
    assert.equal(parseTraceparent(`cc${VALID.slice(2)}-more`)?.spanId, 'b7ad6b7169203331')
    assert.equal(parseTraceparent(`cc${VALID.slice(2)}.more`), undefined)
  })

  test('what is made here is valid, whatever is drawn', () => {
    fc.assert(
      fc.property(fc.nat(), (seed) => {
        const draws = random(seed)
        const trace = freshTrace(draws)
        const child = childOf(trace, draws)
        assert.deepEqual(parseTraceparent(traceparentOf(trace)), trace)
        assert.deepEqual(parseTraceparent(traceparentOf(child)), child)
        assert.equal(child.traceId, trace.traceId)
        assert.notEqual(child.spanId, trace.spanId)
      }),
    )
  })

  test('a draw of zeros is not an id of zeros', () => {
    const zeros = { ...random(0), below: () => 0 }
    assert.notEqual(parseTraceparent(traceparentOf(freshTrace(zeros))), undefined)
  })
})
