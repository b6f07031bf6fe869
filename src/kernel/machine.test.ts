import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import { Accident, afterIo, random } from '../std/index.ts'
import { virtualClock, type VirtualClock } from '../testkit/index.ts'
import {
  createSteppedSystem,
  createSystem,
  machine,
  machineOf,
  manual,
  receive,
  restart,
  resume,
  retry,
  setup,
  stay,
  to,
  type Behavior,
  type Handle,
  type Move,
  type SpawnOptions,
  type State,
  type SteppedSystem,
  type SuspendToken,
} from './index.ts'
import { ENTER_CHAIN_MAX } from './machine.ts'

const AT_ONCE = { minMs: 0, maxMs: 0, factor: 1, jitter: 0 }
const STEADY = { minMs: 100, maxMs: 100, factor: 1, jitter: 0 }

type Rig = Readonly<{
  clock: VirtualClock
  system: SteppedSystem
  /** What happened, one word each. */
  heard: string[]
  run: () => void
  settle: () => Promise<void>
}>

function rig(): Rig {
  const clock = virtualClock()
  const system = createSteppedSystem({ clock, random: random(1) })
  const heard: string[] = []
  system.trace(({ type, facts }) => {
    if (type === 'received') heard.push(`received ${String(facts['message'])}`)
    else if (type === 'transition') heard.push(`${String(facts['from'])} → ${String(facts['to'])}`)
    else if (type === 'entered') heard.push(`entered ${String(facts['state'])}`)
    else heard.push(type)
  })
  const run = (): void => {
    while (system.step());
  }
  return {
    clock,
    system,
    heard,
    run,
    async settle() {
      do {
        run()
        await new Promise<void>(afterIo)
      } while (system.readyDepth > 0)
    },
  }
}

type Light = 'red' | 'green'

/** Every message changes the light; entering says so. */
function light(said: string[]): Behavior<string> {
  const other: Readonly<Record<Light, Light>> = { red: 'green', green: 'red' }
  const state = (name: Light): State<Light, number, string> => ({
    enter(_ctx, count) {
      said.push(`enter ${name} ${count}`)
      return stay(count)
    },
    on(_ctx, count, message) {
      said.push(`${message} in ${name}`)
      return to(other[name], count + 1)
    },
  })
  return machine({ initial: 'red', data: 0, states: { red: state('red'), green: state('green') } })
}

/** States s0, s1, … up to `last`, of which each is entered by the one before. */
function chain(last: number): Behavior<string> {
  const states: Record<string, State<string, number, string>> = {}
  for (let n = 0; n <= last; n++) {
    states[`s${n}`] = {
      enter: (_ctx, at) => (at > 0 && at < last ? to(`s${at + 1}`, at + 1) : stay(at)),
      on: () => to('s1', 1),
    }
  }
  return machine({ initial: 's0', data: 0, states })
}

/** Goes from `a` to `b`, whose enter fails so many times. */
function failing(
  { system }: Rig,
  failures: number,
  options: SpawnOptions<string>,
): Readonly<{ actor: Handle<string>; said: string[] }> {
  const said: string[] = []
  let left = failures
  const actor = system.spawn(
    'actor',
    machine<'a' | 'b', null, string>({
      initial: 'a',
      data: null,
      states: {
        a: { on: (_ctx, _data, message) => (said.push(`a ${message}`), to('b', null)) },
        b: {
          enter() {
            said.push('enter b')
            if (left-- > 0) throw new Error('no')
            return stay(null)
          },
          on: (_ctx, _data, message) => (said.push(`b ${message}`), stay(null)),
        },
      },
    }),
    options,
  )
  return { actor, said }
}

/** A state that is left as soon as it is entered. */
function goes(next: string): State<string, null, string> {
  return { enter: () => to(next, null), on: () => stay(null) }
}

