/** The borders of the rings: what grows while its head is in the middle keeps every message and its order. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import { createSystem, manual, receive, type Ref } from '../../src/kernel/index.ts'
import { afterIo } from '../../src/std/index.ts'

const ioTurn = (): Promise<void> => new Promise(afterIo)

async function until(holds: () => boolean): Promise<void> {
  for (let turns = 0; !holds(); turns++) {
    assert.ok(turns < 10_000, 'it never came true')
    await ioTurn()
  }
}

describe('the express lane', () => {
  test('grows in the middle of a turn, with its head anywhere, and keeps every order', async () => {
    await using system = createSystem()
    for (const before of [0, 1, 63, 500, 1_023]) {
      const seen = Array.from({ length: 100 }, (): number[] => [])
      const sinks = seen.map((each) =>
        system.spawnAnonymous(receive<number>((_ctx, n) => void each.push(n))),
      )
      const walker = system.spawnAnonymous(
        receive<number>((ctx, left) => {
          if (left > 0) ctx.self.tell(left - 1)
          else for (let n = 0; n < 60; n++) for (const sink of sinks) sink.tell(n)
        }),
      )

      walker.tell(before) // walks the head so far along the ring
      await until(() => seen.every((each) => each.length === 60))

      for (const each of seen)
        assert.deepEqual(
          each,
          Array.from({ length: 60 }, (_, n) => n),
        )
    }
  })

  test('mail of a suspended actor surfaces from it, and runs first when it is resumed', async () => {
    await using system = createSystem()
    const seen: number[] = []
    const actor = system.spawnAnonymous(receive<number>((_ctx, n) => void seen.push(n)))
    for (let n = 0; n < 10; n++) actor.tell(n) // on the express lane
    const token = actor.suspend('user', manual())
    for (let n = 10; n < 100; n++) actor.tell(n) // in the mailbox
    await ioTurn()
    assert.deepEqual(seen, [])

    token.resume()
    for (let n = 100; n < 110; n++) actor.tell(n) // behind both
    await until(() => seen.length === 110)
    for (let n = 110; n < 120; n++) actor.tell(n) // on the express lane again
    await until(() => seen.length === 120)

    assert.deepEqual(
      seen,
      Array.from({ length: 120 }, (_, n) => n),
    )
  })
})

describe('a mailbox', () => {
  test('that is filled while it is emptied keeps the order across every chunk', async () => {
    await using system = createSystem()
    const seen: number[] = []
    let next = 0
    const feed = (to: Ref<number>, count: number): void => {
      for (let n = 0; n < count; n++) to.tell(next++)
    }
    const actor = system.spawnAnonymous(
      receive<number>((ctx, n) => {
        seen.push(n)
        if (n % 7 === 0 && next < 20_000) feed(ctx.self, 12)
      }),
      { bound: 100_000 },
    )

    feed(actor, 16 + 1_024 + 1)
    await until(() => seen.length === next)

    assert.ok(next >= 20_000)
    assert.deepEqual(
      seen,
      Array.from({ length: next }, (_, n) => n),
    )
  })
})
