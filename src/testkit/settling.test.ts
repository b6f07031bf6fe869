import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import { hop, settling } from './settling.ts'

describe('settling', () => {
  test('a hop lets a chain of promises go on to its end', async () => {
    const log: number[] = []
    void (async () => {
      for (let n = 0; n < 1_000; n++) {
        await Promise.resolve()
        log.push(n)
      }
    })()

    await hop()

    assert.equal(log.length, 1_000)
  })

  test('a promise is looked at without waiting, and its rejection is nobody else’s', async () => {
    const never = settling(new Promise(() => undefined))
    const kept = settling(Promise.resolve(1))
    const broken = settling(Promise.reject(new Error('x')))
    assert.equal(kept(), false)

    await hop()

    assert.deepEqual([never(), kept(), broken()], [false, true, true])
  })
})
