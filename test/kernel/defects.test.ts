/** Defects that the model found, each as the smallest program that showed it. */
import assert from 'node:assert/strict'
import { test } from 'node:test'

import { createSystem, receive } from '../../src/kernel/index.ts'
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
