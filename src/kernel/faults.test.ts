import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { describe, test } from 'node:test'

import type { StandardSchemaV1 } from '@standard-schema/spec'

import { Accident, afterIo, isFault, random, type Fault } from '../std/index.ts'
import { inbox, virtualClock, type VirtualClock } from '../testkit/index.ts'
import {
  after,
  ask,
  createSteppedSystem,
  escalate,
  machine,
  manual,
  receive,
  restart,
  resume,
  retry,
  setup,
  stay,
  to,
  type Behavior,
  type Context,
  type Handle,
  type Ref,
  type SpawnOptions,
  type SteppedSystem,
} from './index.ts'
import { TIMERS_MAX } from './internal/actor-timers.ts'
import { DEBTS_MAX } from './internal/owing.ts'
import { PIPES_MAX } from './internal/piping.ts'
import { STICKY_SIGNALS_MAX } from './internal/signals.ts'
import { TOKENS_MAX } from './internal/tokens.ts'
import { WATCHES_MAX } from './internal/watch.ts'
import { ENTER_CHAIN_MAX } from './machine.ts'

type Order = (ctx: Context<Order>) => void

type Rig = Readonly<{
  clock: VirtualClock
  system: SteppedSystem
  /** Does what it is told to, and goes on after a failure. */
  actor: Handle<Order>
  /** The error that the actor fails with when it does this. */
  failure: (what: Order) => Promise<unknown>
  settle: () => Promise<void>
}>

function rig(options: SpawnOptions<Order> = {}): Rig {
  const clock = virtualClock()
  const system = createSteppedSystem({ clock, random: random(1) })
  const actor = system.spawn(
    'actor',
    receive<Order>((ctx, what) => what(ctx)),
    { supervision: resume(), ...options },
  )
  const settle = async (): Promise<void> => {
    do {
      while (system.step());
      await new Promise<void>(afterIo)
    } while (system.readyDepth > 0)
  }
  return {
    clock,
    system,
    actor,
    settle,
    async failure(what) {
      const errors: unknown[] = []
      const leave = system.trace(
        ({ type, facts }) => type === 'failed' && errors.push(facts['error']),
      )
      actor.tell(what)
      await settle()
      leave()
      assert.equal(errors.length, 1)
      return errors[0]
    },
  }
}

const unheard = (): never => assert.fail()
const idle: Behavior<string> = receive<string>(() => undefined)

/** What a call throws. */
function thrown(call: () => unknown): unknown {
  try {
    call()
  } catch (error) {
    return error
  }
  return assert.fail('nothing was thrown')
}

async function rejection(promise: Promise<unknown>): Promise<unknown> {
  return promise.then(
    () => assert.fail('nothing was rejected'),
    (error: unknown) => error,
  )
}

/** A way to provoke each fault of the kernel: its code, and the actor that it must name. */
type Provocation = Readonly<{
  actor: string
  provoke: (stage: Rig) => unknown
}>

const never: StandardSchemaV1<unknown, string> = {
  '~standard': { version: 1, vendor: 'test', validate: () => ({ issues: [{ message: 'never' }] }) },
}

