/** Defects that the model found, each as the smallest program that showed it. */
import assert from 'node:assert/strict'
import { test } from 'node:test'

import {
  capacity,
  createSteppedSystem,
  createSystem,
  manual,
  receive,
  restart,
  retry,
} from '../../src/kernel/index.ts'
import { afterIo } from '../../src/std/index.ts'
import { HandClock } from './hand-clock.ts'

/** Everything that can happen by itself has happened. */
function quiet(): Promise<void> {
  return new Promise<void>(afterIo)
}

function throwing(): void {
  throw new Error('as planned')
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

test('a message that waits for its retry when its actor stops is a dead letter', () => {
  const system = createSteppedSystem({ clock: new HandClock() })
  const actor = system.spawn('actor', receive<string>(throwing), {
    supervision: retry({ backoff: { minMs: 10 } }),
  })
  actor.tell('again')
  while (system.step());

  actor.stop()
  while (system.step());

  assert.deepEqual(
    system.deadLetters.map(({ message, reason }) => [message, reason]),
    [['again', 'stopped']],
  )
})

test('a stop that comes while the onStop of a restart is on its way drops the tokens too', async () => {
  const system = createSteppedSystem({ clock: new HandClock() })
  const { promise, resolve } = Promise.withResolvers<void>()
  const actor = system.spawn('actor', receive<string>(throwing, { onStop: () => promise }), {
    supervision: restart(),
  })
  actor.tell('fail')
  while (system.step());
  const token = actor.suspend('user', manual())

  actor.stop()
  resolve()
  await quiet()
  while (system.step());

  assert.equal(token.active, false)
  assert.equal(system.metrics().suspended_now, 0)
})

test('an actor that ends is refused by a full mailbox, since it can no longer be held up', () => {
  const system = createSteppedSystem({ clock: new HandClock() })
  const answers: unknown[] = []
  const target = system.spawn(
    'target',
    receive<string>(() => undefined),
    {
      bound: 1,
      overflow: 'suspend-sender',
    },
  )
  const sender = system.spawn(
    'sender',
    receive<string>((_, message) => void target.tell(message), {
      onStop: () => void answers.push(target.tell('farewell')?.code),
    }),
  )
  const rest = target.suspend('user', manual())
  target.tell('first')
  sender.tell('held back')
  while (system.step());

  sender.stop()
  while (system.step());
  rest.resume()
  while (system.step());

  assert.deepEqual(answers, ['mailbox-full'])
  assert.deepEqual(
    system.deadLetters.map(({ message }) => message),
    ['held back', 'farewell'],
  )
})
