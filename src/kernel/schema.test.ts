import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import type { StandardSchemaV1 } from '@standard-schema/spec'

import { afterIo } from '../std/index.ts'
import { virtualClock } from '../testkit/index.ts'
import {
  ask,
  createSteppedSystem,
  createSystem,
  receive,
  withContext,
  type Handle,
  type Ref,
  type SteppedSystem,
} from './index.ts'

type Validate<T> = StandardSchemaV1<unknown, T>['~standard']['validate']

function schema<T>(validate: Validate<T>): StandardSchemaV1<unknown, T> {
  return { '~standard': { version: 1, vendor: 'by hand', validate } }
}

const whole = schema<number>((value) =>
  typeof value === 'number' && Number.isInteger(value)
    ? { value }
    : { issues: [{ message: 'a whole number was expected', path: ['amount'] }] },
)

type Rig<T> = Readonly<{ system: SteppedSystem; actor: Handle<T>; notes: T[]; run: () => void }>

function rig<T>(door: StandardSchemaV1<unknown, T>): Rig<T> {
  const system = createSteppedSystem({ clock: virtualClock() })
  const notes: T[] = []
  const actor = system.spawn(
    'actor',
    receive<T>((_ctx, message) => void notes.push(message)),
    { schema: door },
  )
  const run = (): void => {
    while (system.step());
  }
  return { system, actor, notes, run }
}

/** The same ref, for somebody who does not keep to its type. */
function anything<T>(actor: Ref<T>): Ref<unknown> {
  return actor as Ref<never> as Ref<unknown>
}

describe('a schema at the door', () => {
  test('lets in what it accepts', () => {
    const { actor, notes, run } = rig(whole)
    for (const message of [1, 2, 3]) assert.equal(actor.tell(message), undefined)
    run()

    assert.deepEqual(notes, [1, 2, 3])
  })

  test('refuses what it does not, saying why, and loses nothing else', () => {
    const { actor, notes, run, system } = rig(whole)
    actor.tell(1)
    const refusal = actor.tell(1.5)
    anything(actor).tell('two')
    actor.tell(2)
    run()

    assert.equal(refusal?.code, 'invalid-message')
    assert.match(refusal.message, /a whole number was expected/u)
    assert.equal(refusal.detail['actor'], '/actor')
    assert.deepEqual(refusal.detail['issues'], [
      { message: 'a whole number was expected', path: ['amount'] },
    ])
    assert.ok(refusal.detail['remedy'])
    assert.deepEqual(notes, [1, 2])
    assert.deepEqual(system.metrics().dead_letters, { 'invalid-message': 2 })
  })

  test('hands over what it made of the message', () => {
    const { actor, notes, run } = rig(
      schema<string>((value) => ({ value: String(value).toUpperCase() })),
    )
    actor.tell('quiet')
    run()

    assert.deepEqual(notes, ['QUIET'])
  })

  test('refuses where it throws, whatever it throws', () => {
    for (const thrown of [
      new Error('no'),
      undefined,
      null,
      'text',
      Object.create(null),
      Symbol('x'),
    ]) {
      const { actor, notes, run } = rig(
        schema<string>(() => {
          throw thrown
        }),
      )
      const refusal = actor.tell('anything')
      run()

      assert.equal(refusal?.code, 'invalid-message')
      assert.equal(refusal.detail['actor'], '/actor')
      assert.deepEqual(notes, [])
    }
  })

  test('refuses where it cannot say at once, and a late rejection harms nobody', async () => {
    const late = schema<string>(async () => {
      throw new Error('late')
    })
    const { actor, notes, run } = rig(late)
    const refusal = actor.tell('anything')
    await new Promise<void>(afterIo)
    run()

    assert.equal(refusal?.code, 'invalid-message')
    assert.match(refusal.message, /asynchronous/u)
    assert.deepEqual(notes, [])
  })

  test('refuses where it answers nonsense', () => {
    for (const answer of [undefined, null, 7, 'text', { issues: null }, { issues: [] }]) {
      const { actor, notes, run } = rig(schema<string>(() => answer as never))
      const refusal = actor.tell('anything')
      run()

      assert.equal(refusal?.code, 'invalid-message', JSON.stringify(answer))
      assert.deepEqual(notes, [])
    }
  })

  test('refuses a thenable as it refuses a promise', () => {
    // oxlint-disable-next-line unicorn/no-thenable
    const { actor, notes, run } = rig(schema<string>(() => ({ then: () => undefined }) as never))
    const refusal = actor.tell('anything')
    run()

    assert.equal(refusal?.code, 'invalid-message')
    assert.deepEqual(notes, [])
  })

  test('judges on every way to the actor', async () => {
    const { actor, notes, run, system } = rig(whole)
    const refusals = [
      anything(actor).tell('told'),
      await (actor as Handle<never> as Handle<unknown>).offer('offered'),
      system.tellAt(system.addressOf(actor), 'at its address'),
      withContext('trace', () => anything(actor).tell('with context')),
    ]
    const asked = ask<unknown, unknown>(anything(actor), () => 'asked')
    await assert.rejects(asked, { code: 'invalid-message' })
    run()

    for (const refusal of refusals) assert.equal(refusal?.code, 'invalid-message')
    assert.deepEqual(notes, [])
  })

  test('judges in a system that runs by itself too, also a newborn', async () => {
    await using system = createSystem()
    const notes: number[] = []
    const codes: unknown[] = []
    const parent = system.spawn(
      'parent',
      receive<string>((ctx) => {
        const child = ctx.spawn(
          'child',
          receive<number>((_ctx, message) => void notes.push(message)),
          { schema: whole },
        )
        for (const message of [0.5, 1, 1.5, 2]) codes.push(child.tell(message)?.code)
      }),
    )
    parent.tell('go')
    while (notes.length < 2) await new Promise<void>(afterIo)

    assert.deepEqual(notes, [1, 2])
    assert.deepEqual(codes, ['invalid-message', undefined, 'invalid-message', undefined])
  })
})
