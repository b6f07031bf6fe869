import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import { afterIo, isFault } from '../std/index.ts'
import { virtualClock } from '../testkit/index.ts'
import {
  createSteppedSystem,
  createSystem,
  manual,
  receive,
  setup,
  type Behavior,
  type Context,
  type Ref,
  type SteppedSystem,
  type SuspendToken,
} from './index.ts'

function stepped(): SteppedSystem {
  return createSteppedSystem({ name: 'test', clock: virtualClock() })
}

function run(system: SteppedSystem): void {
  while (system.step());
}

/** Lets systems that run by themselves go on until it is true. */
async function until(isTrue: () => boolean): Promise<void> {
  for (let turn = 0; !isTrue() && turn < 10_000; turn++) await new Promise<void>(afterIo)
}

/** Notes what it is told. */
function scribe<M>(notes: M[]): Behavior<M> {
  return receive<M>((_ctx, message) => void notes.push(message))
}

function refuse(): never {
  throw new Error('do not touch')
}

/** Throws whatever is done with it. */
function hostile(): unknown {
  return new Proxy({}, { get: refuse, has: refuse, getPrototypeOf: refuse, ownKeys: refuse })
}

function revoked(): unknown {
  const { proxy, revoke } = Proxy.revocable({}, {})
  revoke()
  return proxy
}

const deaf = receive<string>(() => undefined)

describe('system', () => {
  test('suspend, send, resume: processed', () => {
    const system = stepped()
    const processed: string[] = []
    let token: SuspendToken | undefined
    const actor = system.spawn(
      'actor',
      receive<string>((ctx, message) => {
        processed.push(message)
        if (message === 'suspend') token = ctx.suspend('user', manual())
      }),
    )

    actor.tell('suspend')
    run(system)
    actor.tell('work')
    run(system)
    assert.deepEqual(processed, ['suspend'])
    assert.equal(system.readyDepth, 0)

    token?.resume()
    run(system)
    assert.deepEqual(processed, ['suspend', 'work'])
  })

  test('suspend, send, resume: processed, by a system that runs by itself', async () => {
    await using system = createSystem()
    const processed: number[] = []
    const actor = system.spawn('actor', scribe(processed))
    const token = actor.suspend('external', manual())

    for (let n = 0; n < 100; n++) actor.tell(n)
    await new Promise<void>(afterIo)
    assert.deepEqual(processed, [])
    assert.equal(system.metrics().ready_depth, 0)

    token.resume()
    await until(() => processed.length === 100)
    assert.deepEqual(processed, [...new Array<undefined>(100).keys()])
  })

  test('what an actor was told is handled one by one, in order', async () => {
    await using system = createSystem()
    const notes: number[] = []
    const actor = system.spawn('actor', scribe(notes), { bound: 1_000 })

    for (let n = 0; n < 1_000; n++) assert.equal(actor.tell(n), undefined)
    await until(() => notes.length === 1_000)

    assert.deepEqual(notes, [...new Array<undefined>(1_000).keys()])
  })

  test('every value can be a message', () => {
    const system = stepped()
    const notes: unknown[] = []
    const actor = system.spawn('actor', scribe(notes))
    const values = [undefined, null, 0, Number.NaN, '', false, Symbol.iterator, () => 1, 1n, {}]

    for (const value of values) actor.tell(value)
    run(system)

    assert.deepEqual(notes, values)
  })

  test('even what cannot be touched can be a message, on every way it may go', async () => {
    for (const message of [hostile(), revoked()]) {
      for (const listens of [false, true]) {
        const system = stepped()
        if (listens) system.trace(() => undefined)
        let handled = 0
        const counting = receive<unknown>(() => void handled++)
        const full = system.spawn('full', counting, { bound: 1 })
        full.tell(message)
        assert.equal(full.tell(message)?.code, 'mailbox-full')
        const dropping = system.spawn('dropping', counting, { bound: 1, overflow: 'drop-oldest' })
        for (let n = 0; n < 2; n++) dropping.tell(message)
        const failing = system.spawn(
          'failing',
          receive<unknown>(() => {
            throw new Error('no')
          }),
        )
        for (let n = 0; n < 2; n++) failing.tell(message)
        run(system)

        assert.equal(handled, 2)
        assert.equal(failing.tell(message)?.code, 'actor-stopped')
        assert.equal(system.metrics().failures, 1)
        const { dead_letters } = system.metrics()
        assert.deepEqual(dead_letters, { 'mailbox-full': 1, 'dropped-oldest': 1, stopped: 2 })

        await using running = createSystem()
        const plain = running.spawn('plain', counting)
        for (let n = 0; n < 100; n++) plain.tell(message)
        plain.stop()
        assert.equal((await plain.ended).cause, 'stopped')
      }
    }
  })

  test('a behavior answered by a handler takes the next message', () => {
    const system = stepped()
    const notes: string[] = []
    const second = receive<string>((_ctx, message) => void notes.push(`second ${message}`))
    const actor = system.spawn(
      'actor',
      receive<string>((_ctx, message) => {
        notes.push(`first ${message}`)
        return second
      }),
    )

    for (const message of ['a', 'b']) actor.tell(message)
    run(system)

    assert.deepEqual(notes, ['first a', 'second b'])
  })

  test("'same' goes on, 'stopped' ends, and what waits then is a dead letter", async () => {
    const system = stepped()
    const notes: string[] = []
    const actor = system.spawn(
      'actor',
      receive<string>((_ctx, message) => {
        notes.push(message)
        return message === 'end' ? 'stopped' : 'same'
      }),
    )

    for (const message of ['go on', 'end', 'late']) actor.tell(message)
    run(system)

    assert.deepEqual(notes, ['go on', 'end'])
    assert.deepEqual(await actor.ended, { path: '/actor', cause: 'stopped', error: undefined })
    assert.deepEqual(
      system.deadLetters.map(({ path, message, reason }) => ({ path, message, reason })),
      [{ path: '/actor', message: 'late', reason: 'stopped' }],
    )
  })

  test('a setup is made in the first turn, before the first message', () => {
    const system = stepped()
    const notes: string[] = []
    const actor = system.spawn(
      'actor',
      setup<string>((ctx) => {
        notes.push(`made at ${ctx.path}`)
        return scribe(notes)
      }),
    )
    assert.deepEqual(notes, [])

    actor.tell('first')
    run(system)

    assert.deepEqual(notes, ['made at /actor', 'first'])
  })

  test('a bound given to the system holds for actors without one of their own', () => {
    const system = createSteppedSystem({ clock: virtualClock(), bound: 2 })
    const plain = system.spawn('plain', deaf)
    const own = system.spawn('own', deaf, { bound: 3 })

    const refused = [plain, own].map(
      (actor) => ['a', 'b', 'c', 'd'].filter((message) => actor.tell(message) !== undefined).length,
    )

    assert.deepEqual(refused, [2, 1])
  })
})

