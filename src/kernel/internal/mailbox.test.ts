import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import { afterIo } from '../../std/index.ts'
import { virtualClock } from '../../testkit/index.ts'
import { createSteppedSystem, receive, type SteppedSystem } from '../index.ts'
import { Cell } from './cell.ts'
import { Mailbox, NONE } from './mailbox.ts'

/** The first chunk has 16 places, all others 1 024. */
const EDGES = [1, 15, 16, 17, 1_039, 1_040, 1_041, 3_000]

function mailbox(bound: number): Mailbox {
  const system = createSteppedSystem({ clock: virtualClock() })
  const cell = system.cellOf(
    system.spawn(
      'actor',
      receive<string>(() => undefined),
      { bound },
    ),
  )
  assert.ok(cell instanceof Cell)
  return Mailbox.open(cell, 0)
}

function takeAll(mail: Mailbox): unknown[] {
  const taken: unknown[] = []
  for (let next = mail.take(); next !== NONE; next = mail.take()) taken.push(next)
  return taken
}

function count(n: number): number[] {
  return [...new Array<undefined>(n).keys()]
}

/** Spawns an actor that has mail and ends, and leaves nothing but a weak reference to it. */
function passing(system: SteppedSystem): WeakRef<object> {
  const actor = system.spawnAnonymous(receive<string>(() => 'stopped'))
  actor.tell('end')
  return new WeakRef(actor)
}

/** A message that has gone through the mailbox. */
function throughIt(mail: Mailbox, way: 'take' | 'takePlain'): object {
  const message = {}
  mail.push(message)
  assert.equal(mail[way](), message)
  return message
}

describe('a mailbox', () => {
  test('gives back in order what was put in, across every edge of its chunks', () => {
    for (const n of EDGES) {
      const mail = mailbox(10_000)
      for (const message of count(n)) mail.push(message)
      assert.equal(mail.room, 10_000 - n)

      assert.deepEqual(takeAll(mail), count(n), `${n}`)
      assert.equal(mail.room, 10_000)
      assert.ok(mail.isEmpty)
    }
  })

  test('keeps its order when it is filled and emptied by turns', () => {
    for (const ahead of EDGES) {
      const mail = mailbox(10_000)
      let [put, taken] = [0, 0]
      for (let round = 0; round < 2_500; round++) {
        while (put < taken + ahead) mail.push(put++)
        for (let n = 0; n < 1 + (round % 3) && taken < put; n++) assert.equal(mail.take(), taken++)
      }
      assert.equal(mail.room, 10_000 - (put - taken))
    }
  })

  test('has anything for a message, undefined too', () => {
    const mail = mailbox(10)
    for (const message of [undefined, null, 0, '']) mail.push(message)

    assert.deepEqual(takeAll(mail), [undefined, null, 0, ''])
  })

  test('gives first what is urgent, then what was put back, then the rest', () => {
    const mail = mailbox(10)
    for (const message of ['c', 'd']) mail.push(message)
    for (const message of ['b', 'a']) mail.putBack(message)
    mail.urgent = 'now'
    assert.equal(mail.room, 6)
    assert.equal(mail.isBehindExpress, false)

    assert.deepEqual(takeAll(mail), ['now', 'a', 'b', 'c', 'd'])
    assert.equal(mail.isBehindExpress, true)
  })

  test('has what surfaced before the rest, and counts it once', () => {
    const mail = mailbox(10)
    mail.push('b')
    mail.room -= 1 // an express entry has its place already
    mail.surface('a')

    assert.deepEqual(takeAll(mail), ['a', 'b'])
    assert.equal(mail.room, 10)
  })

  test('may be used again after it was emptied', () => {
    const mail = mailbox(5_000)
    for (let round = 0; round < 3; round++) {
      for (const message of count(2_000)) mail.push(message)
      assert.deepEqual(takeAll(mail), count(2_000))
      mail.trim()
    }
  })

  test('holds on to nothing that was taken', async () => {
    assert.ok(gc !== undefined, 'run with --expose-gc')
    const mail = mailbox(100)
    const taken = count(40).map((n) => new WeakRef(throughIt(mail, n < 10 ? 'takePlain' : 'take')))
    await new Promise<void>(afterIo)
    gc()

    assert.equal(taken.filter((each) => each.deref() !== undefined).length, 0)
    assert.ok(mail.isEmpty)
  })

  test('that is spare holds on to nobody', async () => {
    assert.ok(gc !== undefined, 'run with --expose-gc')
    const system = createSteppedSystem({ clock: virtualClock() })
    const ended = count(10).map(() => passing(system))
    while (system.step());
    await new Promise<void>(afterIo)
    gc()

    assert.equal(ended.filter((each) => each.deref() !== undefined).length, 0)
  })
})
