import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import { accept, entity, type EntityDefinition } from '../entity/index.ts'
import type { StoredEvent } from '../journal/index.ts'
import { replay } from './replay.ts'

type Noted = Readonly<{ type: 'noted'; n: number }>
type Notes = Readonly<{ notes: readonly number[] }>
type Definition = EntityDefinition<Notes, never, Noted, null>

const notes: Definition = entity({
  type: 'notes',
  version: 1,
  initial: (): Notes => ({ notes: [] }),
  decide: () => accept<Noted, null>([], null),
  evolve: (state: Notes, { n }: Noted): Notes => ({ notes: [...state.notes, n] }),
})
const late: Definition = { ...notes, effectiveAt: () => 0 }

/** A history as it was saved: event n of the stream took effect at the n-th of these times. */
function saved(times: readonly number[], stream = 'notes/a'): StoredEvent[] {
  return times.map((effectiveAt, i) => {
    const [seq, data] = [i + 1, JSON.stringify({ n: i + 1 })]
    const place = { stream, seq, position: seq, batch: seq }
    return { type: 'noted', version: 1, at: 1_000 + i, effectiveAt, data, ...place }
  })
}

describe('replay', () => {
  test('brings every entity of a history to its state, from wherever it begins', () => {
    const history = [...saved([1, 2, 3]), ...saved([5], 'notes/b')]
    assert.deepEqual(replay(notes, JSON.parse(JSON.stringify(history)) as StoredEvent[]), [
      { id: 'a', state: { notes: [1, 2, 3] }, version: 3, snapshots: 3 },
      { id: 'b', state: { notes: [1] }, version: 1, snapshots: 1 },
    ])
    assert.deepEqual(replay(notes, []), [])
  })

  test('knows late facts, and from which snapshots one may begin in spite of them', () => {
    assert.deepEqual(replay(late, saved([10, 30, 20, 40])), [
      { id: 'a', state: { notes: [1, 3, 2, 4] }, version: 4, snapshots: 3 },
    ])
    const [long] = replay(late, saved([...Array(300).keys(), 0, 150]))
    assert.equal(long?.state.notes.indexOf(301), 1)
    assert.equal(long?.version, 302)
  })

  test('tries a long history from a thousand places and no more', () => {
    const flat: Definition = { ...notes, evolve: (_, { n }) => ({ notes: [n] }) }
    assert.equal(replay(flat, saved(Array(1_000).fill(1)))[0]?.snapshots, 1_000)
    assert.equal(replay(flat, saved(Array(1_001).fill(1)))[0]?.snapshots, 500)
  })

  test('fails where today’s code comes to another state on another way', () => {
    let calls = 0
    const counting: Definition = { ...notes, evolve: () => ({ notes: [calls++] }) }
    assert.throws(() => replay(counting, saved([1, 2])), { code: 'replay-differs' })
    const forgetful: Definition = {
      ...notes,
      evolve: (state, { n }) => Object.defineProperty({ notes: state.notes }, 'n', { value: n }),
      initial: () => Object.defineProperty({ notes: [] }, 'n', { value: 0 }),
    }
    assert.equal(replay(forgetful, saved([1, 2]))[0]?.snapshots, 2)
    const remembering: Definition = {
      ...notes,
      evolve(state, { n }) {
        const last = (state as { n?: number }).n ?? 0
        return Object.defineProperty({ notes: [...state.notes, last] }, 'n', { value: n })
      },
    }
    assert.throws(() => replay(remembering, saved([1, 2])), {
      code: 'replay-differs',
      message: /notes\/a comes to another state from a snapshot after event 1:\n {2}\.notes\[1\]/,
    })
  })

  test('fails at what today’s code cannot read, fold or snapshot', () => {
    const [event] = saved([1])
    assert.throws(() => replay(notes, [{ ...event!, version: 2 }]), { code: 'unknown-event' })
    const picky: Definition = { ...notes, evolve: () => assert.fail('no') }
    assert.throws(() => replay(picky, [event!]), { code: 'unknown-event' })
    const lossy: Definition = { ...notes, evolve: () => ({ notes: [Number.NaN] }) }
    assert.throws(() => replay(lossy, [event!]), { code: 'bad-state' })
  })

  test('refuses half a history, and that of somebody else', () => {
    const [first, second] = saved([1, 2])
    assert.throws(() => replay(notes, [second!]), { code: 'bad-history' })
    assert.throws(() => replay(notes, [second!, first!]), { code: 'bad-history' })
    assert.throws(() => replay(notes, saved([1], 'tales/a')), { code: 'bad-history' })
  })
})
