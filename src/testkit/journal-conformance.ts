/**
 * The conformance suite: what every engine is held to, and yours.
 *
 * It registers tests with `node:test`, so call it in a test file. Each test has a storage of its own.
 * Time is virtual; an engine that lets commits wait for a timer of its clock cannot be tried so.
 */
import { describe, test } from 'node:test'

import { COMMIT_TESTS } from './journal-conformance-commits.ts'
import { onJournal } from './journal-conformance-fixture.ts'
import { CLOSE_TESTS, CRASH_TESTS, LASTING_TESTS } from './journal-conformance-lasting.ts'
import { LEDGER_TESTS } from './journal-conformance-ledger.ts'
import { LIMIT_TESTS } from './journal-conformance-limits.ts'
import { READ_TESTS } from './journal-conformance-reads.ts'
import { SUBSCRIPTION_TESTS } from './journal-conformance-subscriptions.ts'
import type { JournalEngine } from './journal-engine.ts'
import { playJournal } from './journal-program.ts'

export type ConformanceOptions = Readonly<{
  /** How many random programs are played, seeds from 0; 50 unless said otherwise. */
  programs?: number
}>

const PROGRAMS_DEFAULT = 50

export function journalConformance(
  name: string,
  engine: JournalEngine,
  { programs = PROGRAMS_DEFAULT }: ConformanceOptions = {},
): void {
  const rules = {
    ...COMMIT_TESTS,
    ...LEDGER_TESTS,
    ...LIMIT_TESTS,
    ...READ_TESTS,
    ...SUBSCRIPTION_TESTS,
    ...CLOSE_TESTS,
    ...(engine.isLasting && LASTING_TESTS),
    ...(engine.canCrash && CRASH_TESTS),
  }
  describe(`${name}: a journal`, () => {
    for (const [rule, shows] of Object.entries(rules)) test(rule, onJournal(engine, shows))

    test(`does what its model does in ${programs} random programs`, async () => {
      for (let seed = 0; seed < programs; seed++) await playJournal(engine, { seed })
    })
  })
}