describe('a machine', () => {
  test('enters its first state before anything it was told', () => {
    const { system, run } = rig()
    const said: string[] = []
    const actor = system.spawn('light', light(said))
    actor.tell('a')
    run()

    assert.deepEqual(said, ['enter red 0', 'a in red', 'enter green 1'])
  })

  test('enters a state as the very next turn, ahead of a full mailbox', () => {
    const { system, run } = rig()
    const said: string[] = []
    const actor = system.spawn('light', light(said), { bound: 3 })
    run()
    said.length = 0
    for (const message of ['a', 'b', 'c']) assert.equal(actor.tell(message), undefined)
    assert.equal(actor.tell('d')?.code, 'mailbox-full')

    system.step()
    assert.deepEqual(said, ['a in red'])
    assert.equal(actor.tell('e'), undefined)
    system.step()
    assert.deepEqual(said, ['a in red', 'enter green 1'])
    run()

    assert.deepEqual(said.slice(2), [
      'b in green',
      'enter red 2',
      'c in red',
      'enter green 3',
      'e in green',
      'enter red 4',
    ])
  })

  test('shows a transition and its enter as two entries of the trace', () => {
    const { system, run, heard } = rig()
    const actor = system.spawn('light', light([]))
    run()
    heard.length = 0
    for (const message of ['a', 'b']) actor.tell(message)
    run()

    assert.deepEqual(heard, [
      'received a',
      'red → green',
      'entered green',
      'received b',
      'green → red',
      'entered red',
    ])
  })

  test('cannot be overtaken in a system that runs by itself either', async () => {
    await using system = createSystem()
    const said: string[] = []
    const actor = system.spawn('light', light(said))
    for (let n = 0; n < 200; n++) actor.tell(`${n}`)
    while (said.length < 401) await new Promise<void>(afterIo)

    const expected = ['enter red 0']
    for (let n = 0; n < 200; n++) {
      const [here, there] = n % 2 === 0 ? ['red', 'green'] : ['green', 'red']
      expected.push(`${n} in ${here}`, `enter ${there} ${n + 1}`)
    }
    assert.deepEqual(said, expected)
  })

  test('may choose a further state on entering, or end', async () => {
    const { system, run, heard } = rig()
    const actor = system.spawn(
      'actor',
      machine<'a' | 'b' | 'c', number, string>({
        initial: 'a',
        data: 0,
        states: {
          a: { on: (_ctx, data) => to('b', data + 1) },
          b: { enter: (_ctx, data) => to('c', data + 10), on: (_ctx, data) => stay(data) },
          c: { enter: () => 'stopped', on: (_ctx, data) => stay(data) },
        },
      }),
    )
    for (const message of ['go', 'late']) actor.tell(message)
    run()

    assert.deepEqual(heard.slice(1, 6), ['received go', 'a → b', 'entered b', 'b → c', 'entered c'])
    assert.deepEqual(
      system.deadLetters.map(({ message }) => message),
      ['late'],
    )
    assert.equal((await actor.ended).cause, 'stopped')
  })

  test('stays without entering, and keeps what it was given', () => {
    const { system, run, heard } = rig()
    let entered = 0
    const actor = system.spawn(
      'actor',
      machine<'only', number, number>({
        initial: 'only',
        data: 0,
        states: {
          only: {
            enter: (_ctx, sum) => (entered++, stay(sum)),
            on: (_ctx, sum, add) => stay(sum + add),
          },
        },
      }),
    )
    for (const add of [1, 2, 3]) actor.tell(add)
    run()

    assert.equal(entered, 1)
    assert.equal(machineOf(actor)?.data, 6)
    assert.ok(!heard.includes('only → only'))
  })

  test('enters again when it goes to the state it is in', () => {
    const { system, run, heard } = rig()
    let entered = 0
    const actor = system.spawn(
      'actor',
      machine<'only', null, string>({
        initial: 'only',
        data: null,
        states: { only: { enter: () => (entered++, stay(null)), on: () => to('only', null) } },
      }),
    )
    actor.tell('again')
    run()

    assert.equal(entered, 2)
    assert.deepEqual(heard.slice(-3), ['received again', 'only → only', 'entered only'])
  })

  test('does not need an enter: then the next turn is the next message', () => {
    const { system, run } = rig()
    const said: string[] = []
    const actor = system.spawn(
      'actor',
      machine<'a' | 'b', null, string>({
        initial: 'a',
        data: null,
        states: {
          a: { on: (_ctx, _data, message) => (said.push(`a ${message}`), to('b', null)) },
          b: { on: (_ctx, _data, message) => (said.push(`b ${message}`), stay(null)) },
        },
      }),
    )
    for (const message of ['1', '2']) actor.tell(message)
    run()

    assert.deepEqual(said, ['a 1', 'b 2'])
  })

  test('that rests after a transition enters when it goes on, still ahead of its mail', () => {
    const { system, run } = rig()
    const said: string[] = []
    let token: SuspendToken | undefined
    const actor = system.spawn(
      'actor',
      machine<'a' | 'b', null, string>({
        initial: 'a',
        data: null,
        states: {
          a: {
            on(ctx) {
              token = ctx.suspend('user', manual())
              return to('b', null)
            },
          },
          b: {
            enter: () => (said.push('enter b'), stay(null)),
            on: (_ctx, _data, message) => (said.push(message), stay(null)),
          },
        },
      }),
    )
    for (const message of ['go', 'next']) actor.tell(message)
    run()
    assert.deepEqual(said, [])

    token?.resume()
    run()
    assert.deepEqual(said, ['enter b', 'next'])
  })

  test('may be what a setup makes, and what a handler becomes', () => {
    const { system, run } = rig()
    const said: string[] = []
    const made = system.spawn(
      'made',
      setup<string>(() => light(said)),
    )
    const become = system.spawn(
      'become',
      receive<string>(() => light(said)),
    )
    made.tell('a')
    run()
    assert.deepEqual(said, ['enter red 0', 'a in red', 'enter green 1'])

    said.length = 0
    for (const message of ['become', 'b']) become.tell(message)
    run()
    assert.deepEqual(said, ['enter red 0', 'b in red', 'enter green 1'])
  })

  test('tells its onStop where it was', () => {
    const { system, run } = rig()
    const seen: unknown[] = []
    const actor = system.spawn(
      'actor',
      machine<'a' | 'b', number, string>({
        initial: 'a',
        data: 1,
        states: {
          a: { on: (_ctx, data) => to('b', data + 1) },
          b: { on: (_ctx, data) => stay(data) },
        },
        onStop: (ctx, state, data) => void seen.push([ctx.path, state, data]),
      }),
    )
    actor.tell('go')
    run()
    actor.stop()
    run()

    assert.deepEqual(seen, [['/actor', 'b', 2]])
  })
})

