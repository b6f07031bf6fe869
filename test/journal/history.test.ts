/** The observer is shown every way in which a journal can break its word; one that sees none proves nothing. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import { memoryJournal } from '../../src/journal/index.ts'
import { dumpOf, type Dump } from './dump.ts'
import { History, type Saying } from './history.ts'
import { load } from './load.ts'

const BATCHES = 300

const { dump, sayings } = await run()

/** A history that knows everything but the answers from batch `from` on. */
function knowing(from: number): History {
  const history = new History()
  for (const saying of sayings)
    if (saying.type !== 'answered' || saying.n < from) history.note(saying)
  return history
}

async function run(): Promise<{ dump: Dump; sayings: Saying[] }> {
  await using journal = await memoryJournal()
  const said: Saying[] = []
  const history = new History()
  await load(journal, { ...history.start(), seed: 7, batches: BATCHES }, (saying) => {
    said.push(saying)
    history.note(saying)
  })
  return { dump: await dumpOf(journal, history.keys), sayings: said }
}

/** The same dump as if the last events had never been written. */
function without(events: number): Dump {
  return { ...dump, position: dump.position - events, events: dump.events.slice(0, -events) }
}

const last = dump.events.at(-1)!
const [first, second] = dump.events
const { queue = [] } = dump.records

const BROKEN: Readonly<Record<string, Readonly<{ found: Dump; says: RegExp }>>> = {
  'an acknowledged batch that is lost': {
    found: { ...dump, events: [], records: {}, answers: [], position: 0 },
    says: /was acknowledged and is lost/,
  },
  'half a batch': { found: without(1), says: /event \d+ of/ },
  'an event that is there twice': {
    found: { ...dump, events: [...dump.events, last] },
    says: /event \d+ of/,
  },
  'two events in the wrong order': {
    found: { ...dump, events: [second!, first!, ...dump.events.slice(2)] },
    says: /event 1 of/,
  },
  'a gap in the positions': {
    found: {
      ...dump,
      events: dump.events.map((event) => ({ ...event, position: event.position + 1 })),
    },
    says: /event 1 of/,
  },
  'an event that was changed': {
    found: { ...dump, events: [{ ...first!, data: `${first!.data}!` }, ...dump.events.slice(1)] },
    says: /event 1 of/,
  },
  'a stream that its own readers see otherwise': {
    found: { ...dump, streams: { ...dump.streams, x: dump.streams['x']!.slice(1) } },
    says: /event of x 1 of/,
  },
  'a record that comes back after it was deleted': {
    found: { ...dump, records: { ...dump.records, queue: [{ key: 'gone', value: '' }, ...queue] } },
    says: /record of queue 1 of/,
  },
  'a record that is lost': {
    found: { ...dump, records: { ...dump.records, queue: queue.slice(1) } },
    says: /record of queue 1 of/,
  },
  'an answer that is forgotten': {
    found: { ...dump, answers: dump.answers.slice(1) },
    says: /answer 1 of/,
  },
  'a snapshot that is lost': {
    found: { ...dump, snapshots: {} },
    says: /snapshot of .* 1 of/,
  },
  'a position that is ahead of the events': {
    found: { ...dump, position: dump.position + 1 },
    says: /position 1 of/,
  },
}

describe('the observer', () => {
  test('agrees with what is so, answered or not', () => {
    assert.deepEqual(knowing(Infinity).settle(dump), { kept: 0, lost: 0 })
    const { kept, lost } = knowing(BATCHES - 50).settle(dump)
    assert.equal(kept + lost, 51)
  })

  for (const [what, { found, says }] of Object.entries(BROKEN))
    test(`sees ${what}`, () => {
      assert.throws(() => knowing(Infinity).settle(found), says)
    })

  test('sees an answer that is not the right one', () => {
    const history = knowing(Infinity)
    const n = BATCHES + 1
    const event = { type: 'e', version: 1, at: 1, data: '' }
    const batch = { streams: [{ stream: 'x', expected: 'none', events: [event] }] } as const
    history.note({ type: 'asked', n, batch })
    history.note({
      type: 'answered',
      n,
      result: { type: 'conflict', stream: 'x', expected: 'none', actual: 1 },
    })
    assert.throws(() => history.settle(dump), /batch 301 was answered/)
  })

  test('sees that somebody was shown what is lost', () => {
    const history = knowing(Infinity)
    history.note({ type: 'seen', position: dump.position + 1, by: 'reader' })
    assert.throws(() => history.settle(dump), /had seen position/)
  })

  test('sees that somebody was answered by what is lost', () => {
    const lost = {
      streams: [{ stream: 'new', expected: 'none', events: [{ ...first!, data: '#301#' }] }],
    } as const
    const history = knowing(Infinity)
    history.note({ type: 'asked', n: 301, batch: lost })
    history.note({ type: 'asked', n: 302, batch: lost })
    history.note({
      type: 'answered',
      n: 302,
      result: { type: 'conflict', stream: 'new', expected: 'none', actual: 1 },
    })
    assert.throws(() => history.settle(dump), /batch 302 was answered/)
  })

  test('sees a fence whose token does not grow', () => {
    const history = knowing(Infinity)
    assert.throws(() => history.note({ type: 'took', fence: 'load', token: 1 }), /from 1 to 1/)
  })
})
