/** What the conformance suite cannot time: what happens while a page is being read. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import type { Journal, StoredEvent } from './journal.ts'
import { Subscriptions } from './subscription.ts'

type Read = Readonly<{
  asked: Parameters<Journal['readAll']>[0]
  answer: (events: readonly StoredEvent[]) => void
}>

/** Subscriptions to a journal whose reads are answered by hand. */
function byHand(): { subscriptions: Subscriptions; reads: Read[] } {
  const reads: Read[] = []
  const subscriptions = new Subscriptions((asked) => {
    const { promise, resolve } = Promise.withResolvers<readonly StoredEvent[]>()
    reads.push({ asked, answer: resolve })
    return promise
  })
  return { subscriptions, reads }
}

function eventAt(position: number): StoredEvent {
  return { type: 't', version: 1, at: 0, data: '', stream: 's', seq: position, position, batch: 1 }
}

async function rest(): Promise<void> {
  for (let n = 0; n < 20; n++) await Promise.resolve()
}

describe('a subscription', () => {
  test('hands out nothing that is read when it has been closed', async () => {
    const { subscriptions, reads } = byHand()
    let handled = 0
    const reader = subscriptions.add({ after: 0, handle: () => void handled++ })
    await rest()
    const closing = reader.close()
    reads[0]!.answer([eventAt(1)])
    await closing
    await reader.ended
    assert.equal(handled, 0)
    assert.equal(reader.position, 0)
  })

  test('reads again for what was committed while it read, and only then', async () => {
    const { subscriptions, reads } = byHand()
    const reader = subscriptions.add({ after: 4, limit: 2, handle: () => undefined })
    await rest()
    subscriptions.wake() // before the read is answered, and perhaps not seen by it
    reads[0]!.answer([])
    await rest()
    assert.deepEqual(
      reads.map(({ asked }) => asked),
      [
        { after: 4, limit: 2 },
        { after: 4, limit: 2 },
      ],
    )
    reads[1]!.answer([])
    await rest()
    assert.equal(reads.length, 2)
    subscriptions.wake()
    await rest()
    assert.equal(reads.length, 3)
    reads[2]!.answer([])
    await reader.close()
  })

  test('ends with what could not be read', async () => {
    const broken = new Subscriptions(() => Promise.reject(new Error('unreadable')))
    const reader = broken.add({ after: 0, handle: () => undefined })
    await assert.rejects(reader.ended, /unreadable/)
    await reader.close()
  })

  test('ends with the others, each after the page in hand', async () => {
    const { subscriptions, reads } = byHand()
    const gate = Promise.withResolvers<void>()
    const busy = subscriptions.add({ after: 0, handle: () => gate.promise })
    const idle = subscriptions.add({ after: 0, handle: () => undefined })
    await rest()
    reads[0]!.answer([eventAt(1)])
    reads[1]!.answer([])
    await rest()
    subscriptions.close()
    await idle.ended
    assert.equal(busy.position, 0)
    gate.resolve()
    await busy.ended
    assert.equal(busy.position, 1)
  })
})