describe('a machine that fails', () => {
  test('retries its enter alone: the transition is not repeated', () => {
    const stage = rig()
    const { actor, said } = failing(stage, 2, { supervision: retry({ backoff: STEADY }) })
    for (const message of ['go', 'next']) actor.tell(message)
    stage.run()
    assert.equal(machineOf(actor)?.state, 'b')
    for (let n = 0; n < 3; n++) {
      stage.clock.advance(100)
      stage.run()
    }

    assert.deepEqual(said, ['a go', 'enter b', 'enter b', 'enter b', 'b next'])
    assert.equal(stage.heard.filter((each) => each === 'a → b').length, 1)
    assert.equal(stage.heard.filter((each) => each === 'entered b').length, 3)
  })

  test('stays where it went when its enter is given up', () => {
    const stage = rig()
    const { actor, said } = failing(stage, 1, { supervision: resume() })
    for (const message of ['go', 'next']) actor.tell(message)
    stage.run()

    assert.deepEqual(said, ['a go', 'enter b', 'b next'])
  })

  test('stays where it was when its handler fails', () => {
    const { system, run } = rig()
    let left = 1
    const actor = system.spawn(
      'actor',
      machine<'a' | 'b', number, string>({
        initial: 'a',
        data: 7,
        states: {
          a: {
            on(_ctx, data) {
              if (left-- > 0) throw new Error('no')
              return to('b', data)
            },
          },
          b: { on: (_ctx, data) => stay(data) },
        },
      }),
      { supervision: resume() },
    )
    actor.tell('go')
    run()
    assert.deepEqual([machineOf(actor)?.state, machineOf(actor)?.data], ['a', 7])
    actor.tell('go')
    run()
    assert.equal(machineOf(actor)?.state, 'b')
  })

  test('begins anew by a restart, with its first state and data, and enters it', () => {
    const { system, run } = rig()
    const said: string[] = []
    const actor = system.spawn(
      'actor',
      machine<'a' | 'b', number, string>({
        initial: 'a',
        data: 0,
        states: {
          a: {
            enter: (_ctx, data) => (said.push(`enter a ${data}`), stay(data)),
            on: (_ctx, data) => to('b', data + 1),
          },
          b: {
            on() {
              throw new Error('no')
            },
          },
        },
      }),
      { supervision: restart({ backoff: AT_ONCE }) },
    )
    for (const message of ['go', 'fail', 'go']) actor.tell(message)
    run()

    assert.deepEqual(said, ['enter a 0', 'enter a 0'])
    assert.deepEqual([machineOf(actor)?.state, machineOf(actor)?.data], ['b', 1])
  })

  test('leaves no enter behind for the behavior it is restarted with', () => {
    const stage = rig()
    const said: string[] = []
    const inner = machine<'a', null, string>({
      initial: 'a',
      data: null,
      states: { a: { enter: () => (said.push('enter'), stay(null)), on: () => stay(null) } },
    })
    const actor = stage.system.spawn(
      'actor',
      receive<string>((ctx, message) => {
        said.push(message)
        if (message !== 'become') return 'same'
        const child = ctx.spawn(
          'child',
          receive<string>(() => {
            throw new Error('no')
          }),
          { supervision: { type: 'escalate' } },
        )
        child.tell('fail')
        return inner
      }),
      { supervision: restart({ backoff: AT_ONCE }) },
    )
    actor.tell('become')
    stage.system.step()
    stage.system.step(() => 0) // the child fails before the machine has entered its first state
    actor.tell('plain')
    stage.run()

    assert.deepEqual(said, ['become', 'plain'])
  })

  test('names a state that it does not have', async () => {
    const { system, run } = rig()
    const actor = system.spawn(
      'actor',
      machine<string, null, string>({
        initial: 'here',
        data: null,
        states: { here: { on: (_ctx, _data, name) => to(name, null) } },
      }),
      { supervision: resume() },
    )
    const errors: unknown[] = []
    system.trace(({ type, facts }) => type === 'failed' && errors.push(facts['error']))
    for (const name of ['nowhere', 'constructor', 'here']) actor.tell(name)
    run()

    assert.equal(errors.length, 2)
    for (const [index, state] of ['nowhere', 'constructor'].entries()) {
      const error = errors[index]
      assert.ok(error instanceof Accident)
      assert.equal(error.code, 'no-such-state')
      assert.equal(error.detail['actor'], '/actor')
      assert.equal(error.detail['state'], state)
      assert.equal(error.detail['from'], 'here')
      assert.ok(error.detail['remedy'])
    }
    assert.equal(machineOf(actor)?.state, 'here')
  })

  test('names a first state that it does not have', async () => {
    const { system, run } = rig()
    const actor = system.spawn(
      'actor',
      machine<string, null, string>({ initial: 'nowhere', data: null, states: {} }),
    )
    run()

    const { cause, error } = await actor.ended
    assert.equal(cause, 'failed')
    assert.ok(error instanceof Accident)
    assert.equal(error.code, 'no-such-state')
    assert.equal(error.detail['actor'], '/actor')
  })
})

