import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import { estate } from '../../test/stock/estate.ts'
import { HISTORY_EVENTS_MAX } from './past.ts'
import { stockPot } from './pot.ts'

const DC = { locationId: 'DC', productId: 'p' }

describe('history', () => {
  test('of so many events is told, and of one more is not', async () => {
    await using on = await estate()
    const event = {
      type: 'sold',
      version: 1,
      at: 0,
      effectiveAt: 0,
      data: JSON.stringify({ requestId: 'r', effectiveAt: 0, quantity: '1' }),
    }
    const events = Array.from({ length: 5_000 }, () => event)
    const stream = `${stockPot.type}/p|DC`
    for (let n = 0; n < HISTORY_EVENTS_MAX; n += 5_000)
      await on.journal.commit({
        streams: [{ stream, expected: 'any', events }],
      })
    const last = { order: 'recorded', after: `0.${HISTORY_EVENTS_MAX - 1}` } as const
    const whole = await on.until(on.stock.history({ ...DC, ...last }))
    assert.ok(whole.ok)
    assert.equal(whole.items[0]?.pendingAdjustment, -HISTORY_EVENTS_MAX)
    await on.journal.commit({ streams: [{ stream, expected: 'any', events: [event] }] })
    const answer = await on.until(on.stock.history({ ...DC, ...last }))
    assert.ok(!answer.ok && answer.code === 'history-too-long')
    const why = await on.until(on.stock.explain({ ...DC, from: 0, to: HISTORY_EVENTS_MAX + 1 }))
    assert.ok(!why.ok && why.code === 'history-too-long')
  })
})
