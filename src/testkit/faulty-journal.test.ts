import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import { memoryJournal, type Journal } from '../journal/index.ts'
import { faultyJournal, JOURNAL_TROUBLES, type JournalTrouble } from './faulty-journal.ts'
import { turnUntil, type JournalEngine } from './journal-engine.ts'
import { playJournal } from './journal-program.ts'
import { simulatedDisk } from './simulated-disk.ts'
import { virtualClock } from './virtual-clock.ts'

function troubledEngine(seed: number): JournalEngine {
  return {
    isLasting: true,
    canCrash: true,
    storage(clock) {
      const disk = simulatedDisk({ seed })
      let opened = seed * 1_000
      return {
        crash: () => disk.crash(),
        open: async (options) =>
          faultyJournal(await memoryJournal({ clock, disk: disk.mount(), ...options }), {
            seed: opened++,
            clock,
          }),
      }
    },
  }
}

/** What came of many commits, and which of them took effect, with any of the seeds. */
async function outcomes(troubles: readonly JournalTrouble[]): Promise<Map<string, number>> {
  const counts = new Map<string, number>()
  const count = (what: string): void => void counts.set(what, (counts.get(what) ?? 0) + 1)
  for (let seed = 0; seed < 20; seed++) {
    const clock = virtualClock()
    const inner = await memoryJournal({ clock })
    const journal: Journal = faultyJournal(inner, { seed, clock, troubles })
    for (let n = 0; n < 50; n++) {
      const records = [{ collection: 'c', key: `${n}`, value: '' }]
      const outcome = await turnUntil(clock, journal.commit({ records })).then(
        ({ type }) => type,
        (error: { code: string }) => error.code,
      )
      const [found] = await inner.getRecords('c', [`${n}`])
      count(found === undefined ? `${outcome}, not there` : `${outcome}, there`)
    }
    if (clock.monotonic() > 0) count('slow')
  }
  return counts
}

describe('a troubled journal', () => {
  test('keeps the promises of a journal, whatever its troubles', async () => {
    let unknownCommitted = 0
    for (let seed = 0; seed < 150; seed++)
      unknownCommitted += (await playJournal(troubledEngine(seed), { seed })).unknownCommitted
    assert.ok(unknownCommitted > 50)
  })

  test('has only the troubles it may have', async () => {
    assert.deepEqual([...(await outcomes([])).keys()], ['committed, there'])
    assert.deepEqual(
      new Set((await outcomes(['slow'])).keys()),
      new Set(['committed, there', 'slow']),
    )
    assert.deepEqual(
      new Set((await outcomes(['overloads'])).keys()),
      new Set(['committed, there', 'journal-overloaded, not there']),
    )
    assert.deepEqual(
      new Set((await outcomes(['unknown-outcomes'])).keys()),
      new Set(['committed, there', 'unknown-outcome, there', 'unknown-outcome, not there']),
    )
  })

  test('does the same with the same seed', async () => {
    assert.deepEqual(await outcomes(JOURNAL_TROUBLES), await outcomes(JOURNAL_TROUBLES))
  })

  test('answers commits in the order of the calls', async () => {
    for (let seed = 0; seed < 30; seed++) {
      const clock = virtualClock()
      const journal = faultyJournal(await memoryJournal({ clock }), { seed, clock })
      const order: number[] = []
      const calls = Array.from({ length: 10 }, (_, n) =>
        journal
          .commit({})
          .catch(() => undefined)
          .then(() => order.push(n)),
      )
      await turnUntil(clock, Promise.all(calls))
      assert.deepEqual(
        order,
        [...order].toSorted((a, b) => a - b),
      )
      await journal.close()
    }
  })

  test('is closed when everything was answered', async () => {
    for (let seed = 0; seed < 30; seed++) {
      const clock = virtualClock()
      const journal = faultyJournal(await memoryJournal({ clock }), { seed, clock })
      let isAnswered = false
      const answered = (): void => void (isAnswered = true)
      journal.commit({}).then(answered, answered)
      await turnUntil(clock, journal.close())
      assert.ok(isAnswered)
    }
  })
})
