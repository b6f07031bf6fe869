import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import { Accident, random } from '../std/index.ts'
import { inbox, virtualClock } from '../testkit/index.ts'
import {
  ask,
  createSteppedSystem,
  receive,
  restart,
  resume,
  type Context,
  type Handle,
  type Ref,
  type SpawnOptions,
  type SteppedSystem,
} from './index.ts'
import { DEBTS_MAX } from './internal/owing.ts'

type Order = (ctx: Context<Order>) => void

type Rig = Readonly<{
  system: SteppedSystem
  actor: Handle<Order>
  run: () => void
  order: (what: Order) => void
}>

/** An actor that does what it is told to. */
function rig(options: SpawnOptions<Order> = {}): Rig {
  const system = createSteppedSystem({ clock: virtualClock(), random: random(1) })
  const actor = system.spawn(
    'debtor',
    receive<Order>((ctx, what) => what(ctx)),
    options,
  )
  const run = (): void => {
    while (system.step());
  }
  return {
    system,
    actor,
    run,
    order(what) {
      actor.tell(what)
      run()
    },
  }
}

const FAIL: Order = () => {
  throw new Error('no')
}

describe('an answer owed', () => {
  test('is told once, and a second one is a dead letter', () => {
    const { order, actor, run, system } = rig()
    const creditor = inbox<string>()
    order((ctx) => {
      const owed = ctx.owe(creditor, 'gone')
      owed.tell('answer')
      owed.tell('again')
    })
    actor.stop()
    run()

    assert.deepEqual(creditor.messages, ['answer'])
    assert.deepEqual(
      system.deadLetters.map(({ reason, message }) => [reason, message]),
      [['late-reply', 'again']],
    )
  })

  test('is what was agreed for that case when the actor ends first, once', () => {
    const { order, actor, run } = rig()
    const creditors = [inbox<string>('a'), inbox<string>('b')]
    const owed: Ref<string>[] = []
    order((ctx) => {
      for (const creditor of creditors) owed.push(ctx.owe(creditor, 'gone'))
    })
    actor.stop()
    run()
    for (const each of owed) each.tell('too late')

    for (const creditor of creditors) assert.deepEqual(creditor.messages, ['gone'])
  })

  test('is the same when the actor is restarted, and nothing is owed by the next life', () => {
    const { order, actor, run } = rig({
      supervision: restart({ backoff: { minMs: 0, jitter: 0 } }),
    })
    const creditor = inbox<string>()
    order((ctx) => void ctx.owe(creditor, 'gone'))
    order(FAIL)
    assert.deepEqual(creditor.messages, ['gone'])

    actor.stop()
    run()
    assert.deepEqual(creditor.messages, ['gone'])
  })

  test('is still owed where a failure is resumed', () => {
    const { order } = rig({ supervision: resume() })
    const creditor = inbox<string>()
    let owed: Ref<string> | undefined
    order((ctx) => {
      owed = ctx.owe(creditor, 'gone')
    })
    order(FAIL)
    order(() => void owed?.tell('answer'))

    assert.deepEqual(creditor.messages, ['answer'])
  })

  test('answers an ask that would otherwise only hear that the actor stopped', async () => {
    const system = createSteppedSystem({ clock: virtualClock() })
    const actor = system.spawn(
      'debtor',
      receive<Ref<string>>((ctx, replyTo) => void ctx.owe(replyTo, 'sorry')),
    )
    const answer = ask<Ref<string>, string>(actor, (replyTo) => replyTo)
    while (system.step());
    actor.stop()
    while (system.step());

    assert.equal(await answer, 'sorry')
  })

  test('has the path of whom it is owed to', () => {
    const { order } = rig()
    const creditor = inbox<string>('creditor')
    let path: string | undefined
    order((ctx) => {
      ;({ path } = ctx.owe(creditor, 'gone'))
    })

    assert.equal(path, creditor.path)
  })

  test('to somebody who cannot be told harms nobody else', async () => {
    const { order, actor, run } = rig()
    const creditor = inbox<string>()
    const broken: Ref<string> = {
      path: '/broken',
      tell() {
        throw new Error('no')
      },
    }
    order((ctx) => {
      ctx.owe(broken, 'gone')
      ctx.owe(creditor, 'gone')
    })
    actor.stop()
    run()

    assert.equal((await actor.ended).cause, 'stopped')
    assert.deepEqual(creditor.messages, ['gone'])
  })

  test(`may be one of ${DEBTS_MAX}, and not one more`, () => {
    const { order, system, actor } = rig({ supervision: resume() })
    const creditor = inbox<string>()
    const owed: Ref<string>[] = []
    const refused: unknown[] = []
    order((ctx) => {
      for (let n = 0; n < DEBTS_MAX; n++) owed.push(ctx.owe(creditor, 'gone'))
      try {
        ctx.owe(creditor, 'gone')
      } catch (error) {
        refused.push(error)
      }
    })
    const [error] = refused
    assert.ok(error instanceof Accident)
    assert.equal(error.code, 'too-many-debts')
    assert.equal(error.detail['actor'], '/debtor')
    assert.equal(error.detail['limit'], DEBTS_MAX)
    assert.ok(error.detail['remedy'])

    owed[0]!.tell('answer')
    order((ctx) => void ctx.owe(creditor, 'gone'))
    actor.stop()
    while (system.step());
    assert.equal(creditor.messages.length, DEBTS_MAX + 1)
  })
})
