import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import { freshSeed, random } from '../../std/index.ts'
import { ReceiptHandles } from './receipt-handle.ts'

const handles = new ReceiptHandles('a secret')
const largest = {
  queueId: 2 ** 48 - 1,
  slot: 2 ** 32 - 1,
  gen: 2 ** 32 - 1,
  seq: Number.MAX_SAFE_INTEGER,
  token: 2 ** 21 - 1,
}
const letters = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'

describe('a receipt handle', () => {
  test('is read as it was written', () => {
    for (const receipt of [largest, { queueId: 1, slot: 0, gen: 1, seq: 2 ** 32 + 1, token: 1 }])
      assert.deepEqual(handles.read(handles.write(receipt)), receipt)
  })

  test('is the same for the same receipt, and needs no escaping anywhere', () => {
    assert.equal(handles.write(largest), handles.write(largest))
    assert.match(handles.write(largest), /^[\w-]{63}$/)
  })

  test('of another secret, another form or another length is none', () => {
    const other = new ReceiptHandles('another secret').write(largest)
    for (const text of [
      other,
      '',
      'garbage',
      `${handles.write(largest)}A`,
      'A'.repeat(63),
      'ü'.repeat(63),
    ])
      assert.equal(handles.read(text), undefined)
  })

  test('with any letter changed is none', () => {
    const draw = random(freshSeed())
    const handle = handles.write(largest)
    for (let at = 0; at < handle.length; at++)
      for (let time = 0; time < 4; time++) {
        const letter = draw.pick(letters.replace(handle[at]!, '').split(''))
        const changed = handle.slice(0, at) + letter + handle.slice(at + 1)
        assert.equal(handles.read(changed), undefined, `seed ${draw.seed}: ${changed}`)
      }
  })
})