const PROVOCATIONS: Readonly<Record<string, readonly Provocation[]>> = {
  'actor-stopped': [
    {
      actor: '/gone',
      provoke({ system }) {
        const gone = system.spawn('gone', idle)
        gone.stop()
        return gone.tell('hello')
      },
    },
    {
      actor: '/gone',
      async provoke({ system, settle }) {
        const gone = system.spawn('gone', idle)
        const asked = rejection(ask<string, string>(gone, () => 'hello'))
        await settle()
        gone.stop()
        await settle()
        return asked
      },
    },
    {
      actor: '/gone',
      async provoke({ system, settle }) {
        const gone = system.spawn(
          'gone',
          receive<string>(() => undefined, { onStop: () => new Promise(() => undefined) }),
        )
        gone.stop()
        await settle()
        return thrown(() => (gone as unknown as Context<string>).spawn('child', idle))
      },
    },
  ],
  'backpressure-cycle': [
    {
      actor: '/self',
      async provoke({ system, settle }) {
        const refusals: unknown[] = []
        const self = system.spawn(
          'self',
          receive<string>((ctx, message) => {
            if (message === 'go') for (const m of ['a', 'b']) refusals.push(ctx.self.tell(m))
          }),
          { bound: 1, overflow: 'suspend-sender' },
        )
        self.tell('go')
        await settle()
        return refusals[1]
      },
    },
  ],
  'bad-name': ['', 'a/b', 'a b', '$1'].map((name) => ({
    actor: '/actor',
    provoke: ({ failure }: Rig) => failure((ctx) => void ctx.spawn(name, idle)),
  })),
  'bad-option': [
    ...[
      { bound: 0 },
      { overflow: 'grow' as 'reject' },
      { priority: 'urgent' as 'high' },
      { stash: -1 },
      { handlerMs: 0 },
      { supervision: retry({ max: Number.NaN }) },
      { supervision: retry({ backoff: { minMs: Infinity } }) },
      { supervision: retry({ otherwise: retry({ max: -1 }) }) },
      { supervision: restart({ windowMs: Number.NaN }) },
      { supervision: restart({ backoff: { jitter: 2 } }) },
      { supervision: { type: 'ignore' } as never },
    ].map((options) => ({
      actor: '/actor',
      provoke: ({ failure }: Rig) => failure((ctx) => void ctx.spawn('child', idle, options)),
    })),
    {
      actor: '/',
      provoke: ({ system }) => thrown(() => system.spawn('top', idle, { bound: 0 })),
    },
    {
      actor: '/',
      provoke: () => thrown(() => createSteppedSystem({ bound: 0 })),
    },
    { actor: '/', provoke: ({ system }) => rejection(system.stop({ deadlineMs: Number.NaN })) },
    {
      actor: '/actor',
      provoke: ({ failure }) => failure((ctx) => ctx.timers.after('key', -1, () => undefined)),
    },
    {
      actor: '/actor',
      provoke: ({ failure }) => failure((ctx) => ctx.receiveTimeout(0, () => undefined)),
    },
    {
      actor: '/actor',
      provoke: ({ actor }) => thrown(() => ask(actor, () => () => undefined, { deadlineMs: NaN })),
    },
    ...[Number.NaN, Infinity, -1].map((ms) => ({
      actor: '/actor',
      provoke: ({ actor }: Rig) => thrown(() => actor.suspend('user', after(ms))),
    })),
  ],
  'child-failed': [
    {
      actor: '/parent',
      async provoke({ system, settle }) {
        const parent = system.spawn(
          'parent',
          setup<string>((ctx) => {
            const child = ctx.spawn(
              'child',
              receive<string>(() => {
                throw new Error('no')
              }),
              { supervision: escalate() },
            )
            child.tell('fail')
            return idle
          }),
        )
        await settle()
        return (await parent.ended).error
      },
    },
  ],
  'deadline-passed': [
    {
      actor: '/actor',
      async provoke({ actor, clock, settle }) {
        const asked = rejection(ask(actor, () => () => undefined, { deadlineMs: 10 }))
        await settle()
        for (let n = 0; n < 50; n++) clock.advance(1)
        return asked
      },
    },
  ],
  'enter-chain-too-long': [
    {
      actor: '/machine',
      async provoke({ system, settle }) {
        const endless = system.spawn(
          'machine',
          machine<'a', number, string>({
            initial: 'a',
            data: 0,
            states: {
              a: {
                enter: (_ctx, n) => (n > 2 * ENTER_CHAIN_MAX ? stay(n) : to('a', n + 1)),
                on: (_ctx, n) => stay(n),
              },
            },
          }),
        )
        await settle()
        return (await endless.ended).error
      },
    },
  ],
  'handler-overdue': [
    {
      actor: '/slow',
      async provoke({ system, clock, settle }) {
        const slow = system.spawn(
          'slow',
          receive<string>(() => new Promise<void>(() => undefined)),
          { handlerMs: 10 },
        )
        slow.tell('hello')
        await settle()
        clock.advance(10)
        await settle()
        return (await slow.ended).error
      },
    },
  ],
  'invalid-message': [
    {
      actor: '/strict',
      provoke: ({ system }) => system.spawn('strict', idle, { schema: never }).tell('hello'),
    },
  ],
  'mailbox-full': [
    {
      actor: '/full',
      provoke({ system }) {
        const full = system.spawn('full', idle, { bound: 1 })
        full.tell('first')
        return full.tell('second')
      },
    },
  ],
  'name-taken': [
    {
      actor: '/actor',
      provoke: ({ failure }) =>
        failure((ctx) => {
          for (let n = 0; n < 2; n++) ctx.spawn('child', idle)
        }),
    },
  ],
  'no-such-actor': [
    { actor: '/actor/nobody', provoke: ({ system }) => system.find('/actor/nobody') },
  ],
  'no-such-state': [
    {
      actor: '/machine',
      async provoke({ system, settle }) {
        const lost = system.spawn(
          'machine',
          machine<string, null, string>({
            initial: 'a',
            data: null,
            states: { a: { on: () => to('b', null) } },
          }),
        )
        lost.tell('go')
        await settle()
        return (await lost.ended).error
      },
    },
  ],
  'not-a-behavior': [{ actor: '/actor', provoke: ({ failure }) => failure(() => 42 as never) }],
  'not-an-actor': [
    {
      actor: '/inbox',
      provoke: () => thrown(() => ask<Ref<string>, string>(inbox(), (replyTo) => replyTo)),
    },
    { actor: '/inbox', provoke: ({ system }) => thrown(() => system.addressOf(inbox())) },
    {
      actor: '/actor',
      provoke: ({ system }) => thrown(() => system.addressOf(rig().actor)),
    },
  ],
  'not-watchable': [
    {
      actor: '/wall',
      provoke: ({ failure }) =>
        failure((ctx) => ctx.watch({ path: '/wall', tell: () => undefined }, () => undefined)),
    },
  ],
  'stale-address': [
    {
      actor: '#0.1',
      provoke({ system }) {
        const gone = system.spawn('gone', idle)
        const address = system.addressOf(gone)
        gone.stop()
        while (system.step());
        return system.tellAt(address, 'hello')
      },
    },
  ],
  'stash-full': [
    {
      actor: '/hoarder',
      async provoke({ system, settle }) {
        let refusal: unknown
        const hoarder = system.spawn(
          'hoarder',
          receive<string>((ctx, message) => {
            refusal = ctx.stash(message)
          }),
          { stash: 1 },
        )
        for (const message of ['a', 'b']) hoarder.tell(message)
        await settle()
        return refusal
      },
    },
  ],
  'too-many-debts': [
    {
      actor: '/actor',
      provoke: ({ failure }) =>
        failure((ctx) => {
          const creditor = inbox<string>()
          for (let n = 0; n <= DEBTS_MAX; n++) ctx.owe(creditor, 'gone')
        }),
    },
  ],
  'too-many-pipes': [
    {
      actor: '/actor',
      provoke: ({ failure }) =>
        failure((ctx) => {
          const open = new Promise<never>(() => undefined)
          for (let n = 0; n <= PIPES_MAX; n++) ctx.pipe(open, unheard, unheard)
        }),
    },
  ],
  'too-many-signals': [
    {
      actor: '/',
      provoke({ system }) {
        for (let n = 0; n < STICKY_SIGNALS_MAX; n++) system.signal(`${n}`, { sticky: true })
        return thrown(() => system.signal('one more', { sticky: true }))
      },
    },
  ],
  'too-many-timers': [
    {
      actor: '/actor',
      provoke: ({ failure }) =>
        failure((ctx) => {
          for (let n = 0; n <= TIMERS_MAX; n++) ctx.timers.after(`${n}`, 1e6, () => undefined)
        }),
    },
  ],
  'too-many-tokens': [
    {
      actor: '/tired',
      provoke({ system }) {
        const tired = system.spawn('tired', idle)
        for (let n = 0; n < TOKENS_MAX; n++) tired.suspend('user', manual())
        return thrown(() => tired.suspend('user', manual()))
      },
    },
  ],
  'too-many-watches': [
    {
      actor: '/actor',
      provoke: ({ failure }) =>
        failure((ctx) => {
          for (let n = 0; n <= WATCHES_MAX; n++) {
            ctx.watch(
              { path: '/x', tell: () => undefined, onEnd: () => () => undefined } as Ref<never>,
              () => undefined,
            )
          }
        }),
    },
  ],
}

