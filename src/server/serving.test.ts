import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import { FAILED_EXIT_CODE } from '../journal/index.ts'
import { Accident, fault, silentLog } from '../std/index.ts'
import { virtualClock } from '../testkit/index.ts'
import type { Server, Stopped } from './compose.ts'
import { Life } from './serving.ts'

const STOP_MS = 8_000

/** A process whose end can be seen, and a server that ends when it is told to. */
function process() {
  const clock = virtualClock()
  const listeners = new Map<string, (error: unknown) => void>()
  const exits: number[] = []
  const stopped = Promise.withResolvers<Stopped>()
  const calls: string[] = []
  const life = new Life({
    log: silentLog,
    clock,
    stopMs: STOP_MS,
    host: {
      on: (event, listener) => listeners.set(event, listener),
      exit: (code) => exits.push(code),
    },
  })
  const server = {
    http: { close: (graceMs: number) => (calls.push(`http ${graceMs}`), Promise.resolve()) },
    unfinished: () => ({ commits: 3, commands: 4 }),
    stop: () => (calls.push('stop'), stopped.promise),
  }
  life.take(server as unknown as Server)
  return {
    life,
    clock,
    exits,
    calls,
    send: (event: string, error?: unknown) => listeners.get(event)!(error),
    finish: async () => {
      stopped.resolve({ rejected: 0, overdue: [], actors: [] })
      await stopped.promise
      await Promise.resolve()
    },
  }
}

describe('a serving process', () => {
  for (const signal of ['SIGTERM', 'SIGINT'])
    test(`ends in order and with 0 after ${signal}`, async () => {
      const { send, exits, calls, finish } = process()
      send(signal)
      assert.deepEqual(calls, ['stop'])
      assert.deepEqual(exits, [])
      await finish()
      assert.deepEqual(exits, [0])
    })

  test('ends at once when a second signal comes, with 128 and its number', () => {
    for (const [second, code] of [
      ['SIGINT', 130],
      ['SIGTERM', 143],
    ] as const) {
      const { send, exits, clock } = process()
      send('SIGTERM')
      clock.advance(200)
      send(second)
      assert.deepEqual(exits, [code])
    }
  })

  test('takes the same signal twice within a moment for one', async () => {
    const { send, exits, clock, finish } = process()
    send('SIGINT')
    clock.advance(199)
    send('SIGINT')
    assert.deepEqual(exits, [])
    send('SIGTERM')
    assert.deepEqual(exits, [143])
    await finish()
  })

  test('does not wait for what does not end', () => {
    const { send, exits, clock } = process()
    send('SIGTERM')
    clock.advance(STOP_MS + 999)
    assert.deepEqual(exits, [])
    clock.advance(1)
    assert.deepEqual(exits, [1])
  })

  for (const event of ['uncaughtException', 'unhandledRejection'])
    test(`tries to end in order after an ${event}, and ends with 1`, async () => {
      const { send, exits, calls, finish } = process()
      send(event, new Error('nobody caught it'))
      send(event, new Error('and another one while it ends'))
      assert.deepEqual(calls, ['stop'])
      await finish()
      assert.deepEqual(exits, [1])
    })

  test('lets the refusals out and ends with 70 when the disk has failed', async () => {
    const { life, exits, calls } = process()
    life.onFailed(new Accident(fault('unknown-outcome', 'a flush has failed')))
    assert.deepEqual(calls, ['http 500'])
    await Promise.resolve()
    await Promise.resolve()
    assert.deepEqual(exits, [FAILED_EXIT_CODE])
  })
})
