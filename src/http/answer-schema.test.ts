import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { fields, list } from './answer-schema.ts'

describe('the schema of an answer', () => {
  test('has every field, and requires those without a question mark', () => {
    const [text, whole] = [{ type: 'string' }, { type: 'integer' }]
    assert.deepEqual(fields({ name: text, 'depth?': whole }, { name: 'a' }), {
      type: 'object',
      properties: { name: text, depth: whole },
      required: ['name'],
      examples: [{ name: 'a' }],
    })
    assert.deepEqual(list(text), { type: 'array', items: text })
  })
})
