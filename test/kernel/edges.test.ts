/** The corners of the kernel, one by one: where a lane grows, an address is reused, an actor acts on itself. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import {
  createSteppedSystem,
  createSystem,
  escalate,
  manual,
  receive,
  restart,
  type Handle,
  type SteppedSystem,
  type SuspendToken,
  type System,
} from '../../src/kernel/index.ts'
import { afterIo, silentLog } from '../../src/std/index.ts'
import { HandClock } from './hand-clock.ts'

/** One cell owns at most so many entries of the express lane, and its ring begins with twice 512. */
const EXPRESS = 128
const RING = 1_024
const TURNS_MAX = 100_000
const OVERFLOWS = ['reject', 'drop-newest', 'drop-oldest', 'suspend-sender'] as const

function stepped(): SteppedSystem {
  return createSteppedSystem({ clock: new HandClock(), log: silentLog })
}

function run(system: SteppedSystem): void {
  while (system.step());
}

/** Long enough for the few messages of these tests, however little a drain may do. */
async function quiet(): Promise<void> {
  for (let turn = 0; turn < 50; turn++) await new Promise<void>(afterIo)
}

/** Until everybody has been told so much. */
async function until(seen: readonly number[][], count: number): Promise<void> {
  for (let turn = 0; turn < TURNS_MAX; turn++) {
    if (seen.every((own) => own.length >= count)) return
    await new Promise<void>(afterIo)
  }
}

function upTo(count: number): number[] {
  return Array.from({ length: count }, (_, n) => n)
}

/** Actors that write down what they are told, each with its own list. */
function scribes(system: System, count: number): { refs: Handle<number>[]; seen: number[][] } {
  const seen = upTo(count).map((): number[] => [])
  const refs = seen.map((own) => system.spawnAnonymous(receive<number>((_, n) => void own.push(n))))
  return { refs, seen }
}

describe('the express lane', () => {
  test('grows with its head in the middle and keeps all order', async () => {
    await using system = createSystem()
    const { refs, seen } = scribes(system, (RING / EXPRESS) * 3)
    for (const n of upTo(37)) refs[0]?.tell(n)
    await quiet()

    for (const n of upTo(EXPRESS)) for (const ref of refs) ref.tell(n)
    await until(seen, EXPRESS)

    const [first, ...others] = seen
    assert.deepEqual(first, [...upTo(37), ...upTo(EXPRESS)])
    for (const own of others) assert.deepEqual(own, upTo(EXPRESS))
  })

  test('grows while it is being drained', async () => {
    await using system = createSystem()
    const { refs, seen } = scribes(system, (RING / EXPRESS) * 12)
    const flooder = system.spawnAnonymous(
      receive<number>((_, n) => {
        for (const ref of refs) ref.tell(n)
      }),
    )

    for (const n of upTo(EXPRESS)) flooder.tell(n)
    await until(seen, EXPRESS)

    for (const own of seen) assert.deepEqual(own, upTo(EXPRESS))
  })

  test('and the mailbox behind it are one line: past the quota nothing overtakes', async () => {
    await using system = createSystem()
    const { refs, seen } = scribes(system, 2)

    for (const n of upTo(EXPRESS * 5)) for (const ref of refs) ref.tell(n)
    await until(seen, EXPRESS * 5)

    for (const own of seen) assert.deepEqual(own, upTo(EXPRESS * 5))
  })

  test('keeps order through suspension, surfacing, the mailbox, and back onto the lane', async () => {
    await using system = createSystem()
    const { refs, seen } = scribes(system, 1)
    const [actor] = refs
    assert.ok(actor !== undefined)
    let n = 0
    const tell = (count: number): void => {
      for (let i = 0; i < count; i++) actor.tell(n++)
    }

    tell(10) // on the lane
    const token = actor.suspend('user', manual())
    tell(5) // behind it, in the mailbox
    await quiet() // those on the lane surface
    assert.deepEqual(seen[0], [])
    tell(5)
    token.resume()
    tell(5) // while the mailbox has not been run yet
    await quiet()
    tell(EXPRESS + 10) // the lane again, and past its quota
    actor.suspend('user', manual()).resume()
    tell(5)
    await quiet()

    assert.deepEqual(seen[0], upTo(n))
  })

  test('passes by an actor that is suspended while it is next', async () => {
    await using system = createSystem()
    const { refs, seen } = scribes(system, 1)
    const [next] = refs
    let token: SuspendToken | undefined
    const first = system.spawnAnonymous(
      receive<string>(() => void (token = next?.suspend('user', manual()))),
    )

    first.tell('suspend the next')
    for (const n of upTo(3)) next?.tell(n)
    await quiet()
    assert.deepEqual(seen[0], [])

    token?.resume()
    await quiet()
    assert.deepEqual(seen[0], upTo(3))
  })
})

describe('the mailbox', () => {
  test('grows from chunk to chunk with its head in the middle', () => {
    const system = stepped()
    const { refs, seen } = scribes(system, 1)
    const [actor] = refs
    let n = 0
    const tell = (count: number): void => {
      for (let i = 0; i < count; i++) actor?.tell(n++)
    }
    const take = (count: number): void => {
      for (let i = 0; i < count; i++) system.step()
    }

    tell(10)
    take(7)
    tell(30) // past the first chunk
    take(20)
    tell(3_000) // past two large ones
    take(1_500)
    tell(500)
    run(system)
    tell(20) // it begins small again
    run(system)

    assert.deepEqual(seen[0], upTo(n))
  })
})

