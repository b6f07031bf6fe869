import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import { memoryJournal, type Journal } from '../../journal/index.ts'
import { Accident, fault } from '../../std/index.ts'
import type { SnapshotPolicy } from '../entity.ts'
import { encodeEvent, foldOf, type Folding } from './codec.ts'
import { Fold } from './fold.ts'
import { read } from './history.ts'
import {
  load,
  planSnapshot,
  rungsAfter,
  SNAPSHOT_EVERY_DEFAULT,
  SNAPSHOTS_KEPT_DEFAULT,
  type Rung,
} from './ladder.ts'

type Noted = { type: 'noted'; n: number; happenedAt: number }
type Notes = { of: string; notes: readonly number[] }

const plain: Folding<Notes, Noted> = {
  type: 'notes',
  version: 1,
  initial: (of) => ({ of, notes: [] }),
  evolve: ({ of, notes }, { n }) => ({ of, notes: [...notes, n] }),
}
const effective: Folding<Notes, Noted> = { ...plain, effectiveAt: ({ happenedAt }) => happenedAt }

async function noted(
  journal: Journal,
  definition: Folding<Notes, Noted>,
  times: readonly number[],
  recordedAt: (n: number) => number = (n) => n,
): Promise<void> {
  const first = await journal.version('notes/a')
  const events = times.map((happenedAt, i) => {
    const n = first + i + 1
    return encodeEvent(definition, { type: 'noted', n, happenedAt } as Noted, { at: recordedAt(n) })
  })
  await journal.commit({ streams: [{ stream: 'notes/a', expected: 'any', events }] })
}

async function snapshotted(journal: Journal, definition: Folding<Notes, Noted>): Promise<void> {
  const { fold, rungs } = await load(journal, definition, 'a')
  const snapshots = planSnapshot(rungs, fold, definition.snapshots, 1)
  assert.equal((await journal.commit({ snapshots })).type, 'committed')
}

