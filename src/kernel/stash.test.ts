import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import { random } from '../std/index.ts'
import { virtualClock } from '../testkit/index.ts'
import {
  createSteppedSystem,
  receive,
  restart,
  setup,
  type Handle,
  type SpawnOptions,
  type SteppedSystem,
} from './index.ts'
import { STASH_DEFAULT } from './internal/options.ts'

type Rig = Readonly<{
  system: SteppedSystem
  actor: Handle<string>
  notes: string[]
  refusals: unknown[]
  run: () => void
}>

/** An actor that puts everything aside until it is told to open. */
function rig(options: SpawnOptions<string> = {}): Rig {
  const system = createSteppedSystem({ clock: virtualClock(), random: random(1) })
  const notes: string[] = []
  const refusals: unknown[] = []
  const actor = system.spawn(
    'actor',
    setup<string>(() => {
      let isOpen = false
      return receive<string>((ctx, message) => {
        if (message === 'open') {
          isOpen = true
          ctx.unstash()
        } else if (message === 'fail') throw new Error('no')
        else if (isOpen) notes.push(message)
        else {
          const refusal = ctx.stash(message)
          if (refusal !== undefined) refusals.push(refusal)
        }
      })
    }),
    options,
  )
  const run = (): void => {
    while (system.step());
  }
  return { system, actor, notes, refusals, run }
}

describe('stash', () => {
  test('gives back in the order things were put aside, ahead of what waits', () => {
    const { actor, notes, run } = rig()
    for (const message of ['a', 'b', 'open', 'c']) actor.tell(message)
    run()

    assert.deepEqual(notes, ['a', 'b', 'c'])
  })

  test('of nothing is nothing', () => {
    const { actor, notes, run } = rig()
    for (const message of ['open', 'open', 'a']) actor.tell(message)
    run()

    assert.deepEqual(notes, ['a'])
  })

  test('may be filled again by what it gave back', () => {
    const system = createSteppedSystem({ clock: virtualClock() })
    const notes: string[] = []
    let rounds = 0
    const actor = system.spawn(
      'actor',
      receive<string>((ctx, message) => {
        if (message === 'round') {
          rounds += 1
          ctx.unstash()
        } else if (rounds < 2) ctx.stash(message)
        else notes.push(message)
      }),
    )
    for (const message of ['a', 'b', 'round', 'c', 'round', 'd']) actor.tell(message)
    while (system.step());

    assert.deepEqual(notes, ['a', 'b', 'c', 'd'])
  })

  test('takes as much as it was given room for, and not one more', () => {
    const { actor, notes, refusals, run } = rig({ stash: 2 })
    for (const message of ['a', 'b', 'c']) actor.tell(message)
    run()
    assert.equal(refusals.length, 1)
    const { code, detail } = refusals[0] as { code: string; detail: Record<string, unknown> }
    assert.equal(code, 'stash-full')
    assert.equal(detail['actor'], '/actor')
    assert.equal(detail['limit'], 2)
    assert.ok(detail['remedy'])

    actor.tell('open')
    run()
    assert.deepEqual(notes, ['a', 'b'])
  })

  test(`takes ${STASH_DEFAULT} unless said otherwise, and not one more`, () => {
    const { actor, refusals, run } = rig()
    for (let n = 0; n < STASH_DEFAULT; n++) actor.tell(`${n}`)
    run()
    assert.equal(refusals.length, 0)
    actor.tell('one more')
    run()
    assert.equal(refusals.length, 1)
  })

  test('with no room at all refuses the first', () => {
    const { actor, refusals, run } = rig({ stash: 0 })
    actor.tell('a')
    run()

    assert.equal(refusals.length, 1)
  })

  test('gives back more than the mailbox may hold, and only then is that full', () => {
    const { actor, notes, run, system } = rig({ bound: 2 })
    for (let n = 0; n < 5; n++) {
      actor.tell(`${n}`)
      run()
    }
    actor.tell('open')
    system.step()
    assert.equal(actor.tell('too much')?.code, 'mailbox-full')
    run()

    assert.deepEqual(notes, ['0', '1', '2', '3', '4'])
    assert.equal(actor.tell('room'), undefined)
  })

  test('is not lost by a restart: what was put aside is handled anew, in order', () => {
    const { actor, notes, run } = rig({
      supervision: restart({ backoff: { minMs: 0, jitter: 0 } }),
    })
    for (const message of ['a', 'b', 'fail', 'c', 'open']) actor.tell(message)
    run()

    assert.deepEqual(notes, ['a', 'b', 'c'])
  })

  test('of an actor that ends is dead letters', () => {
    const { actor, run, system } = rig()
    for (const message of ['a', 'b']) actor.tell(message)
    run()
    actor.stop()
    run()

    assert.deepEqual(
      system.deadLetters.map(({ reason, message }) => [reason, message]),
      [
        ['stopped', 'a'],
        ['stopped', 'b'],
      ],
    )
  })
})
