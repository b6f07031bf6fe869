import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import { avroRecords } from './avro.ts'
import type { RecordFormat } from './schema.ts'

async function recordOf(fields: Readonly<Record<string, unknown>>): Promise<RecordFormat> {
  const [record] = await avroRecords({
    type: 'avro',
    text: JSON.stringify({
      type: 'record',
      name: 'A',
      fields: Object.entries(fields).map(([name, type]) => ({ name, type })),
    }),
  })
  return record!
}

/** A whole number as Avro writes it. */
function written(count: number): number[] {
  const bytes: number[] = []
  let rest = count < 0 ? -2 * count - 1 : 2 * count
  for (; rest >= 128; rest = Math.floor(rest / 128)) bytes.push((rest % 128) + 128)
  return [...bytes, rest]
}

const list = (items: unknown): unknown => ({ type: 'array', items })
const map = (values: unknown): unknown => ({ type: 'map', values })

describe('lists and maps in Avro', () => {
  test('are read as they were written', async () => {
    const record = await recordOf({ a: list(list('int')), b: map(list('string')) })
    const value = { a: [[1, 2], [], [3]], b: { x: ['ä'], y: [] } }
    assert.deepEqual(record.decode(record.encode(value)), value)
    const named = JSON.parse('{"a":[],"b":{"__proto__":["z"]}}') as unknown
    assert.deepEqual(record.decode(record.encode(named)), named)
  })

  test('may come in blocks, with their sizes or without', async () => {
    const record = await recordOf({ a: list('boolean') })
    const blocks = [...written(1), 1, ...written(-2), ...written(2), 0, 1, 0]
    assert.deepEqual(record.decode(Uint8Array.from(blocks)), {
      a: [true, false, true],
    })
  })

  // Each of these takes minutes, or all memory, without `counting` in avro.ts.
  for (const [name, fields, bytes] of [
    ['a list of nothing', { a: list('null') }, [...written(2 ** 31), 0]],
    ['a list of numbers', { a: list('int') }, [...written(2 ** 31), 0]],
    ['a list that counts backwards', { a: list('null') }, [...written(-(2 ** 31)), 0, 0]],
    ['a map', { a: map('int') }, [...written(2 ** 31), 0]],
    ['a second block', { a: list('null') }, [2, ...written(2 ** 31), 0]],
    ['lists in a list', { a: list(list('null')) }, [4, ...written(900), 0, ...written(900), 0, 0]],
  ] as const)
    test(`that claim more than there can be are not read: ${name}`, async () => {
      const record = await recordOf(fields)
      assert.throws(() => record.decode(Uint8Array.from(bytes)), /more items than it has bytes/)
    })

  test('are judged as well where another version wrote them, and where nobody wants them', async () => {
    const writer = await recordOf({ a: list('null'), b: map('null'), c: 'int' })
    const reader = await recordOf({ a: list('null'), c: 'int' })
    const value = { a: [null], b: { x: null }, c: 7 }
    assert.deepEqual(reader.decode(writer.encode(value), writer), { a: [null], c: 7 })
    for (const bytes of [
      [...written(2 ** 31), 0],
      [0, ...written(2 ** 31), 0],
    ])
      assert.throws(() => reader.decode(Uint8Array.from(bytes), writer), /more items/)
  })

  test('may have some items that take no bytes', async () => {
    const record = await recordOf({ a: list('null') })
    const { length } = (record.decode(Uint8Array.from([...written(1_000), 0])) as { a: unknown[] })
      .a
    assert.equal(length, 1_000)
  })
})