describe('loading an entity', () => {
  test('that has no history gives its initial state', async () => {
    const { fold, replayed, rungs, position } = await load(await memoryJournal(), plain, 'a')
    assert.deepEqual(fold.state, { of: 'a', notes: [] })
    assert.deepEqual([fold.version, replayed, rungs, position], [0, 0, [], 0])
  })

  test('reads in pages as much as there is, and as much as was asked for', async () => {
    for (const definition of [plain, effective]) {
      const journal = await memoryJournal()
      await noted(journal, definition, Array(2_500).fill(1))
      for (const [extent, length] of [
        [{}, 2_500],
        [{ upTo: 2_000 }, 2_000],
        [{ upTo: 1_001 }, 1_001],
        [{ upTo: 0 }, 0],
      ] as const) {
        const { fold, replayed } = await load(journal, definition, 'a', extent)
        assert.deepEqual(
          [fold.version, replayed, fold.state.notes.length],
          [length, length, length],
        )
      }
    }
  })

  test('replays only what came after the newest snapshot', async () => {
    for (const definition of [plain, effective]) {
      const journal = await memoryJournal()
      await noted(journal, definition, [10, 20])
      await snapshotted(journal, definition)
      const before = await load(journal, definition, 'a')
      assert.deepEqual([before.replayed, before.rungSeq, before.position], [0, 2, 2])
      await noted(journal, definition, [30])
      const { fold, replayed, rungSeq, position } = await load(journal, definition, 'a')
      assert.deepEqual([fold.state.notes, fold.eventsSinceRung], [[1, 2, 3], 1])
      assert.deepEqual([replayed, rungSeq, position], [1, 2, 3])
    }
  })

  test('steps down to the rung that a late event leaves good, and no further', async () => {
    const journal = await memoryJournal()
    for (const time of [10, 20, 30]) {
      await noted(journal, effective, [time])
      await snapshotted(journal, effective)
    }
    await noted(journal, effective, [20])
    const { fold, replayed, rungSeq } = await load(journal, effective, 'a')
    assert.deepEqual(fold.state.notes, [1, 2, 4, 3])
    assert.deepEqual([replayed, rungSeq], [2, 2])

    await noted(journal, effective, [10])
    assert.equal((await load(journal, effective, 'a')).rungSeq, 1)
    await noted(journal, effective, [9])
    const last = await load(journal, effective, 'a')
    assert.deepEqual([last.fold.state.notes, last.rungSeq], [[6, 1, 5, 2, 4, 3], 0])
  })

  test('does not mind when events were recorded if they have no time of effect', async () => {
    const journal = await memoryJournal()
    await noted(journal, plain, [1, 1], () => 100)
    await snapshotted(journal, plain)
    await noted(journal, plain, [1], () => 50)
    const { fold, rungSeq } = await load(journal, plain, 'a')
    assert.deepEqual([fold.state.notes, rungSeq], [[1, 2, 3], 2])
  })

  test('leaves a damaged snapshot aside, and says how many', async () => {
    const journal = await memoryJournal()
    await noted(journal, plain, [1, 1])
    await snapshotted(journal, plain)
    const rung = { stream: 'notes/a', topAt: 1, topSeq: 1, fold: foldOf(plain) }
    await noted(journal, plain, [1])
    await journal.commit({ snapshots: [{ ...rung, seq: 3, state: '{"of":' }] })
    const { fold, rungSeq, damaged } = await load(journal, plain, 'a')
    assert.deepEqual([fold.state.notes, rungSeq, damaged], [[1, 2, 3], 2, 1])
  })

  test('does without snapshots that a journal cannot give out, and not without its history', async () => {
    const damaged = new Accident(fault('damaged', 'it is damaged'))
    const journal = await memoryJournal()
    await noted(journal, plain, [1, 1])
    journal.snapshots = () => Promise.reject(damaged)
    assert.equal((await load(journal, plain, 'a')).replayed, 2)
    journal.snapshots = () => Promise.reject(new Error('no'))
    await assert.rejects(load(journal, plain, 'a'), { message: 'no' })
  })

  test('does not see the snapshots of another fold', async () => {
    const journal = await memoryJournal()
    await noted(journal, plain, [1, 1])
    await snapshotted(journal, plain)
    const { rungSeq, rungs } = await load(journal, { ...plain, fold: 2 }, 'a')
    assert.deepEqual([rungSeq, rungs], [0, []])
  })

  test('fails with the event that cannot be read', async () => {
    const journal = await memoryJournal()
    await noted(journal, { ...plain, version: 2 }, [1])
    await assert.rejects(load(journal, plain, 'a'), { code: 'unknown-event' })
  })
})

describe('reading from history', () => {
  test('gives what took effect by then, what was known by then, or both', async () => {
    const journal = await memoryJournal()
    await noted(journal, effective, [10, 30, 20], (n) => n * 10)
    await snapshotted(journal, effective)
    await noted(journal, effective, [40], (n) => n * 10)
    const at = async (moment?: Parameters<typeof read>[3]): Promise<unknown> => {
      const { state, version } = await read(journal, effective, 'a', moment)
      return [state.notes, version]
    }
    assert.deepEqual(await at(), [[1, 3, 2, 4], 4])
    assert.deepEqual(await at({ version: 2 }), [[1, 2], 2])
    assert.deepEqual(await at({ version: 9 }), [[1, 3, 2, 4], 4])
    assert.deepEqual(await at({ version: 0 }), [[], 0])
    assert.deepEqual(await at({ asOf: 20 }), [[1, 3], 2])
    assert.deepEqual(await at({ asOf: 30 }), [[1, 3, 2], 3])
    assert.deepEqual(await at({ asAt: 20 }), [[1, 2], 2])
    assert.deepEqual(await at({ asAt: 9 }), [[], 0])
    assert.deepEqual(await at({ asAt: 20, asOf: 20 }), [[1], 1])
    assert.deepEqual(await at({ version: 3, asOf: 20 }), [[1, 3], 2])
  })

  test('takes for the time of effect when it was recorded, where there is no other', async () => {
    const journal = await memoryJournal()
    await noted(journal, plain, [1, 1, 1], (n) => n * 10)
    await snapshotted(journal, plain)
    assert.deepEqual((await read(journal, plain, 'a', { asOf: 25 })).version, 2)
    assert.deepEqual((await read(journal, plain, 'a', { asAt: 25 })).version, 2)
  })

  test('is not confused by a clock that was set back', async () => {
    const journal = await memoryJournal()
    const times = [10, 50, 20, 60]
    await noted(journal, plain, [1, 1, 1, 1], (n) => times[n - 1]!)
    assert.equal((await read(journal, plain, 'a', { asAt: 30 })).version, 1)
    assert.equal((await read(journal, plain, 'a', { asAt: 50 })).version, 3)
  })
})

