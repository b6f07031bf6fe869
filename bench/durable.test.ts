import assert from 'node:assert/strict'
import { existsSync, readdirSync } from 'node:fs'
import { test } from 'node:test'
import { scratch } from './durable/disk.ts'
import { totalCalls } from './durable/flushes.ts'
import { ITEM_BYTES, keyOf, payload } from './durable/items.ts'
import { drive } from './durable/load.ts'

test('a load keeps as many in flight as it says, and issues each operation once', async () => {
  const issued: number[] = []
  let inFlight = 0
  let most = 0
  await drive({
    count: 100,
    inFlight: 7,
    issue: async (index) => {
      issued.push(index)
      inFlight += 1
      most = Math.max(most, inFlight)
      await Promise.resolve()
      inFlight -= 1
      return index
    },
    good: (answer) => answer >= 0,
  })

  assert.deepEqual(
    issued,
    Array.from({ length: 100 }, (_, index) => index),
  )
  assert.equal(most, 7)
})

test('a load ends with the first answer that is not good, and with the first failure', async () => {
  const load = { count: 10, inFlight: 2, good: (answer: number) => answer < 5 }
  await assert.rejects(drive({ ...load, issue: async (index) => index }), /answered 5/)
  await assert.rejects(
    drive({ ...load, issue: async () => Promise.reject(new Error('no disk')) }),
    /no disk/,
  )
})

test('every item has its bytes, and keys are in the order of their numbers', () => {
  for (const index of [0, 9, 10, 1_023, 1_024, 123_456]) {
    assert.equal(Buffer.byteLength(payload(index)), ITEM_BYTES)
    assert.ok(keyOf(index) < keyOf(index + 1))
  }
})

test('the calls of strace are those of its last row, with and without errors', () => {
  const table = [
    '% time     seconds  usecs/call     calls    errors syscall',
    '------ ----------- ----------- --------- --------- ----------------',
    ' 60.00    0.002000          47        40         3 fdatasync',
    ' 40.00    0.000311          47         9           fsync',
    '------ ----------- ----------- --------- --------- ----------------',
  ]
  assert.equal(
    totalCalls([...table, '100.00    0.002311          47        49           total'].join('\n')),
    49,
  )
  assert.equal(
    totalCalls([...table, '100.00    0.002311          47        49         3 total'].join('\n')),
    49,
  )
  assert.throws(() => totalCalls(table.join('\n')), /no total/)
})

test('a scratch directory is gone with all that is in it', () => {
  const directory = scratch()
  assert.deepEqual(readdirSync(directory.path), [])
  directory[Symbol.dispose]()
  assert.equal(existsSync(directory.path), false)
})
