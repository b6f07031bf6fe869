import assert from 'node:assert/strict'
import { test } from 'node:test'
import { percentile } from './durable/broker.ts'
import { megabytes } from './broker/backlog.ts'
import { ratesOf } from './broker/peers.ts'
import { readWrk } from './sqs/wrk.ts'

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

test('wrk is heard only if every answer was good', () => {
  const said = '  28913 requests in 2.00s, 9.51MB read\nRequests/sec:  14400.80\n'
  assert.deepEqual(readWrk(said), { requests: 28_913, tookMs: 2_000 })
  assert.throws(() => readWrk(`${said}  Non-2xx or 3xx responses: 3\n`), /Non-2xx/)
  assert.throws(() => readWrk('unable to connect'), /unable/)
})
