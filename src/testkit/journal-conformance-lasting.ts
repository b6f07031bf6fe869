/** The part of the conformance suite about closing, opening again, and crashes. */
import assert from 'node:assert/strict'

import type { Journal } from '../journal/index.ts'
import { checkJournal } from './check-journal.ts'
import {
  append,
  dataOf,
  everything,
  partsOf,
  RETENTION,
  type Fixture,
  type JournalTests,
} from './journal-conformance-fixture.ts'
import { hop } from './settling.ts'

export const CLOSE_TESTS: JournalTests = {
  async 'makes durable what it has accepted before it is closed, and refuses everything afterwards'({
    journal,
  }) {
    const accepted = [everything('x'), everything('y')].map((batch) => journal.commit(batch))
    const closing = journal.close()
    const late = assert.rejects(journal.commit(everything('z')), { code: 'journal-closed' })
    for (const { type } of await Promise.all(accepted)) assert.equal(type, 'committed')
    await closing
    await late
    await journal.close()
    assert.equal(journal.state, 'closed')
    assert.equal(journal.stats().state, 'closed')
    for (const ask of [
      () => journal.commit({}),
      () => journal.takeFence('f'),
      () => journal.readAll(),
      () => journal.readStream('x/1'),
      () => journal.position(),
      () => journal.version('x/1'),
      () => journal.streams(''),
      () => journal.readRecords('things', ''),
      () => journal.getRecords('things', ['x']),
      () => journal.lookup('x'),
      () => journal.snapshots('x/1', 'f'),
      async () => journal.subscribe({ after: 0, handle: () => undefined }),
    ])
      await assert.rejects(ask, { code: 'journal-closed' })
  },
}

export const LASTING_TESTS: JournalTests = {
  async 'has everything when it is opened again'({ journal, clock, reopen }) {
    await journal.commit(everything('x'))
    await journal.takeFence('writer')
    clock.advance(1_000)
    await journal.commit(everything('y'))
    void journal.commit(everything('z')) // accepted, so it is there as well
    const again = await reopen()
    for (const name of ['x', 'y', 'z']) assert.equal(await partsOf(again, name), 'all')
    assert.equal(await again.takeFence('writer'), 2)
    assert.deepEqual(await again.commit(everything('x')), {
      type: 'duplicate',
      key: 'x',
      response: 'done',
      position: 3,
    })
    assert.deepEqual(await again.commit({ streams: [append('x/1', 'c')] }), {
      type: 'committed',
      position: 10,
      versions: [3],
    })
    clock.advance(RETENTION - 999)
    assert.equal(await again.lookup('x'), undefined, 'its time is over')
    assert.equal((await again.lookup('y'))?.response, 'done')
    assert.equal((await checkJournal(again)).events.length, 10)
  },

  async 'lets a subscription go on where the one before was'({ journal, reopen }) {
    await journal.commit({ streams: [append('a', '1', '2')] })
    const seen: string[] = []
    const follow = async (of: Journal, after: number): Promise<number> => {
      const reader = of.subscribe({
        after,
        handle: (events) => void seen.push(...events.map((event) => event.data)),
      })
      const last = await of.position()
      while (reader.position < last) await hop()
      await reader.close()
      return reader.position
    }
    const position = await follow(journal, 0)
    await journal.commit({ streams: [append('a', '3')] })
    const again = await reopen()
    await again.commit({ streams: [append('a', '4')] })
    await follow(again, position)
    assert.deepEqual(seen, ['1', '2', '3', '4'])
  },
}

export const CRASH_TESTS: JournalTests = {
  async 'has after a crash what it had acknowledged, once, and each other batch as a whole or not at all'(
    fixture,
  ) {
    let { journal } = fixture
    const acknowledged = new Set<string>()
    const called: string[] = []
    for (let round = 0; round < 20; round++) {
      for (let n = 0; n < 30; n++) {
        const name = `${round}-${n}`
        called.push(name)
        journal.commit(everything(name)).then(
          () => acknowledged.add(name),
          () => undefined,
        )
        if (n % 7 === round % 7) await hop()
      }
      for (let n = round % 4; n > 0; n--) await hop()
      journal = await crashed(fixture)
    }
    const parts = new Map<string, string>()
    for (const name of called) parts.set(name, await partsOf(journal, name))
    for (const name of acknowledged) assert.equal(parts.get(name), 'all', name)
    for (const [name, there] of parts) assert.ok(/^(?:all|none)$/.test(there), `${name}: ${there}`)
    const whole = [...parts.values()].filter((there) => there === 'all').length
    assert.equal((await checkJournal(journal)).events.length, 3 * whole)
  },

  async 'tells by the ledger what came of a commit whose outcome was unknown, and a retry has one effect'(
    fixture,
  ) {
    let { journal } = fixture
    for (let round = 0; round < 20; round++) {
      const batch = everything(`r${round}`)
      void journal.commit(batch).catch(() => undefined)
      for (let n = round % 4; n > 0; n--) await hop()
      journal = await crashed(fixture)
      const answer = await journal.lookup(`r${round}`)
      const retried = await journal.commit(batch)
      assert.equal(retried.type, answer === undefined ? 'committed' : 'duplicate')
      assert.deepEqual(await dataOf(journal, `r${round}/1`), ['a', 'b'])
    }
    assert.equal((await checkJournal(journal)).events.length, 60)
  },

  async 'never gives a token twice'(fixture) {
    let { journal } = fixture
    const tokens: number[] = []
    for (let round = 0; round < 10; round++) {
      tokens.push(await journal.takeFence('writer'))
      void journal.takeFence('writer').catch(() => undefined)
      journal = await crashed(fixture)
    }
    tokens.push(await journal.takeFence('writer'))
    for (const [n, token] of tokens.entries()) assert.ok(n === 0 || token > tokens[n - 1]!)
  },
}

async function crashed({ storage, reopen }: Fixture): Promise<Journal> {
  await storage.crash!()
  return reopen()
}
