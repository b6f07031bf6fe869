/** Defects that the model found, each as the smallest program that showed it. */
import assert from 'node:assert/strict'
import { test } from 'node:test'

import { capacity, createSystem, manual, receive } from '../../src/kernel/index.ts'
import { afterIo } from '../../src/std/index.ts'

/** Everything that can happen by itself has happened. */
function quiet(): Promise<void> {
  return new Promise<void>(afterIo)
}

test('a watcher is run though it was given the mailbox of the actor whose end it learns of', async () => {
  await using system = createSystem()
  const seen: string[] = []
  const target = system.spawn(
    'target',
    receive<string>(() => undefined, { onStop: () => undefined }),
  )
  const watcher = system.spawn(
    'watcher',
    receive<string>((ctx, message) => {
      seen.push(message)
      if (message === 'watch') ctx.watch(target, 'ended')
    }),
  )
  watcher.tell('watch')
  await quiet()

  target.stop()
  await quiet()

  assert.deepEqual(seen, ['watch', 'ended'])
})

test('a turn keeps its mailbox though the last who waited for room in it gives up', async () => {
  await using system = createSystem()
  const strange: string[] = []
  // Again and again: whether the turn goes on after its last message depends on the fuel that is left.
  for (let round = 0; round < 100; round++) {
    const other = system.spawnAnonymous(receive<string>(() => undefined))
    const waiter = system.spawnAnonymous(receive<string>(() => undefined))
    const target = system.spawnAnonymous(
      receive<string>((_, message) => {
        if (message === 'for other') strange.push(message)
        if (message !== 'last') return
        wait.resume() // nobody waits any more, and nothing is left: the mailbox could go
        other.suspend('user', manual())
        other.tell('for other')
      }),
      { bound: 64 },
    )
    const rest = target.suspend('user', manual())
    for (const message of ['first', 'last']) target.tell(message)
    const wait = waiter.suspend('user', capacity(target, 64))
    rest.resume()
    await quiet()
  }

  assert.deepEqual(strange, [])
})
