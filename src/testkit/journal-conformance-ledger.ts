/** The part of the conformance suite about the ledger, fences and snapshots. */
import assert from 'node:assert/strict'

import {
  fingerprintOf,
  type Batch,
  type CommitResult,
  type LedgerEntry,
  type Snapshot,
} from '../journal/index.ts'
import {
  append,
  dataOf,
  event,
  everything,
  partsOf,
  RETENTION,
  type JournalTests,
} from './journal-conformance-fixture.ts'

export const LEDGER_TESTS: JournalTests = {
  async 'answers a request id once, and the same again'({ journal, clock }) {
    const results = await Promise.all([
      journal.commit(sale('first', 0)),
      journal.commit(sale('second', 1)), // while the first is on its way
    ])
    const duplicate = { type: 'duplicate', key: 'r1', response: 'first', position: 1 }
    assert.deepEqual(results, [{ type: 'committed', position: 1, versions: [1] }, duplicate])
    await journal.commit({ streams: [append('a', 'moved on')] })
    assert.deepEqual(await journal.commit(sale('third', 0)), duplicate)
    assert.deepEqual(await journal.lookup('r1'), {
      key: 'r1',
      fingerprint: fingerprintOf({ amount: 5 }),
      response: 'first',
      position: 1,
      at: clock.now(),
    })
    assert.equal(await journal.lookup('r2'), undefined)
    assert.deepEqual(await dataOf(journal, 'a'), ['first', 'moved on'])
  },

  async 'names the fields in which a request differs from the one of the same id'({ journal }) {
    const asked = { type: 'pay', amount: 5, note: 'x'.repeat(1_000) }
    await journal.commit(payment(asked))
    assert.deepEqual(await journal.commit(payment({ ...asked, amount: 6, note: 'y', to: 'b' })), {
      type: 'mismatch',
      key: 'r1',
      fields: ['amount', 'note', 'to'],
    })
    assert.deepEqual(await journal.readRecords('c', ''), [
      { key: 'k', value: JSON.stringify(asked) },
    ])
  },

  async 'takes several answers in one batch, and none of them where one was given before'({
    journal,
  }) {
    await journal.commit({ ledger: [answer('a'), answer('b')] })
    const refused = await journal.commit({ ledger: [answer('c'), answer('b'), answer('a')] })
    assert.deepEqual(refused, { type: 'duplicate', key: 'b', response: 'to b', position: 0 })
    assert.equal(await journal.lookup('c'), undefined)
    assert.equal((await journal.lookup('a'))?.response, 'to a')
  },

  async 'remembers an answer for as long as it was told to, and no longer'({ journal, clock }) {
    await journal.commit({ ledger: [answer('r1', 'first')] })
    clock.advance(RETENTION)
    assert.equal((await journal.lookup('r1'))?.response, 'first')
    assert.equal((await journal.commit({ ledger: [answer('r1', 'second')] })).type, 'duplicate')
    clock.advance(1)
    assert.equal(await journal.lookup('r1'), undefined)
    assert.equal((await journal.commit({ ledger: [answer('r1', 'third')] })).type, 'committed')
    clock.advance(RETENTION)
    assert.equal((await journal.lookup('r1'))?.response, 'third')
  },

  async 'refuses whoever holds an old token, whatever it writes, before it looks at anything else'({
    journal,
  }) {
    assert.equal(await journal.takeFence('writer'), 1)
    assert.equal((await journal.commit(fencedBy(1, 'x'))).type, 'committed')
    assert.equal(await journal.takeFence('writer'), 2)
    assert.equal(await journal.takeFence('other'), 1)
    const fenced = { type: 'fenced', name: 'writer', token: 1, current: 2 }
    assert.deepEqual(await journal.commit(fencedBy(1, 'y')), fenced)
    assert.deepEqual(await journal.commit(fencedBy(1, 'x')), fenced) // although it is a duplicate too
    assert.equal(await partsOf(journal, 'y'), 'none')
    assert.equal((await journal.commit(fencedBy(3, 'y'))).type, 'fenced') // nobody was given it
    assert.equal((await journal.commit(fencedBy(2, 'y'))).type, 'committed')
  },

  async 'takes a fence in its turn among the commits'({ journal }) {
    await journal.takeFence('writer')
    const by = (token: number): Promise<CommitResult> =>
      journal.commit({ fence: { name: 'writer', token }, streams: [append('a', `${token}`)] })
    const [before, token, after, next] = await Promise.all([
      by(1),
      journal.takeFence('writer'),
      by(1),
      by(2),
    ])
    assert.deepEqual(
      [before.type, token, after.type, next.type],
      ['committed', 2, 'fenced', 'committed'],
    )
  },

  async 'keeps snapshots by fold, the longest history first, until they are dropped'({ journal }) {
    await journal.commit({ streams: [append('a', '1', '2', '3')], snapshots: [snapshotOf(3, 'f')] })
    await journal.commit({
      snapshots: [snapshotOf(1, 'f'), snapshotOf(2, 'f'), snapshotOf(2, 'g')],
    })
    assert.deepEqual(await journal.snapshots('a', 'f'), [
      snapshotOf(3, 'f'),
      snapshotOf(2, 'f'),
      snapshotOf(1, 'f'),
    ])
    assert.deepEqual(await journal.commit({ snapshots: [snapshotOf(4, 'f')] }), {
      type: 'conflict',
      stream: 'a',
      expected: 4,
      actual: 3,
    })
    await journal.commit({
      snapshots: [
        snapshotOf(2, 'f', 'anew'),
        { stream: 'a', seq: 3, fold: 'f', dropped: true },
        { stream: 'a', seq: 9, fold: 'f', dropped: true },
      ],
    })
    assert.deepEqual(await journal.snapshots('a', 'f'), [
      snapshotOf(2, 'f', 'anew'),
      snapshotOf(1, 'f'),
    ])
    assert.deepEqual(await journal.snapshots('a', 'g'), [snapshotOf(2, 'g')])
    assert.deepEqual(await journal.snapshots('b', 'f'), [])
  },
}

function sale(response: string, expected: number): Batch {
  return {
    streams: [{ stream: 'a', expected, events: [event(response)] }],
    ledger: [{ key: 'r1', fingerprint: fingerprintOf({ amount: 5 }), response }],
  }
}

function payment(fields: Readonly<Record<string, unknown>>): Batch {
  return {
    records: [{ collection: 'c', key: 'k', value: JSON.stringify(fields) }],
    ledger: [{ key: 'r1', fingerprint: fingerprintOf(fields), response: '' }],
  }
}

function answer(key: string, response = `to ${key}`): LedgerEntry {
  return { key, fingerprint: '{}', response }
}

function fencedBy(token: number, name: string): Batch {
  return { ...everything(name), fence: { name: 'writer', token } }
}

function snapshotOf(seq: number, fold: string, state = `${seq}`): Snapshot {
  return { stream: 'a', seq, topAt: -seq, topSeq: 1, fold, state }
}
