import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import { afterIo, random } from '../std/index.ts'
import { virtualClock } from '../testkit/index.ts'
import {
  createSteppedSystem,
  receive,
  restart,
  resume,
  type Context,
  type Handle,
  type SpawnOptions,
  type SteppedSystem,
} from './index.ts'

type Order = (ctx: Context<string | Order>) => void

type Rig = Readonly<{
  system: SteppedSystem
  actor: Handle<string | Order>
  notes: string[]
  run: () => void
  settle: () => Promise<void>
}>

/** An actor that does what it is ordered to and notes everything else. */
function rig(options: SpawnOptions<string | Order> = {}): Rig {
  const system = createSteppedSystem({ clock: virtualClock(), random: random(1) })
  const notes: string[] = []
  const actor = system.spawn(
    'actor',
    receive<string | Order>((ctx, message) => {
      if (typeof message === 'function') message(ctx)
      else notes.push(message)
    }),
    options,
  )
  const run = (): void => {
    while (system.step());
  }
  return {
    system,
    actor,
    notes,
    run,
    async settle() {
      do {
        run()
        await new Promise<void>(afterIo)
      } while (system.readyDepth > 0)
    },
  }
}

const FAIL: Order = () => {
  throw new Error('no')
}

const AT_ONCE = { backoff: { minMs: 0, jitter: 0 } }

/** An order to pipe the promise into messages that say what came of it. */
function piping(promise: PromiseLike<unknown>): Order {
  return (ctx) =>
    ctx.pipe(
      promise,
      (value) => `value ${String(value)}`,
      (error) => `error ${String(error)}`,
    )
}

describe('pipe', () => {
  test('turns a value into a message', async () => {
    const { actor, settle, notes } = rig()
    actor.tell(piping(Promise.resolve(7)))
    await settle()

    assert.deepEqual(notes, ['value 7'])
  })

  test('turns a rejection into a message, whatever was thrown', async () => {
    const { actor, settle, notes } = rig()
    for (const reason of ['no', undefined, null]) {
      // oxlint-disable-next-line typescript/prefer-promise-reject-errors
      actor.tell(piping(Promise.reject(reason)))
    }
    await settle()

    assert.deepEqual(notes, ['error no', 'error undefined', 'error null'])
  })

  test('does not hold the actor: its mail goes on meanwhile', async () => {
    const { actor, settle, notes } = rig()
    const { promise, resolve } = Promise.withResolvers<number>()
    actor.tell(piping(promise))
    actor.tell('meanwhile')
    await settle()
    assert.deepEqual(notes, ['meanwhile'])

    resolve(1)
    actor.tell('before')
    await settle()
    assert.deepEqual(notes, ['meanwhile', 'before', 'value 1'])
  })

  test('exceeds the bound of the mailbox rather than being lost', async () => {
    const { actor, settle, notes, run } = rig({ bound: 1 })
    const { promise, resolve } = Promise.withResolvers<number>()
    actor.tell(piping(promise))
    run()
    actor.tell('fills')
    resolve(1)
    await new Promise<void>(afterIo)
    assert.equal(actor.tell('too much')?.code, 'mailbox-full')
    await settle()

    assert.deepEqual(notes, ['fills', 'value 1'])
  })

  test('makes its message in a turn of the actor, where a maker that throws is supervised', async () => {
    const { actor, settle, notes, system } = rig({ supervision: resume() })
    actor.tell((ctx) =>
      ctx.pipe(
        Promise.resolve(1),
        () => {
          throw new Error('no')
        },
        () => 'not reached',
      ),
    )
    await settle()
    actor.tell('next')
    await settle()

    assert.deepEqual(notes, ['next'])
    assert.equal(system.metrics().failures, 1)
  })

  test('takes a thing that throws when asked to be a promise for one that was rejected', async () => {
    const { actor, settle, notes } = rig()
    const liar = {
      // oxlint-disable-next-line unicorn/no-thenable
      then(): never {
        throw new Error('no')
      },
    }
    actor.tell(piping(liar))
    actor.tell('next')
    await settle()

    assert.deepEqual(notes, ['next', 'error Error: no'])
  })

  test('for an earlier life is a dead letter, not a message', async () => {
    const { actor, settle, notes, system } = rig({ supervision: restart(AT_ONCE) })
    const { promise, resolve } = Promise.withResolvers<string>()
    actor.tell(piping(promise))
    actor.tell(FAIL)
    await settle()
    assert.equal(system.metrics().restarts, 1)

    resolve('late')
    await settle()
    assert.deepEqual(notes, [])
    assert.deepEqual(
      system.deadLetters.map(({ path, reason, message }) => ({ path, reason, message })),
      [{ path: '/actor', reason: 'stale-incarnation', message: 'late' }],
    )
  })

  test('that waits in the mailbox when the life ends is a dead letter as well', async () => {
    const { actor, run, notes, system, settle } = rig({ supervision: restart(AT_ONCE) })
    actor.tell(piping(Promise.resolve('early')))
    run()
    actor.tell(FAIL)
    await new Promise<void>(afterIo) // the result is behind the failure in the mailbox
    await settle()

    assert.equal(system.metrics().restarts, 1)
    assert.deepEqual(notes, [])
    assert.equal(system.metrics().dead_letters['stale-incarnation'], 1)
  })

  test('that waits in the mailbox of an actor that ends is a dead letter too', async () => {
    const { actor, run, notes, system, settle } = rig()
    actor.tell(piping(Promise.resolve('early')))
    run()
    await new Promise<void>(afterIo)
    actor.stop()
    await settle()

    assert.deepEqual(notes, [])
    assert.equal(system.deadLetters[0]?.message, 'early')
  })

  test('for an actor that has ended is a dead letter', async () => {
    const { actor, settle, notes, system } = rig()
    const { promise, reject } = Promise.withResolvers<string>()
    actor.tell(piping(promise))
    await settle()
    actor.stop()
    await settle()
    const error = new Error('late')
    reject(error)
    await settle()

    assert.deepEqual(notes, [])
    assert.equal(system.deadLetters[0]?.message, error)
    assert.equal(system.deadLetters[0]?.reason, 'stale-incarnation')
  })
})
