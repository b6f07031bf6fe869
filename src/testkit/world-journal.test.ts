import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import type { CommitResult, Journal } from '../journal/index.ts'
import { receive, type Behavior, type Ref } from '../kernel/index.ts'
import { checkJournal } from './check-journal.ts'
import { explore } from './explore.ts'
import { world } from './world.ts'

type Note = Readonly<{ text: string } | { stored: CommitResult['type'] | 'lost' }>

/** Writes what it is told into a journal, one note at a time, and says what came of it. */
function notary(journal: Journal, replies: Ref<string>): Behavior<Note> {
  return receive((ctx, note) => {
    if ('stored' in note) return void replies.tell(note.stored)
    const event = { type: 'noted', version: 1, at: 0, data: note.text }
    const streams = [{ stream: 'notes', expected: 'any' as const, events: [event] }]
    return ctx.pipe(
      journal.commit({ streams }),
      ({ type }) => ({ stored: type }),
      () => ({ stored: 'lost' }),
    )
  })
}

describe('a journal of a world', () => {
  test('does the same with the same seed, also over a bad disk', async () => {
    const hashes = new Set<string>()
    const { twice } = await explore(
      100,
      async (w) => {
        const replies = w.inbox<string>('replies')
        const journal = await w.until(w.journal())
        const writer = w.system.spawn('notary', notary(journal, replies))
        for (let n = 0; n < 10; n++) writer.tell({ text: `note ${n}` })
        await w.until(() => replies.messages.length === 10)
        hashes.add(w.traceHash)
        await w.until(journal.close())
      },
      { faults: ['bad-disks', 'bad-journals'] },
    )
    assert.equal(twice, 100)
    assert.ok(hashes.size > 30, `${hashes.size} ways it went`)
  })

  test('has what it had acknowledged when its disk has crashed', async () => {
    for (let seed = 0; seed < 50; seed++) {
      await using w = world({ seed, diskFaults: ['slow'] })
      const disk = w.disk()
      const replies = w.inbox<string>('replies')
      const journal = await w.until(w.journal(disk))
      const writer = w.system.spawn('notary', notary(journal, replies))
      for (let n = 0; n < 10; n++) writer.tell({ text: `note ${n}` })
      await w.advance(seed * 20)
      disk.crash()
      const stored = replies.messages.filter((reply) => reply === 'committed').length
      const again = await w.until(w.journal(disk))
      const { events } = await w.until(checkJournal(again))
      assert.ok(events.length >= stored, `${events.length} of ${stored}`)
      assert.deepEqual(
        events.map(({ data }) => data),
        events.map((_, n) => `note ${n}`),
      )
    }
  })

  test('is on a disk of its own unless it is told which', async () => {
    await using w = world()
    const [one, other] = [await w.journal(), await w.journal()]
    await one.commit({ records: [{ collection: 'c', key: 'k', value: '' }] })
    assert.deepEqual(await other.readRecords('c', ''), [])
  })
})