describe('a chain of states', () => {
  test(`may be ${ENTER_CHAIN_MAX} long without a message in between`, () => {
    const { system, run } = rig()
    const actor = system.spawn('actor', chain(ENTER_CHAIN_MAX))
    for (const message of ['go', 'go']) actor.tell(message)
    run()

    assert.equal(machineOf(actor)?.state, `s${ENTER_CHAIN_MAX}`)
    assert.equal(system.metrics().failures, 0)
  })

  test(`of ${ENTER_CHAIN_MAX + 1} is a fault`, async () => {
    const { system, run } = rig()
    const actor = system.spawn('actor', chain(ENTER_CHAIN_MAX + 1))
    actor.tell('go')
    run()

    const { error } = await actor.ended
    assert.ok(error instanceof Accident)
    assert.equal(error.code, 'enter-chain-too-long')
    assert.equal(error.detail['limit'], ENTER_CHAIN_MAX)
    assert.equal(error.detail['actor'], '/actor')
    assert.ok(error.detail['remedy'])
  })

  test('that turns in a circle is named by the circle', async () => {
    const { system, run } = rig()
    const actor = system.spawn(
      'actor',
      machine<string, null, string>({
        initial: 'a',
        data: null,
        states: { a: goes('b'), b: goes('c'), c: goes('a') },
      }),
    )
    run()

    const { error } = await actor.ended
    assert.ok(error instanceof Accident)
    assert.equal(error.code, 'enter-chain-too-long')
    assert.match(error.message, /([abc]) → [abc] → [abc] → \1/u)
  })

  test('begins anew with every message, from the mailbox or a timer', () => {
    const { system, run, clock } = rig()
    let moves = 0
    const actor = system.spawn(
      'actor',
      machine<'a', null, string>({
        initial: 'a',
        data: null,
        states: {
          a: {
            enter(ctx) {
              if (moves < 100) ctx.timers.after('again', 1, 'again')
              return stay(null)
            },
            on: () => (moves++, to('a', null)),
          },
        },
      }),
    )
    run()
    for (let n = 0; n < 100; n++) {
      clock.advance(1)
      run()
    }

    assert.equal(moves, 100)
    assert.equal(actor.tell('lives'), undefined)
  })
})

