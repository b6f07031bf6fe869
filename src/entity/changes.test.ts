import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import { memoryJournal, type Journal, type NewEvent } from '../journal/index.ts'
import { changes } from './changes.ts'
import type { Change } from './entities.ts'
import type { AnyEntity } from './entity.ts'

const account: AnyEntity = {
  type: 'account',
  version: 2,
  upcast: { 1: (event) => ({ type: `${event.type}-today` }) },
}

function happened(type: string, version = 2): NewEvent {
  return { type, version, at: 1, data: '{}' }
}

async function append(journal: Journal, stream: string, ...events: NewEvent[]): Promise<void> {
  await journal.commit({ streams: [{ stream, expected: 'any', events }] })
}

describe('the change feed', () => {
  test('gives out the events of its entities, brought to today and in order', async () => {
    const journal = await memoryJournal()
    await append(journal, 'account/a', happened('opened', 1), happened('paid'))
    await append(journal, 'cart/a', happened('opened'))
    const seen: Change<{ type: string }>[] = []
    await using feed = changes<{ type: string }>(journal, account, {
      after: 0,
      handle: (some) => void seen.push(...some),
    })
    await append(journal, 'account/b', happened('opened'))
    await append(journal, 'cart/a', happened('paid'))
    await idle()
    assert.deepEqual(
      seen.map(({ key, event, stored }) => [key.id, event.type, stored.position]),
      [
        ['a', 'opened-today', 1],
        ['a', 'paid', 2],
        ['b', 'opened', 4],
      ],
    )
    assert.equal(feed.position, 5)
  })

  test('ends with an event that it cannot read', async () => {
    const journal = await memoryJournal()
    await append(journal, 'account/a', happened('opened', 3))
    const feed = changes(journal, account, { after: 0, handle: () => assert.fail() })
    await assert.rejects(feed.ended, { code: 'unknown-event' })
  })
})

/** Until everything that needs no time has happened. */
async function idle(): Promise<void> {
  for (let n = 0; n < 100; n++) await Promise.resolve()
}
