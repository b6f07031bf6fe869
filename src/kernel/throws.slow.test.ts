/* oxlint-disable unicorn/no-thenable, typescript/only-throw-error -- throwing everything is the point */
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'

import type { StandardSchemaV1 } from '@standard-schema/spec'

import { afterIo, lineLog, random } from '../std/index.ts'
import { virtualClock, type VirtualClock } from '../testkit/index.ts'
import {
  ask,
  createSystem,
  machine,
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
  type Supervision,
  type System,
} from './index.ts'

const THROWS = 1_000_000
const ROUNDS = 20
/** Rounds until everything is compiled and every buffer has its size. */
const WARM_UP = 5
const HEAP_GROWTH_MAX = 0.05

/** Bytes in use once everything that nobody holds is gone. */
function heapUsed(): number {
  assert.ok(gc !== undefined, 'run with --expose-gc: the heap is measured')
  for (let n = 0; n < 3; n++) gc()
  return process.memoryUsage().heapUsed
}

function cyclic(): unknown {
  const error: Error & { self?: unknown } = new Error('cyclic')
  error.self = error
  error.cause = error
  return error
}

function refuse(): never {
  throw new Error('do not touch')
}

function hostile(): unknown {
  return new Proxy(Object.create(null) as object, {
    get: refuse,
    has: refuse,
    ownKeys: refuse,
    getPrototypeOf: refuse,
    getOwnPropertyDescriptor: refuse,
  })
}

function revoked(): unknown {
  const { proxy, revoke } = Proxy.revocable({}, {})
  revoke()
  return proxy
}

class Odd extends Error {
  override get message(): string {
    throw new Error('no message')
  }
  override get stack(): string {
    throw new Error('no stack')
  }
  override toString(): string {
    throw new Error('no words')
  }
}

const HUGE = 'x'.repeat(100_000)

/** Everything that can be thrown, each made anew where that matters. */
const SHAPES: Readonly<Record<string, () => unknown>> = {
  error: () => new Error('no'),
  undefined: () => undefined,
  null: () => null,
  false: () => false,
  nan: () => Number.NaN,
  text: () => 'no',
  'huge text': () => HUGE,
  'huge error': () => new Error(HUGE),
  symbol: () => Symbol('no'),
  bigint: () => 1n,
  function: () => () => undefined,
  frozen: () => Object.freeze({ frozen: true }),
  'frozen error': () => Object.freeze(new Error('no')),
  bare: () => Object.create(null) as unknown,
  cyclic,
  hostile,
  revoked,
  odd: () => new Odd(),
  promise: () => Promise.resolve('no'),
  thenable: () => ({ then: 7 }),
}

type Place = Readonly<{
  /** Throws `shape()` so many times, and resolves when all have been thrown. */
  throwing: (world: World, shape: () => unknown, times: number) => Promise<void>
}>

type World = Readonly<{ system: System; clock: VirtualClock; thrown: () => number }>

async function until(isTrue: () => boolean): Promise<void> {
  while (!isTrue()) await new Promise<void>(afterIo)
}

function fails(shape: () => unknown): never {
  throw shape()
}

/** Tells a fresh actor so many messages, and waits until so many failures have been counted. */
async function telling(
  world: World,
  behavior: Behavior<number>,
  times: number,
  supervision: Supervision = resume(),
): Promise<void> {
  const { system } = world
  const begun = world.thrown()
  const actor = system.spawnAnonymous(behavior, { supervision, bound: Math.max(100, times) })
  for (let n = 0; n < times; n++) actor.tell(n)
  await until(() => world.thrown() >= begun + times)
  actor.stop()
}

/** Spawns so many actors that each fail by themselves. */
async function spawning(
  world: World,
  times: number,
  spawn: (system: System) => Handle<never>,
): Promise<void> {
  const begun = world.thrown()
  for (let n = 0; n < times; n++) spawn(world.system)
  await until(() => world.thrown() >= begun + times)
}

const AT_ONCE = { minMs: 0, maxMs: 0, factor: 1, jitter: 0 }