describe('names', () => {
  test('a path is the way from the top', () => {
    const system = stepped()
    const paths: string[] = []
    const leaf = setup<string>((ctx) => {
      paths.push(ctx.path, ctx.self.path)
      return deaf
    })
    const root = system.spawn(
      'orders',
      setup<string>((ctx) => {
        paths.push(ctx.spawn('order-17', leaf).path)
        return deaf
      }),
    )
    run(system)

    assert.equal(root.path, '/orders')
    assert.deepEqual(paths, ['/orders/order-17', '/orders/order-17', '/orders/order-17'])
  })

  test('actors without a name have a path of their own all the same', () => {
    const system = stepped()
    const paths = [1, 2, 3].map(() => system.spawnAnonymous(deaf).path)

    assert.equal(new Set(paths).size, 3)
    for (const path of paths) assert.match(path, /^\/\$\d+$/u)
  })

  test('children are found by name and listed by age', () => {
    const system = stepped()
    let context: Context<string> | undefined
    system.spawn(
      'parent',
      setup<string>((ctx) => {
        context = ctx
        for (const name of ['a', 'b', 'c']) ctx.spawn(name, deaf)
        return deaf
      }),
    )
    run(system)

    assert.deepEqual(
      context?.children.map(({ path }) => path),
      ['/parent/a', '/parent/b', '/parent/c'],
    )
    assert.equal(context.child('b')?.path, '/parent/b')
    assert.equal(context.child('d'), undefined)
  })

  test('an actor is found at its path as long as it lives', () => {
    const system = stepped()
    const notes: string[] = []
    const parent = system.spawn(
      'parent',
      setup<string>((ctx) => {
        ctx.spawn('child', scribe(notes))
        return deaf
      }),
    )
    run(system)

    const found = system.find('/parent/child')
    assert.ok(!isFault(found))
    ;(found as Ref<never> as Ref<unknown>).tell('found')
    run(system)
    assert.deepEqual(notes, ['found'])
    assert.equal(system.find('/parent'), parent)

    found.stop()
    run(system)
    assert.ok(isFault(system.find('/parent/child')))
  })

  test('an unknown name is answered with what is there', () => {
    const system = stepped()
    system.spawn('a', deaf)
    system.spawn('b', deaf)

    for (const path of ['/c', '/c/d', 'c', '/', '']) {
      const missing = system.find(path)
      assert.ok(isFault(missing), path)
      assert.equal(missing.code, 'no-such-actor')
      assert.equal(missing.detail['actor'], path)
      assert.deepEqual(missing.detail['present'], ['a', 'b'])
      assert.match(String(missing.detail['remedy']), /a, b/u)
    }
  })

  test('a name is free again once its actor has ended, not before', async () => {
    const system = stepped()
    const { promise, resolve } = Promise.withResolvers<void>()
    const first = system.spawn(
      'name',
      receive<string>(() => undefined, { onStop: () => promise }),
    )
    first.stop()
    run(system)
    assert.throws(() => system.spawn('name', deaf), { code: 'name-taken' })

    resolve()
    await first.ended

    const second = system.spawn('name', deaf)
    assert.notEqual(second, first)
    assert.equal(first.tell('old')?.code, 'actor-stopped')
    assert.equal(second.tell('new'), undefined)
  })

  test('an address reaches its actor, and nobody once that has ended', () => {
    const system = stepped()
    const notes: string[] = []
    const first = system.spawn('name', scribe(notes))
    const address = system.addressOf(first)
    assert.equal(system.tellAt(address, 'one'), undefined)
    run(system)

    first.stop()
    run(system)
    const second = system.spawn('name', scribe(notes))
    system.addressOf(second)

    const refusal = system.tellAt(address, 'two')
    run(system)
    assert.equal(refusal?.code, 'stale-address')
    assert.deepEqual(notes, ['one'])
    assert.deepEqual(system.metrics().dead_letters, { 'stale-address': 1 })
  })
})