function faultIn(found: unknown): Fault {
  const reason = found instanceof Accident ? found.fault : found
  assert.ok(isFault(reason), `no fault: ${String(found)}`)
  return reason
}

/** The codes that the source of the kernel can give. */
function codesInSource(): Set<string> {
  const folder = import.meta.dirname
  const codes = new Set<string>()
  for (const path of globSync('**/*.ts', { cwd: folder })) {
    if (path.endsWith('.test.ts')) continue
    const text = readFileSync(`${folder}/${path}`, 'utf8')
    for (const [, code] of text.matchAll(/\bfault\(\s*'([a-z-]+)'/gu)) codes.add(code!)
  }
  return codes
}

describe('the faults of the kernel', () => {
  test('are all provoked here, and no others', () => {
    assert.deepEqual([...codesInSource()].toSorted(), Object.keys(PROVOCATIONS).toSorted())
  })

  for (const [code, provocations] of Object.entries(PROVOCATIONS)) {
    test(`${code}: names the actor and the remedy, and nothing else is lost by it`, async () => {
      for (const { actor, provoke } of provocations) {
        const stage = rig()
        const heard: string[] = []
        const neighbour = stage.system.spawn(
          'neighbour',
          receive<string>((_ctx, message) => void heard.push(message)),
        )
        neighbour.tell('before')

        const fault = faultIn(await provoke(stage))
        assert.equal(fault.code, code)
        assert.equal(fault.detail['actor'], actor)
        const { remedy } = fault.detail
        assert.ok(typeof remedy === 'string' && remedy.length > 10, 'there is a remedy')
        assert.match(fault.message, /^[^A-Z]/u)

        neighbour.tell('after')
        let goesOn = false
        assert.equal(
          stage.actor.tell(() => (goesOn = true)),
          undefined,
        )
        await stage.settle()
        assert.deepEqual(heard, ['before', 'after'])
        assert.ok(goesOn, 'the actor goes on')
        assert.ok(stage.system.deadLetters.length <= 2, 'only what was refused is a dead letter')
      }
    })
  }
})
