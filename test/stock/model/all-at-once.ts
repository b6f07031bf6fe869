/** As many moves as anybody wants around a ring of places, all of them asked for at the same moment. */
import assert from 'node:assert/strict'

import { world } from '../../../src/testkit/index.ts'
import type { Request } from './books.ts'
import { judge } from './judge.ts'
import { Subject } from './subject.ts'
import type { Issued } from './verdict.ts'

const STOCK = 100_000_000n
const PIECE = 1_000_000n
const DEADLINE_MS = 600_000

/** Every place sends `count` pieces to the next; a place that is alone sends them to itself. */
export async function allAtOnce(ring: readonly string[], count: number): Promise<void> {
  const earth = world({ seed: ring.length, stepsMax: 1_000_000 })
  try {
    const subject = new Subject(earth)
    await subject.start()
    const issued: Issued[] = []
    const ask = async (requestId: string, request: Request): Promise<void> => {
      const each: Issued = { requestId, request, sendings: [] }
      issued.push(each)
      each.sendings.push({ known: 0, life: 1, sent: 0, answered: 1, outcome: { type: 'pending' } })
      each.sendings[0]!.outcome = await subject.send(requestId, request, DEADLINE_MS)
    }
    const at = earth.clock.now()
    await earth.until(
      Promise.all(
        ring.map((location) =>
          ask(`first-${location}`, {
            type: 'delivery',
            at,
            location,
            lines: [{ product: 'p', quantity: STOCK }],
          }),
        ),
      ),
    )
    const moves: Promise<void>[] = []
    for (let n = 0; n < count; n++)
      for (const [place, location] of ring.entries()) {
        const to = ring[(place + 1) % ring.length]!
        const move: Request = { type: 'move', at, location, to, product: 'p', quantity: PIECE }
        moves.push(ask(`${location}-${n}`, move))
      }
    await earth.until(Promise.all(moves))
    assert.deepEqual(await judge(earth, subject, issued), [])
    const code = ring.length === 1 ? 'same-location' : undefined
    for (const { requestId, sendings } of issued.slice(ring.length)) {
      const { outcome } = sendings[0]!
      const said = outcome.type === 'refused' ? outcome.code : undefined
      // Whoever has sent all there is has to wait for what comes back; nobody else is refused.
      if (said !== 'insufficient-stock') assert.equal(said, code, requestId)
    }
  } finally {
    await earth.stop()
  }
}
