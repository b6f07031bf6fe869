/** The part of the conformance suite about subscriptions. */
import assert from 'node:assert/strict'

import type { Subscription } from '../journal/index.ts'
import { append, type JournalTests } from './journal-conformance-fixture.ts'
import { hop } from './settling.ts'

export const SUBSCRIPTION_TESTS: JournalTests = {
  async 'hands out every event once and in order, those that are there and those that come'({
    journal,
  }) {
    await journal.commit({ streams: [append('a', '1', '2', '3')] })
    const seen: number[] = []
    const pages: number[] = []
    await using reader = journal.subscribe({
      after: 1,
      limit: 2,
      handle(events) {
        seen.push(...events.map(({ position }) => position))
        pages.push(events.length)
      },
    })
    assert.equal(reader.position, 1)
    await until(() => seen.length === 2)
    for (let n = 0; n < 50; n++) {
      void journal.commit({ streams: [append(`s${n % 3}`, 'x')] })
      if (n % 5 === 0) await hop()
    }
    await until(() => seen.length === 52)
    assert.deepEqual(
      seen,
      Array.from({ length: 52 }, (_, n) => n + 2),
    )
    assert.ok(Math.max(...pages) <= 2)
    await until(() => reader.position === 53)
  },

  async 'reads no further while a handler has not settled, and goes on where it was'({ journal }) {
    await journal.commit({ streams: [append('a', '1', '2', '3', '4')] })
    const seen: string[] = []
    const gate = Promise.withResolvers<void>()
    const first = journal.subscribe({
      after: 0,
      limit: 2,
      handle: async (events) => {
        seen.push(...events.map(({ data }) => data))
        await gate.promise
      },
    })
    await until(() => seen.length === 2)
    for (let n = 0; n < 20; n++) await hop()
    assert.equal(seen.length, 2)
    assert.equal(first.position, 0, 'a page counts when it was handled')
    const closing = first.close()
    gate.resolve()
    await closing
    await first.ended
    assert.equal(first.position, 2)
    await using second = journal.subscribe({
      after: first.position,
      handle: (events) => void seen.push(...events.map(({ data }) => data)),
    })
    await until(() => second.position === 4)
    assert.deepEqual(seen, ['1', '2', '3', '4'])
  },

  async 'ends a subscription with what its handler threw, and no other'({ journal }) {
    let handled = 0
    await using other = journal.subscribe({ after: 0, handle: () => void handled++ })
    const broken = journal.subscribe({
      after: 0,
      handle: () => Promise.reject(new Error('broken handler')),
    })
    const ended = assert.rejects(broken.ended, /broken handler/)
    await journal.commit({ streams: [append('a', '1')] })
    await ended
    assert.equal(broken.position, 0)
    await broken.close()
    await journal.commit({ streams: [append('a', '2')] })
    await until(() => other.position === 2)
    assert.ok(handled >= 1)
  },

  async 'lets a handler commit, close its own subscription, and ends all when it is closed'({
    journal,
  }) {
    const own: { reader?: Subscription } = {}
    own.reader = journal.subscribe({
      after: 0,
      async handle() {
        await journal.commit({ records: [{ collection: 'seen', key: 'a', value: '' }] })
        void own.reader!.close()
      },
    })
    const idle = journal.subscribe({ after: 0, handle: () => undefined })
    await journal.commit({ streams: [append('a', '1')] })
    await own.reader.ended
    assert.equal(own.reader.position, 1)
    assert.equal((await journal.getRecords('seen', ['a'])).length, 1)
    await journal.close()
    await idle.ended
  },
}

async function until(holds: () => boolean): Promise<void> {
  while (!holds()) await hop()
}