describe('an address', () => {
  test('goes stale with its actor and never names who has its slot next', () => {
    const system = stepped()
    const seen: string[] = []
    const spawn = (): Handle<string> =>
      system.spawnAnonymous(receive<string>((_, message) => void seen.push(message)))
    const stale = upTo(50).map(() => {
      const actor = spawn()
      const address = system.addressOf(actor)
      actor.stop()
      run(system)
      return address
    })
    const stranger = spawn()
    const { slot } = system.addressOf(stranger)
    assert.ok(stale.every((address) => address.slot === slot))

    for (const address of stale)
      assert.equal(system.tellAt(address, 'hello')?.code, 'stale-address')
    run(system)

    assert.deepEqual(seen, [])
    assert.equal(system.metrics().dead_letters['stale-address'], stale.length)
  })
})

describe('an actor', () => {
  test('that suspends itself ends its message first, and goes on with the next when resumed', () => {
    const system = stepped()
    const seen: string[] = []
    let token: SuspendToken | undefined
    const actor = system.spawnAnonymous(
      receive<string>((ctx, message) => {
        if (message === 'rest') token = ctx.suspend('user', manual())
        seen.push(message)
      }),
    )
    for (const message of ['before', 'rest', 'after']) actor.tell(message)

    run(system)
    assert.deepEqual(seen, ['before', 'rest'])
    assert.equal(system.readyDepth, 0)

    token?.resume()
    run(system)
    assert.deepEqual(seen, ['before', 'rest', 'after'])
  })

  test('that stops itself ends its message first; the rest are dead letters', () => {
    const system = stepped()
    const seen: string[] = []
    const actor = system.spawnAnonymous(
      receive<string>((ctx, message) => {
        if (message === 'stop') ctx.stop(ctx.self)
        seen.push(message)
      }),
    )
    for (const message of ['before', 'stop', 'after']) actor.tell(message)
    run(system)

    assert.deepEqual(seen, ['before', 'stop'])
    assert.deepEqual(
      system.deadLetters.map(({ message }) => message),
      ['after'],
    )
  })

  test('that is full is told by itself what anybody would be told, and never waits for itself', () => {
    const outcomes = OVERFLOWS.map((overflow) => {
      const system = stepped()
      const seen: string[] = []
      const codes: (string | undefined)[] = []
      const actor = system.spawnAnonymous(
        receive<string>((ctx, message) => {
          seen.push(message)
          if (message !== 'first') return
          for (const own of ['a', 'b']) codes.push(ctx.self.tell(own)?.code)
        }),
        { bound: 1, overflow },
      )
      actor.tell('first')
      run(system)
      return { overflow, codes, seen }
    })

    assert.deepEqual(outcomes, [
      { overflow: 'reject', codes: [undefined, 'mailbox-full'], seen: ['first', 'a'] },
      { overflow: 'drop-newest', codes: [undefined, undefined], seen: ['first', 'a'] },
      { overflow: 'drop-oldest', codes: [undefined, undefined], seen: ['first', 'b'] },
      {
        overflow: 'suspend-sender',
        codes: [undefined, 'backpressure-cycle'],
        seen: ['first', 'a'],
      },
    ])
  })

  for (const late of ['resolved', 'rejected'] as const) {
    test(`that restarts while it awaits ignores a promise of its earlier life, ${late}`, async () => {
      const system = stepped()
      const { promise, resolve, reject } = Promise.withResolvers<'stopped'>()
      const seen: string[] = []
      const failing = receive<string>(() => {
        throw new Error('as planned')
      })
      const parent = system.spawnAnonymous(
        receive<string>((ctx, message) => {
          seen.push(message)
          if (message !== 'await') return undefined
          ctx.spawnAnonymous(failing, { supervision: escalate() }).tell('fail')
          return promise
        }),
        { supervision: restart({ backoff: { minMs: 0 } }) },
      )
      parent.tell('await')
      parent.tell('after')
      run(system)
      assert.equal(system.metrics().restarts, 1)
      assert.deepEqual(seen, ['await', 'after'])

      if (late === 'resolved') resolve('stopped')
      else reject(new Error('too late'))
      await promise.catch(() => undefined)
      parent.tell('still there')
      run(system)

      assert.deepEqual(seen, ['await', 'after', 'still there'])
      assert.equal(system.metrics().restarts, 1)
    })
  }
})

describe('two tokens', () => {
  for (const order of [
    [0, 1],
    [1, 0],
  ] as const) {
    test(`hold an actor until both are given back, number ${order[0]} first`, () => {
      const system = stepped()
      const { refs, seen } = scribes(system, 1)
      const [actor] = refs
      const tokens = [actor?.suspend('user', manual()), actor?.suspend('external', manual())]
      actor?.tell(7)

      tokens[order[0]]?.resume()
      run(system)
      assert.deepEqual(seen[0], [])

      tokens[order[1]]?.resume()
      run(system)
      assert.deepEqual(seen[0], [7])
    })
  }

  test('are not one: giving one back twice is counted, and the other still holds', () => {
    const system = stepped()
    const { refs, seen } = scribes(system, 1)
    const [actor] = refs
    const [first, second] = [actor?.suspend('user', manual()), actor?.suspend('user', manual())]
    actor?.tell(7)

    first?.resume()
    first?.resume()
    run(system)
    assert.deepEqual(seen[0], [])
    assert.equal(system.metrics().resume_unbalanced, 1)

    second?.resume()
    run(system)
    assert.deepEqual(seen[0], [7])
    assert.equal(system.metrics().resume_count, 2)
  })
})