describe('the end of a system', () => {
  test('a stop ends everybody and refuses everything after', async () => {
    const system = stepped()
    const actors = ['a', 'b', 'c'].map((name) => system.spawn(name, deaf))
    const stopped = system.stop()
    run(system)

    assert.deepEqual(await stopped, { overdue: [] })
    for (const actor of actors) {
      assert.equal((await actor.ended).cause, 'parent-stopped')
      assert.equal(actor.tell('late')?.code, 'actor-stopped')
    }
    assert.throws(() => system.spawn('late', deaf), { code: 'actor-stopped' })
    assert.equal(system.clock.monotonic(), 0)
    assert.equal(system.metrics().timers_pending, 0)
  })

  test('a second stop waits for the first, and one after the end is done at once', async () => {
    const system = stepped()
    system.spawn('a', deaf)
    const both = [system.stop(), system.stop()]
    run(system)

    assert.deepEqual(await Promise.all(both), [{ overdue: [] }, { overdue: [] }])
    assert.deepEqual(await system.stop(), { overdue: [] })
  })

  test('a system and a handle may be disposed of', async () => {
    const ends: string[] = []
    {
      await using system = createSystem()
      {
        await using actor = system.spawn('actor', deaf)
        void actor.ended.then(({ path, cause }) => ends.push(`${path} ${cause}`))
      }
      assert.deepEqual(ends, ['/actor stopped'])
      const other = system.spawn('other', deaf)
      void other.ended.then(({ path, cause }) => ends.push(`${path} ${cause}`))
    }

    assert.deepEqual(ends, ['/actor stopped', '/other parent-stopped'])
  })

  test('an empty system stops too', async () => {
    assert.deepEqual(await createSystem().stop(), { overdue: [] })
  })
})

describe('figures', () => {
  test('lives and failures are counted', () => {
    const system = stepped()
    const failing = system.spawn(
      'failing',
      receive<string>(() => {
        throw new Error('no')
      }),
    )
    system.spawn('other', deaf)

    failing.tell('fail')
    run(system)

    const { spawned, stopped, failures } = system.metrics()
    assert.deepEqual({ spawned, stopped, failures }, { spawned: 2, stopped: 1, failures: 1 })
  })

  test('a listener that throws is kept from harm, and so are the others', () => {
    const system = stepped()
    const heard: string[] = []
    const leave = system.trace(() => {
      throw new Error('no')
    })
    system.trace(({ type }) => heard.push(type))
    const letters: unknown[] = []
    system.onDeadLetter(() => {
      throw new Error('no')
    })
    const ignore = system.onDeadLetter(({ message }) => letters.push(message))
    const actor = system.spawn('actor', deaf)

    actor.tell('hello')
    run(system)
    actor.stop()
    run(system)
    actor.tell('late')
    ignore()
    actor.tell('later')
    leave()

    assert.deepEqual(heard, ['spawned', 'received', 'stopped', 'dead-letter', 'dead-letter'])
    assert.deepEqual(letters, ['late'])
  })

  test('whoever listens to a system that runs by itself misses nothing', async () => {
    await using system = createSystem()
    const heard: unknown[] = []
    let handled = 0
    const actor = system.spawn(
      'actor',
      receive<string>(() => void handled++),
    )
    actor.tell('before')
    const leave = system.trace(({ type, facts }) => heard.push([type, facts['message']]))
    actor.tell('during')
    await until(() => heard.length === 2)
    leave()
    actor.tell('after')
    await until(() => handled === 3)

    assert.deepEqual(heard, [
      ['received', 'before'],
      ['received', 'during'],
    ])
  })
})
