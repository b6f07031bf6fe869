import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import { freshSeed, random } from '../../std/index.ts'
import type { Folding } from './codec.ts'
import { Fold, FOLD_WINDOW_MAX } from './fold.ts'

type Noted = { type: 'noted'; n: number; at: number }
type Notes = readonly number[]

const plain: Folding<Notes, Noted> = {
  type: 'notes',
  version: 1,
  initial: () => [],
  evolve: (notes, { n }) => [...notes, n],
}
const effective: Folding<Notes, Noted> = { ...plain, effectiveAt: ({ at }) => at }

function noted(n: number, at: number): Noted {
  return { type: 'noted', n, at }
}

function applyAll(fold: Fold<Notes, Noted>, times: readonly number[]): string[] {
  return times.map((at) => fold.apply(noted(fold.version + 1, at), fold.version + 1, at))
}

/** The numbers of events that took effect at these times, in order of effect. */
function inOrder(times: readonly number[]): number[] {
  return times
    .map((at, i) => ({ at, n: i + 1 }))
    .toSorted((a, b) => a.at - b.at || a.n - b.n)
    .map(({ n }) => n)
}

describe('a fold', () => {
  test('without times of effect runs in the order of the stream', () => {
    const fold = new Fold(plain, 'a')
    applyAll(fold, [30, 10, 20])
    assert.deepEqual(fold.state, [1, 2, 3])
    assert.deepEqual([fold.version, fold.topAt, fold.topSeq], [3, 30, 1])
  })

  test('with times of effect runs in their order, and in the order of the stream among equals', () => {
    const fold = new Fold(effective, 'a')
    applyAll(fold, [30, 10, 20, 10, 30])
    assert.deepEqual(fold.state, [2, 4, 3, 1, 5])
    assert.deepEqual([fold.version, fold.topAt, fold.topSeq, fold.refolds], [5, 30, 5, 3])
  })

  test('takes events without a gap only', () => {
    const fold = new Fold(plain, 'a')
    assert.throws(() => fold.apply(noted(2, 0), 2, 0), /without a gap/)
  })

  test('knows the place of an event as late as half of the window, however it is filled', () => {
    const seed = freshSeed()
    const draw = random(seed)
    for (let run = 0; run < 100; run++) {
      const fold = new Fold(effective, 'a')
      const times: number[] = []
      while (times.length < FOLD_WINDOW_MAX * 3) {
        const sorted = times.toSorted((a, b) => a - b)
        const least = sorted[Math.max(0, sorted.length - FOLD_WINDOW_MAX / 2)] ?? 0
        const at = draw.below(4) === 0 ? least + draw.below(40) : times.length * 2
        assert.deepEqual(applyAll(fold, [at]), ['folded'], `seed ${seed}, run ${run}`)
        times.push(at)
      }
      assert.deepEqual(fold.state, inOrder(times), `seed ${seed}, run ${run}`)
    }
  })

  test('forgets nothing as long as the window has room, and the older half after that', () => {
    const full = new Fold(effective, 'a')
    applyAll(full, [...Array(FOLD_WINDOW_MAX).keys()])
    assert.deepEqual(applyAll(full.fork(), [-1]), ['folded'])
    applyAll(full, [FOLD_WINDOW_MAX])
    assert.deepEqual(applyAll(full, [-1]), ['beyond'])
    assert.deepEqual(applyAll(full, [FOLD_WINDOW_MAX / 2 + 2]), ['folded'])
  })

  test('says so when an event belongs below all it knows, and is as it was', () => {
    const fold = new Fold(effective, 'a')
    applyAll(fold, [...Array(FOLD_WINDOW_MAX * 2).keys()])
    const before = [...fold.state]
    assert.deepEqual(applyAll(fold, [1]), ['beyond'])
    assert.deepEqual(fold.state, before)
    assert.equal(fold.version, FOLD_WINDOW_MAX * 2)
    assert.deepEqual(applyAll(fold, [FOLD_WINDOW_MAX * 2 - 2]), ['folded'])
  })

  test('from a snapshot knows nothing below it', () => {
    const fold = new Fold(effective, 'a', {
      stream: 'notes/a',
      seq: 2,
      topAt: 10,
      topSeq: 1,
      fold: '',
      state: '[2,1]',
    })
    assert.deepEqual(applyAll(fold, [9]), ['beyond'])
    assert.deepEqual(applyAll(fold, [20, 10]), ['folded', 'folded'])
    assert.deepEqual(fold.state, [2, 1, 4, 3])
    assert.equal(fold.eventsSinceRung, 2)
  })

  test('and its fork do not see what the other folds', () => {
    const fold = new Fold(effective, 'a')
    applyAll(fold, [10, 20, 30])
    const fork = fold.fork()
    applyAll(fork, [15, 40])
    applyAll(fold, [5, 25])
    assert.deepEqual(fork.state, [1, 4, 2, 3, 5])
    assert.deepEqual(fold.state, [4, 1, 2, 5, 3])
    const again = fork.fork()
    applyAll(fork, [1])
    applyAll(again, [35])
    assert.deepEqual(fork.state, [6, 1, 4, 2, 3, 5])
    assert.deepEqual(again.state, [1, 4, 2, 3, 6, 5])
  })

  test('names an event that evolve throws at, and is as it was', () => {
    const picky: Folding<Notes, Noted> = {
      ...effective,
      evolve(notes, event) {
        if (event.n === 3) throw new RangeError('three')
        return [...notes, event.n]
      },
    }
    const fold = new Fold(picky, 'a')
    applyAll(fold, [10, 20])
    for (const at of [15, 30])
      assert.throws(
        () => applyAll(fold, [at]),
        ({ code, detail, cause }: { code: string; detail: object; cause: Error }) => {
          assert.equal(code, 'unknown-event')
          assert.deepEqual(detail, {
            stream: 'notes/a',
            seq: 3,
            type: 'noted',
            remedy: 'let evolve know it',
          })
          return cause.message === 'three'
        },
      )
    assert.deepEqual([fold.state, fold.version], [[1, 2], 2])
    fold.apply(noted(4, 5), 3, 5)
    assert.deepEqual(fold.state, [4, 1, 2])
  })
})