function folded(version: number): Fold<unknown, never> {
  const at = { stream: '', seq: version, topAt: version, topSeq: version, fold: '', state: '0' }
  return new Fold<unknown, never>({ ...plain, initial: () => 0, evolve: (s) => s }, 'a', at)
}

function climbed(policy: SnapshotPolicy, to: number, by: number): readonly Rung[] {
  let rungs: readonly Rung[] = []
  for (let version = by; version <= to; version += by)
    rungs = rungsAfter(rungs, planSnapshot(rungs, folded(version), policy))
  return rungs
}

describe('the ladder', () => {
  test('gets a rung after so many events and not before', () => {
    const every = SNAPSHOT_EVERY_DEFAULT
    assert.deepEqual(planSnapshot([], folded(every - 1)), [])
    const [rung, ...dropped] = planSnapshot([], folded(every))
    assert.deepEqual(rung, {
      stream: 'notes/a',
      seq: every,
      topAt: every,
      topSeq: every,
      fold: foldOf(folded(1).definition),
      state: '0',
    })
    assert.deepEqual(dropped, [])
    assert.equal(planSnapshot([{ seq: 50, topAt: 0, topSeq: 1 }], folded(149)).length, 0)
    assert.equal(planSnapshot([{ seq: 50, topAt: 0, topSeq: 1 }], folded(150)).length, 1)
    assert.equal(planSnapshot([], folded(1), { every: 1 }).length, 1)
    assert.equal(planSnapshot([], folded(3), {}, 3).length, 1)
    assert.deepEqual(planSnapshot([], folded(0), {}, 0), [])
    assert.deepEqual(planSnapshot([], folded(1e9), { every: Infinity }, 1), [])
  })

  test('keeps as many rungs as it is told, which reach further and further back', () => {
    assert.equal(climbed({}, 100_000, 100).length, SNAPSHOTS_KEPT_DEFAULT)
    for (const keep of [1, 2, 3, 4]) {
      const reach = 8 ** (keep - 1) * 10
      for (let top = reach * 4; top < reach * 4 + 1_000; top += 70) {
        const ages = climbed({ every: 10, keep }, top, 10).map(({ seq }) => top - seq)
        assert.equal(ages.length, keep)
        assert.equal(ages[0], 0)
        assert.ok(
          ages.at(-1)! <= reach && ages.at(-1)! >= reach / 22 - 1,
          `${top}: ${String(ages)}`,
        )
      }
    }
  })

  test('refuses a state that would not come back, and names the place', () => {
    const cyclic: Record<string, unknown> = {}
    cyclic['self'] = cyclic
    for (const [state, place] of [
      [{ a: [new Map()] }, 'state.a[0]'],
      [undefined, 'state'],
      [{ a: 1n }, undefined],
      [cyclic, undefined],
    ] as const) {
      const fold = folded(100)
      fold.state = state
      assert.throws(
        () => planSnapshot([], fold),
        ({ code, detail }: Accident) => {
          assert.deepEqual([code, detail['place']], ['bad-state', place])
          return true
        },
      )
    }
  })
})