const PLACES: Readonly<Record<string, Place>> = {
  'a handler': {
    throwing: (world, shape, times) =>
      telling(
        world,
        receive<number>(() => fails(shape)),
        times,
      ),
  },
  'a handler that is stopped for it': {
    throwing: (world, shape, times) =>
      spawning(world, times, (system) => {
        const actor = system.spawnAnonymous(receive<number>(() => fails(shape)))
        actor.tell(0)
        return actor
      }),
  },
  'a handler that is retried and restarted': {
    throwing: (world, shape, times) =>
      telling(
        world,
        receive<number>(() => fails(shape)),
        Math.ceil(times / 2),
        retry({
          max: 1,
          backoff: AT_ONCE,
          otherwise: restart({ max: Infinity, windowMs: 0, backoff: AT_ONCE }),
        }),
      ),
  },
  'an async handler': {
    throwing: (world, shape, times) =>
      telling(
        world,
        receive<number>(async () => fails(shape)),
        times,
      ),
  },
  'an async handler, later': {
    throwing: (world, shape, times) =>
      telling(
        world,
        receive<number>(async () => {
          await Promise.resolve()
          return fails(shape)
        }),
        times,
      ),
  },
  'a thenable': {
    throwing: (world, shape, times) =>
      telling(
        world,
        receive<number>(() => ({ then: () => fails(shape) })),
        times,
      ),
  },
  'the then of an answer': {
    throwing: (world, shape, times) =>
      telling(
        world,
        receive<number>(
          () => Object.defineProperty({}, 'then', { get: () => fails(shape) }) as never,
        ),
        times,
      ),
  },
  'an answer that is none': {
    throwing: (world, shape, times) =>
      telling(
        world,
        receive<number>(() => {
          const answer = shape()
          return (answer === undefined ? 42 : answer instanceof Promise ? 42 : answer) as never
        }),
        times,
      ),
  },
  'a setup': {
    throwing: (world, shape, times) =>
      spawning(world, times, (system) => system.spawnAnonymous(setup<never>(() => fails(shape)))),
  },
  'the setup of a restart': {
    async throwing(world, shape, times) {
      const begun = world.thrown()
      world.system.spawnAnonymous(
        setup<number>(() => fails(shape)),
        { supervision: restart({ max: times - 1, backoff: AT_ONCE }) },
      )
      await until(() => world.thrown() >= begun + times)
    },
  },
  'an onStop': {
    throwing: (world, shape, times) =>
      spawning(world, times, (system) => {
        const actor = system.spawnAnonymous(
          receive<never>(() => undefined, { onStop: () => fails(shape) }),
        )
        actor.stop()
        return actor
      }),
  },
  'an async onStop': {
    throwing: (world, shape, times) =>
      spawning(world, times, (system) => {
        const actor = system.spawnAnonymous(
          receive<never>(() => undefined, { onStop: async () => fails(shape) }),
        )
        actor.stop()
        return actor
      }),
  },
  'an enter': {
    throwing: (world, shape, times) =>
      telling(
        world,
        machine<'a' | 'b', null, number>({
          initial: 'a',
          data: null,
          states: {
            a: { on: () => to('b', null) },
            b: { enter: () => fails(shape), on: () => to('b', null) },
          },
        }),
        times,
      ),
  },
  'the handler of a machine': {
    throwing: (world, shape, times) =>
      telling(
        world,
        machine<'a', null, number>({
          initial: 'a',
          data: null,
          states: { a: { enter: () => stay(null), on: async () => fails(shape) } },
        }),
        times,
      ),
  },
  'a timer': {
    async throwing(world, shape, times) {
      const begun = world.thrown()
      const actor = world.system.spawnAnonymous(
        receive<string>((ctx, message) => {
          if (message === 'due') fails(shape)
          for (let n = 0; n < times; n++) ctx.timers.after(`${n}`, 1, 'due')
        }),
        { supervision: resume() },
      )
      actor.tell('begin')
      const pending = world.system.metrics().timers_pending
      await until(() => world.system.metrics().timers_pending >= pending + times)
      world.clock.advance(1)
      await until(() => world.thrown() >= begun + times)
      actor.stop()
    },
  },
  'a receive timeout': {
    async throwing(world, shape, times) {
      const begun = world.thrown()
      const actors: Handle<string>[] = []
      for (let n = 0; n < times; n++) {
        actors.push(
          world.system.spawnAnonymous(
            setup<string>((ctx) => {
              ctx.receiveTimeout(1, 'silence')
              return receive<string>(() => fails(shape))
            }),
          ),
        )
      }
      const pending = world.system.metrics().timers_pending
      await until(() => world.system.metrics().timers_pending >= pending + times)
      world.clock.advance(1)
      await until(() => world.thrown() >= begun + times)
    },
  },
  'the maker of a watch': {
    async throwing(world, shape, times) {
      const begun = world.thrown()
      const idle = receive<string>(() => undefined)
      const watcher = world.system.spawnAnonymous(
        receive<Ref<never>>((ctx, target) => ctx.watch(target, () => fails(shape))),
        { supervision: resume(), bound: times },
      )
      for (let n = 0; n < times; n++) {
        const target = world.system.spawnAnonymous(idle)
        watcher.tell(target)
        target.stop()
      }
      await until(() => world.thrown() >= begun + times)
      watcher.stop()
    },
  },
  'the maker of a pipe': {
    throwing: (world, shape, times) =>
      telling(
        world,
        receive<number>((ctx, message) => {
          ctx.pipe(
            message % 2 === 0 ? Promise.resolve(1) : Promise.reject(shape()),
            () => fails(shape),
            () => fails(shape),
          )
        }),
        times,
      ),
  },
  'a piped rejection': {
    async throwing(world, shape, times) {
      let heard = 0
      const actor = world.system.spawnAnonymous(
        receive<string>((ctx: Context<string>, message) => {
          if (message === 'heard') heard += 1
          else {
            ctx.pipe(
              Promise.reject(shape()),
              () => 'not reached',
              () => 'heard',
            )
          }
        }),
        { bound: times },
      )
      for (let n = 0; n < times; n++) actor.tell('pipe')
      await until(() => heard === times)
      actor.stop()
    },
  },
  'a schema': {
    async throwing(world, shape, times) {
      const door: StandardSchemaV1<unknown, string> = {
        '~standard': { version: 1, vendor: 'test', validate: () => fails(shape) },
      }
      const actor = world.system.spawnAnonymous(
        receive<string>(() => undefined),
        { schema: door },
      )
      for (let n = 0; n < times; n++) assert.equal(actor.tell('x')?.code, 'invalid-message')
      actor.stop()
    },
  },
  'the end of an ask': {
    async throwing(world, shape, times) {
      const outcomes: Promise<unknown>[] = []
      for (let n = 0; n < times; n++) {
        const actor = world.system.spawnAnonymous(receive<number>(() => fails(shape)))
        outcomes.push(
          ask<number, never>(actor, () => n).catch((error: { code?: unknown }) => error.code),
        )
      }
      const codes = new Set(await Promise.all(outcomes))
      assert.deepEqual(codes, new Set(['actor-stopped']))
    },
  },
}

