import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import { DiskLog } from './disk-log.ts'
import { diskFull, type Disk } from './disk.ts'

/** A disk that does what it is told; what it holds can be changed behind its back. */
class Plain implements Disk {
  bytes: Uint8Array
  room = Infinity
  syncs = 0
  failure: 'append' | 'sync' | 'truncate' | undefined

  constructor(bytes: Uint8Array = new Uint8Array(0)) {
    this.bytes = new Uint8Array(bytes)
  }

  async read(): Promise<Uint8Array> {
    return this.bytes
  }

  async append(bytes: Uint8Array): Promise<void> {
    if (this.failure === 'append') throw new Error('append failed')
    const fits = bytes.subarray(0, this.room - this.bytes.length)
    this.bytes = new Uint8Array([...this.bytes, ...fits])
    if (fits.length < bytes.length) throw diskFull()
  }

  async sync(): Promise<void> {
    if (this.failure === 'sync') throw new Error('sync failed')
    this.syncs++
  }

  async truncate(length: number): Promise<void> {
    if (this.failure === 'truncate') throw new Error('truncate failed')
    this.bytes = this.bytes.slice(0, length)
  }
}

const TEXTS = ['first', '\u{1f984} second', '', 'x'.repeat(100)]

/** A disk with these texts, and where each of them ends. */
async function written(): Promise<{ disk: Plain; ends: number[] }> {
  const disk = new Plain()
  const { log } = await DiskLog.open(disk)
  const ends = [0]
  for (const text of TEXTS) {
    assert.deepEqual(await log.write(text), { type: 'kept' })
    ends.push(disk.bytes.length)
  }
  return { disk, ends }
}

describe('a log on a disk', () => {
  test('gives back what was written, and goes on behind it', async () => {
    const { disk } = await written()
    const { log, texts } = await DiskLog.open(disk)
    assert.deepEqual(texts, TEXTS)
    await log.write('more')
    assert.deepEqual((await DiskLog.open(disk)).texts, [...TEXTS, 'more'])
  })

  test('syncs each text once before it is kept, and what it has read', async () => {
    const { disk } = await written()
    assert.equal(disk.syncs, 1 + TEXTS.length)
    const { log } = await DiskLog.open(disk)
    assert.equal(disk.syncs, 2 + TEXTS.length)
    await log.write('more')
    assert.equal(log.flushes, 1)
    assert.equal(log.bytes, 16 + 4)
  })

  test('torn at any byte is the texts before, and goes on there', async () => {
    const { disk, ends } = await written()
    for (let length = 0; length <= disk.bytes.length; length++) {
      const torn = new Plain(disk.bytes.slice(0, length))
      const whole = ends.findLastIndex((end) => end <= length)
      const { log, texts } = await DiskLog.open(torn)
      assert.deepEqual(texts, TEXTS.slice(0, whole))
      assert.equal(torn.bytes.length, ends[whole])
      await log.write('more')
      assert.deepEqual((await DiskLog.open(torn)).texts, [...TEXTS.slice(0, whole), 'more'])
    }
  })

  test('with any byte of its last frame changed is the texts before', async () => {
    const { disk, ends } = await written()
    for (let at = ends.at(-2)!; at < disk.bytes.length; at++) {
      const changed = new Plain(disk.bytes)
      changed.bytes[at]! ^= 1 + (at % 255)
      assert.deepEqual((await DiskLog.open(changed)).texts, TEXTS.slice(0, -1))
    }
  })

  test('is not opened where a whole frame stands behind one that is not', async () => {
    const { disk, ends } = await written()
    for (let at = 0; at < ends.at(-2)!; at++) {
      const changed = new Plain(disk.bytes)
      changed.bytes[at]! ^= 1 + (at % 255)
      const bad = ends.findLastIndex((end) => end <= at)
      await assert.rejects(DiskLog.open(changed), {
        code: 'damaged',
        detail: { ...(await damageOf(changed)), at: ends[bad] },
      })
      assert.equal(changed.bytes.length, disk.bytes.length, 'nothing is cut')
    }
    const without = Buffer.concat([disk.bytes.slice(0, ends[1]), disk.bytes.slice(ends[2])])
    await assert.rejects(DiskLog.open(new Plain(without)), { code: 'damaged' })
  })

  test('takes back what there was no room for, and tries whether there is by now', async () => {
    const { disk } = await written()
    const { log } = await DiskLog.open(disk)
    const before = disk.bytes.length
    disk.room = before + 30
    assert.deepEqual(await log.write('x'.repeat(20)), { type: 'full' })
    assert.equal(disk.bytes.length, before)
    assert.deepEqual(await log.probe(), { type: 'full' })
    disk.room = before + 35
    assert.deepEqual(await log.probe(), { type: 'full' })
    disk.room = before + 36
    assert.deepEqual(await log.probe(), { type: 'kept' })
    assert.equal(disk.bytes.length, before)
    assert.deepEqual(await log.write('x'.repeat(20)), { type: 'kept' })
  })

  test('says that a text may be lost when a write, a sync or taking back fails', async () => {
    for (const failure of ['append', 'sync', 'truncate'] as const) {
      const { disk } = await written()
      const { log } = await DiskLog.open(disk)
      if (failure === 'truncate') disk.room = disk.bytes.length
      disk.failure = failure
      const lost = await log.write('text')
      assert.ok(lost.type === 'lost' && lost.cause instanceof Error)
      assert.equal(lost.cause.message, `${failure} failed`)
    }
  })
})

async function damageOf(disk: Plain): Promise<object> {
  return DiskLog.open(disk).then(
    () => assert.fail('it was opened'),
    (error: { detail: object }) => error.detail,
  )
}
