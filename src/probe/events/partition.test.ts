import assert from 'node:assert/strict'
import { test } from 'node:test'

import { partitionOf } from './partition.ts'

test('a key belongs where the clients of Kafka put it', () => {
  // The hashes that Kafka's own tests have for these keys, without their sign.
  for (const [key, hash] of [
    ['21', -973_932_308],
    ['foobar', -790_332_482],
    ['a-little-bit-long-string', -985_981_536],
    ['a-little-bit-longer-string', -1_486_304_829],
    ['lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8', -58_897_971],
    ['abc', 479_470_107],
  ] as const)
    for (const partitions of [1, 2, 3, 7, 1_000])
      assert.equal(partitionOf(Buffer.from(key), partitions), (hash & 0x7fff_ffff) % partitions)
})
