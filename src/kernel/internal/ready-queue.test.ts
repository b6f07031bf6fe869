import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import { manual } from '../suspension.ts'
import { HIGH, LOW, NORMAL, ReadyQueue, type Ready } from './ready-queue.ts'
import { COMPLETED, HAS_STOPPED, YIELDED } from './result.ts'

type Entry = Ready & Readonly<{ name: string }>

function entry(name: string, lane = NORMAL): Entry {
  return { name, lane, queued: false, before: null, after: null }
}

function queueOf(...entries: readonly Entry[]): ReadyQueue<Entry> {
  const queue = new ReadyQueue<Entry>(() => undefined)
  for (const each of entries) queue.register(each)
  return queue
}

function names(entries: readonly Entry[]): string {
  return entries.map(({ name }) => name).join('')
}

describe('ready queue', () => {
  test('the ready queue unregisters on suspended and its drain is empty', () => {
    const subject = entry('a')
    const queue = queueOf(subject)

    queue.settle(subject, { type: 'suspended', reason: 'backpressure', resumeOn: manual() })

    assert.deepEqual(queue.drain(10), [])
    assert.equal(queue.depth, 0)
    assert.equal(subject.queued, false)
  })

  test('only what has yielded comes back, behind the others', () => {
    const [a, b] = [entry('a'), entry('b')]
    const queue = queueOf(a, b)
    assert.equal(queue.take(), a)

    queue.settle(a, YIELDED)

    assert.equal(names(queue.drain(10)), 'ba')
    for (const result of [COMPLETED, HAS_STOPPED, { type: 'failed', error: 0 } as const]) {
      queue.register(a)
      queue.settle(a, result)
      assert.deepEqual(queue.drain(10), [], result.type)
    }
  })

  test('a drain hands out at most what was asked for, in order, and keeps the rest', () => {
    const queue = queueOf(entry('a'), entry('b'), entry('c'))

    assert.equal(names(queue.drain(2)), 'ab')
    assert.equal(queue.depth, 1)
    assert.equal(names(queue.drain(2)), 'c')
    assert.deepEqual(queue.drain(0), [])
  })

  test('registering twice is registering once', () => {
    const a = entry('a')
    const queue = queueOf(a, entry('b'), a)

    assert.equal(queue.depth, 2)
    assert.equal(names(queue.drain(10)), 'ab')
  })

  test('leaving from the front, the middle and the back keeps the others in order', () => {
    for (const [gone, left] of [
      [0, 'bc'],
      [1, 'ac'],
      [2, 'ab'],
    ] as const) {
      const entries = [entry('a'), entry('b'), entry('c')]
      const queue = queueOf(...entries)

      queue.unregister(entries[gone]!)
      queue.unregister(entries[gone]!)

      assert.equal(queue.depth, 2)
      assert.equal(names(queue.drain(10)), left)
    }
  })

  test('every registration is announced, an idle one is not', () => {
    const heard: string[] = []
    const queue = new ReadyQueue<Entry>(({ name }) => heard.push(name))
    const a = entry('a')
    queue.register(a)
    queue.register(a)
    queue.unregister(a)
    queue.unregister(a)
    queue.register(a)

    assert.deepEqual(heard, ['a', 'a'])
  })

  test('high goes before normal, normal before low', () => {
    const queue = queueOf(entry('l', LOW), entry('n', NORMAL), entry('h', HIGH))

    assert.equal(names(queue.drain(10)), 'hnl')
  })

  test('a lower lane gets every eighth turn of the one above', () => {
    const lanes = [entry('h', HIGH), entry('n', NORMAL), entry('l', LOW)]
    const queue = queueOf(...lanes)
    const turns: Record<string, number> = { h: 0, n: 0, l: 0 }

    for (let turn = 0; turn < 640; turn++) {
      const next = queue.take()
      assert.ok(next !== undefined)
      turns[next.name]! += 1
      queue.register(next)
    }

    assert.deepEqual(turns, { h: 560, n: 70, l: 10 })
  })

  test('without high, low gets its share of the turns of normal', () => {
    const queue = queueOf(entry('n', NORMAL), entry('l', LOW))
    let low = 0

    for (let turn = 0; turn < 640; turn++) {
      const next = queue.take()
      assert.ok(next !== undefined)
      if (next.name === 'l') low += 1
      queue.register(next)
    }

    assert.equal(low, 80)
  })

  test('a test may pick any entry, counted through the lanes', () => {
    const entries = [entry('l', LOW), entry('a'), entry('b'), entry('h', HIGH)]
    for (const [index, name] of ['h', 'a', 'b', 'l'].entries()) {
      const queue = queueOf(...entries)
      assert.equal(queue.takeAt(index)?.name, name)
      assert.equal(queue.depth, 3)
      queue.drain(10)
    }

    assert.equal(queueOf(...entries).takeAt(4), undefined)
  })
})
