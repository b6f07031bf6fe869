/** Whether what is in the journal at the end is one whole: histories, records, and what leads to them. */
import { isDeepStrictEqual } from 'node:util'

import type { Journal } from '../../../src/journal/index.ts'
import { fold, isLive, type TestRecord } from '../../../src/probe/record.ts'
import { eventOf, testOfStream, TESTS } from '../../../src/probe/register.ts'
import type { Book } from './book.ts'

/** What is wrong with it. */
export async function judgeContent(journal: Journal, book: Book): Promise<string | undefined> {
  const records = new Map<string, TestRecord>()
  for (const { key, value } of await journal.readRecords(TESTS, ''))
    records.set(key, JSON.parse(value) as TestRecord)
  const all = await journal.readAll({ limit: 1_000 })
  const streams = Map.groupBy(all, ({ stream }) => testOfStream(stream) ?? '')
  for (const [testId, stored] of streams) {
    const events = stored.map(({ data }) => eventOf(data))
    const folded = fold(testId, events)
    if (!isDeepStrictEqual(folded, records.get(testId)))
      return `the record of ${testId} is not its history`
    if (folded !== undefined && isLive(folded)) return `${testId} is live at the end`
    records.delete(testId)
  }
  if (records.size > 0) return `${[...records.keys()].join()}: records without a history`
  const live = await journal.readRecords('probe-live', '')
  if (live.length > 0) return `${live.length} tests are looked after for ever`
  const ordered = (await journal.readRecords('probe-order', '')).map(({ value }) => value)
  const present = [...book.tests.values()].filter(({ isForgotten }) => !isForgotten)
  const ids = present.map(({ testId }) => testId)
  return isDeepStrictEqual(ordered.toSorted(), ids.toSorted())
    ? undefined
    : 'the order of tests is not of all of them'
}
