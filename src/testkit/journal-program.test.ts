/** A suite that finds nothing wrong with a wrong journal is worth nothing: here are some. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import { memoryJournal, type Journal } from '../journal/index.ts'
import type { JournalEngine } from './journal-engine.ts'
import { playJournal } from './journal-program.ts'

/** Some of the journal's methods, replaced by wrong ones. */
type Mistake = (journal: Journal) => Partial<Journal>

const mistakes: Readonly<Record<string, Mistake>> = {
  'forgets records of a batch': (journal) => ({
    commit: ({ records, ...rest }) =>
      journal.commit({ ...rest, ...(records && { records: records.slice(-1) }) }),
  }),
  'does not look into its ledger': (journal) => ({
    commit: (batch) => journal.commit({ ...batch, ledger: [] }),
  }),
  'does not compare versions': (journal) => ({
    commit: ({ streams, ...rest }) =>
      journal.commit({
        ...rest,
        ...(streams && { streams: streams.map((each) => ({ ...each, expected: 'any' })) }),
      }),
  }),
  'does not heed fences': (journal) => ({
    commit: ({ fence, ...rest }) => journal.commit(fence === undefined ? { ...rest } : rest),
  }),
  'takes prefixes for patterns': (journal) => ({
    readRecords: async (collection, prefix, page) => {
      const pattern = new RegExp(`^${prefix.replaceAll('_', '.').replaceAll('%', '.*')}`, 'su')
      const all = await journal.readRecords(collection, '', page)
      return all.filter(({ key }) => pattern.test(key))
    },
  }),
  'orders keys by UTF-16': (journal) => ({
    readRecords: async (...asked) =>
      (await journal.readRecords(...asked)).toSorted((a, b) => (a.key < b.key ? -1 : 1)),
  }),
  'begins a page with what it is to begin behind': (journal) => ({
    readAll: (page) => journal.readAll({ ...page, after: Math.max(0, (page?.after ?? 0) - 1) }),
  }),
  'gives the shortest snapshot first': (journal) => ({
    snapshots: async (...asked) => (await journal.snapshots(...asked)).toReversed(),
  }),
  'hands a page out twice': (journal) => ({
    subscribe: ({ handle, ...rest }) =>
      journal.subscribe({
        ...rest,
        handle: async (events) => {
          await handle(events)
          if (events.length === 3) await handle(events)
        },
      }),
  }),
  'commits in another order': (journal) => ({
    commit: async (batch) => {
      if (batch.ledger !== undefined) for (let n = 0; n < 5; n++) await Promise.resolve()
      return journal.commit(batch)
    },
  }),
}

function engineWith(mistake: Mistake): JournalEngine {
  return {
    isLasting: false,
    canCrash: false,
    storage: (clock) => ({
      open: async (options) => {
        const journal = await memoryJournal({ clock, ...options })
        const wrong = mistake(journal)
        return new Proxy(journal, {
          get(_, name) {
            const value: unknown = Reflect.get(name in wrong ? wrong : journal, name)
            return typeof value === 'function' ? value.bind(journal) : value
          },
        })
      },
    }),
  }
}

describe('a random program', () => {
  test('finds nothing wrong with a journal that is right', async () => {
    for (let seed = 0; seed < 20; seed++)
      await playJournal(
        engineWith(() => ({})),
        { seed },
      )
  })

  for (const [mistake, wrong] of Object.entries(mistakes)) {
    test(`finds out a journal that ${mistake}`, async () => {
      const plays = Array.from(
        { length: 20 },
        (_, seed) => () => playJournal(engineWith(wrong), { seed }),
      )
      await assert.rejects(
        async () => {
          for (const play of plays) await play()
        },
        { code: 'journal-wrong' },
      )
    })
  }
})
