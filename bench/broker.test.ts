import assert from 'node:assert/strict'
import { test } from 'node:test'
import { percentile } from './durable/broker.ts'
import { megabytes } from './broker/backlog.ts'
import { ratesOf } from './broker/peers.ts'

test('memory is read in megabytes of a million bytes, and a field that is not there is missed', () => {
  const status = 'Name:\tnode\nVmHWM:\t  500000 kB\nVmRSS:\t  390625 kB\n'
  assert.equal(megabytes(status, 'VmRSS'), 400)
  assert.equal(megabytes(status, 'VmHWM'), 512)
  assert.throws(() => megabytes(status, 'VmSwap'), /no VmSwap/)
})

test('a percentile is one of the values, the last at most', () => {
  const values = Array.from({ length: 100 }, (_, index) => 99 - index)
  assert.equal(percentile(values, 0.5), 50)
  assert.equal(percentile(values, 0.99), 99)
  assert.equal(percentile([7], 0.99), 7)
})

test('what a peer could not do it has no figure for', () => {
  assert.deepEqual(ratesOf({ peer: 'beanf0', enqBatch: 8_200, consBatch8: null, p99: 4.1 }), {
    'send-batched': 8_200,
    'latency-p99-ms': 4.1,
  })
})