describe(`${THROWS} throws of every shape, everywhere`, () => {
  const strays: unknown[] = []
  const stray = (error: unknown): void => void strays.push(error)
  before(() => {
    process.on('unhandledRejection', stray)
    process.on('uncaughtException', stray)
  })
  after(() => {
    process.off('unhandledRejection', stray)
    process.off('uncaughtException', stray)
  })

  test('end no process, reach nobody else, and leave nothing behind', async (t) => {
    const clock = virtualClock()
    let lines = 0
    const log = lineLog(() => void lines++, { clock })
    const system = createSystem({ clock, log, random: random(1) })
    const world: World = { system, clock, thrown: () => system.metrics().failures }
    let heard = 0
    const witness = system.spawn(
      'witness',
      receive<string>(() => void heard++),
    )
    const cases = Object.entries(PLACES).flatMap(([place, { throwing }]) =>
      Object.entries(SHAPES).map(([shape, make]) => ({
        name: `${shape} in ${place}`,
        throwing,
        make,
      })),
    )
    const times = Math.ceil(THROWS / ROUNDS / cases.length)
    const heaps: number[] = []
    const slowest = { name: '', ms: 0 }
    for (let round = 0; round < ROUNDS; round++) {
      // Somebody listens every now and then, so that what was thrown passes through the trace too.
      const leave = round % 5 === 2 ? system.trace(() => undefined) : () => undefined
      for (const { name, throwing, make } of cases) {
        const start = performance.now()
        await throwing(world, make, times)
        const ms = performance.now() - start
        if (ms > slowest.ms) Object.assign(slowest, { name, ms })
      }
      leave()
      witness.tell('still there')
      await until(() => heard === round + 1)
      heaps.push(heapUsed())
    }
    t.diagnostic(`${cases.length} kinds, ${ROUNDS * cases.length * times} throws, ${lines} lines`)
    t.diagnostic(`heap ${heaps.map((bytes) => (bytes / 2 ** 20).toFixed(1)).join(' ')} MiB`)
    t.diagnostic(`slowest: ${slowest.name}, ${slowest.ms.toFixed(0)} ms for ${times}`)

    assert.ok(ROUNDS * cases.length * times >= THROWS)
    assert.deepEqual(strays, [])
    assert.equal(witness.tell('lives'), undefined)
    const growth = heaps.at(-1)! / Math.min(...heaps.slice(WARM_UP)) - 1
    assert.ok(growth <= HEAP_GROWTH_MAX, `the heap grew by ${(100 * growth).toFixed(1)} %`)
    const { spawned, stopped } = system.metrics()
    assert.deepEqual(await system.stop(), { overdue: [] })
    t.diagnostic(`${spawned} actors lived, ${spawned - stopped} were left at the end`)
  })
})