describe('an async machine', () => {
  test('holds its mail while it chooses and while it enters', async () => {
    const stage = rig()
    const said: string[] = []
    const pending: (() => void)[] = []
    const turn = (): Promise<void> => new Promise((resolve) => pending.push(resolve))
    const actor = stage.system.spawn(
      'actor',
      machine<'a' | 'b', number, string>({
        initial: 'a',
        data: 0,
        states: {
          a: {
            async on(_ctx, data, message) {
              said.push(`a ${message}`)
              await turn()
              return to('b', data + 1)
            },
          },
          b: {
            async enter(_ctx, data) {
              said.push('entering b')
              await turn()
              said.push('in b')
              return stay(data + 1)
            },
            on: (_ctx, data, message) => (said.push(`b ${message} ${data}`), stay(data)),
          },
        },
      }),
    )
    for (const message of ['go', 'next']) actor.tell(message)
    await stage.settle()
    assert.deepEqual(said, ['a go'])
    assert.equal(machineOf(actor)?.state, 'a')

    pending.shift()?.()
    await stage.settle()
    assert.deepEqual(said, ['a go', 'entering b'])
    assert.equal(machineOf(actor)?.state, 'b')

    pending.shift()?.()
    await stage.settle()
    assert.deepEqual(said, ['a go', 'entering b', 'in b', 'b next 2'])
  })

  test('retries an enter that rejects', async () => {
    const stage = rig()
    let tries = 0
    const actor = stage.system.spawn(
      'actor',
      machine<'a', null, string>({
        initial: 'a',
        data: null,
        states: {
          a: {
            async enter() {
              tries += 1
              if (tries < 3) throw new Error('no')
              return stay(null)
            },
            on: () => 'stopped',
          },
        },
      }),
      { supervision: retry({ backoff: AT_ONCE }) },
    )
    actor.tell('end')
    await stage.settle()

    assert.equal(tries, 3)
    assert.equal((await actor.ended).cause, 'stopped')
  })

  test('does not move when what it awaited comes after it was given up', async () => {
    for (const supervision of [resume(), restart({ backoff: AT_ONCE })]) {
      const stage = rig()
      const { promise, resolve } = Promise.withResolvers<Move<'a' | 'b', string>>()
      const actor = stage.system.spawn(
        'actor',
        machine<'a' | 'b', string, string>({
          initial: 'a',
          data: 'first',
          states: {
            a: { on: (_ctx, data, message) => (message === 'wait' ? promise : stay(data)) },
            b: { enter: (_ctx, data) => stay(data), on: (_ctx, data) => stay(data) },
          },
        }),
        { supervision, handlerMs: 50 },
      )
      for (const message of ['wait', 'next']) actor.tell(message)
      stage.run()
      stage.clock.advance(50)
      await stage.settle()

      resolve(to('b', 'late'))
      await stage.settle()

      assert.deepEqual([machineOf(actor)?.state, machineOf(actor)?.data], ['a', 'first'])
      assert.ok(!stage.heard.includes('a → b'), supervision.type)
      assert.ok(!stage.heard.includes('entered b'), supervision.type)
    }
  })

  test('does not move after its end', async () => {
    const stage = rig()
    const { promise, resolve } = Promise.withResolvers<Move<'a' | 'b', null>>()
    const actor = stage.system.spawn(
      'actor',
      machine<'a' | 'b', null, string>({
        initial: 'a',
        data: null,
        states: { a: { on: () => promise }, b: { on: () => stay(null) } },
      }),
    )
    actor.tell('wait')
    stage.run()
    actor.stop()
    await stage.settle()
    resolve(to('b', null))
    await stage.settle()

    assert.equal(stage.heard.at(-1), 'stopped')
  })
})

describe('a test of a machine', () => {
  test('may place it in the middle and run the enter of that state', () => {
    const { system, run } = rig()
    const said: string[] = []
    const actor = system.spawn('light', light(said))
    system.step()
    const probe = machineOf<Light, number>(actor)
    assert.ok(probe !== undefined)

    probe.place('green', 41)
    run()
    assert.deepEqual(said, [])
    actor.tell('a')
    run()
    assert.deepEqual(said, ['a in green', 'enter red 42'])

    said.length = 0
    probe.place('green', 0)
    probe.enterSoon()
    run()
    assert.deepEqual(said, ['enter green 0'])
    assert.throws(() => probe.place('blue' as Light, 0), { code: 'no-such-state' })
  })

  test('finds no machine where there is none, or no more', () => {
    const { system, run } = rig()
    const plain = system.spawn(
      'plain',
      receive<string>(() => undefined),
    )
    const ended = system.spawn('ended', light([]))
    run()
    ended.stop()
    run()

    assert.equal(machineOf(plain), undefined)
    assert.equal(machineOf(ended), undefined)
    assert.equal(machineOf({ path: '/wall', tell: () => undefined }), undefined)
  })
})
