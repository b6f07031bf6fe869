import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import { ask, receive, resume, type Behavior, type Ref } from '../kernel/index.ts'
import { Accident, freshId } from '../std/index.ts'
import { explore } from './explore.ts'
import { world, type World } from './world.ts'

type AccountMessage =
  | Readonly<{ type: 'read'; replyTo: Ref<number> }>
  | Readonly<{ type: 'write'; balance: number }>

function account(): Behavior<AccountMessage> {
  let balance = 0
  return receive((_ctx, message) => {
    if (message.type === 'read') message.replyTo.tell(balance)
    else balance = message.balance
  })
}

/** Adds one by reading and writing in two messages: two of them at once may lose one. */
function depositor(to: Ref<AccountMessage>): Behavior<'go'> {
  return receive(async () => {
    const balance = await ask<AccountMessage, number>(to, (replyTo) => ({ type: 'read', replyTo }))
    to.tell({ type: 'write', balance: balance + 1 })
    return undefined
  })
}

async function twoDeposits(w: World): Promise<void> {
  const shared = w.system.spawn('account', account())
  for (const name of ['a', 'b']) w.system.spawn(name, depositor(shared)).tell('go')
  await w.run()
  const end = ask<AccountMessage, number>(shared, (replyTo) => ({ type: 'read', replyTo }))
  assert.equal(await w.until(end), 2)
}

async function oneFailure(w: World): Promise<void> {
  const failing = receive<string>(() => {
    throw new Error('no way')
  })
  w.system.spawn('failing', failing, { supervision: resume() }).tell('go')
  await w.run()
  assert.equal(w.failures.length, 1)
}

async function failureOf(explored: Promise<unknown>): Promise<Accident> {
  try {
    await explored
  } catch (error) {
    assert.ok(error instanceof Accident)
    return error
  }
  return assert.fail('nothing failed')
}

describe('exploring', () => {
  test('plays the scenario once for each seed, the first hundred twice', async () => {
    const seeds: number[] = []
    const explored = await explore(150, (w) => void seeds.push(w.seed))

    assert.equal(seeds.length, 250)
    assert.deepEqual([...new Set(seeds)], [...Array(150).keys()])
    assert.deepEqual(explored, { seeds: 150, twice: 100, steps: explored.steps })

    seeds.length = 0
    await explore([7, 9], (w) => void seeds.push(w.seed), { twice: 1 })
    assert.deepEqual(seeds, [7, 7, 9])
  })

  test('finds a lost update, and says with which seed, which options and how to replay', async () => {
    const failure = await failureOf(explore(100, twoDeposits))

    const { seed, options } = failure.detail as { seed: number; options: object }
    assert.equal(failure.code, 'scenario-failed')
    assert.match(failure.message, new RegExp(`^seed ${seed} fails with \\{ order: '\\w+'`))
    assert.match(failure.message, /1 !== 2/)
    assert.match(
      failure.message,
      /the end of its trace:\n(?: {2}\d+ ms .*\n)+.* \/account received/,
    )
    assert.ok(failure.message.includes(`replay it with explore([${seed}], scenario)`))
    assert.ok(failure.cause instanceof assert.AssertionError)

    const again = await failureOf(explore([seed], twoDeposits))
    assert.equal(again.message, failure.message)
    await using replayed = world({ seed, ...options })
    await assert.rejects(twoDeposits(replayed), assert.AssertionError)
  })

  test('goes on to the end where nothing is wrong', async () => {
    const explored = await explore(200, async (w) => {
      const shared = w.system.spawn('account', account())
      const deposit = w.system.spawn('a', depositor(shared))
      for (let n = 0; n < 3; n++) deposit.tell('go')
      await w.run()
    })
    assert.ok(explored.steps > 200 * 6)
  })

  test('refuses an actor that fails, unless failures are allowed', async () => {
    assert.match((await failureOf(explore(3, oneFailure))).message, /no way/)
    await explore(3, oneFailure, { failures: 'allow' })
  })

  test('catches a scenario that does not do the same again, and shows where', async () => {
    let played = 0
    const failure = await failureOf(
      explore(5, async (w) => {
        w.inbox<string>('steady').tell('same')
        w.inbox<number>('shaky').tell(played++)
        await w.run()
      }),
    )

    assert.equal(failure.code, 'not-deterministic')
    assert.match(
      failure.message,
      /^seed 0 was played twice .*: entry 1 of the trace is 0 ms \/shaky received \{ message: 0 \} at first and 0 ms \/shaky received \{ message: 1 \} then/,
    )
  })

  test('catches an id from outside, and a run that is merely longer', async () => {
    const shaky = receive<string>(() => undefined)
    const ids = explore(5, async (w) => {
      w.system.spawn('a', shaky).tell(freshId())
      await w.run()
    })
    assert.equal((await failureOf(ids)).code, 'not-deterministic')

    let played = 0
    const longer = explore(5, (w) => {
      const box = w.inbox<string>('box')
      for (let n = 0; n <= played; n++) box.tell('x')
      played++
    })
    assert.match(
      (await failureOf(longer)).message,
      /entry 1 of the trace is .* at first and 0 ms \/box received/,
    )
  })

  test('catches a scenario that waits while nobody turns its world', async () => {
    const failure = await failureOf(
      explore(5, async (w) => {
        const shared = w.system.spawn('account', account())
        await ask<AccountMessage, number>(shared, (replyTo) => ({ type: 'read', replyTo }))
      }),
    )

    assert.equal((failure.cause as Accident).code, 'world-unattended')
    assert.match(failure.message, /await world\.until\(promise\)/)
  })

  test('waits for a scenario that is busy with other promises for a while', async () => {
    await explore(5, async (w) => {
      const box = w.inbox<string>('box')
      for (let n = 0; n < 100; n++) await Promise.resolve()
      box.tell('a')
      await box.expect('a')
      for (let n = 0; n < 100; n++) await Promise.resolve()
    })
  })

  test('draws faults only where the scenario bears them', async () => {
    let losses = 0
    const lossy = async (w: World): Promise<void> => {
      const sink = w.link(
        w.system.spawn(
          'sink',
          receive<number>(() => undefined),
        ),
      )
      for (let n = 0; n < 20; n++) sink.tell(n)
      await w.run()
      losses += w.trace.filter(({ type }) => type === 'dead-letter').length
    }

    await explore(50, lossy)
    assert.equal(losses, 0)
    await explore(50, lossy, { faults: ['lost-messages'] })
    assert.ok(losses > 0)
  })

  test('options of the caller stand above those that are drawn', async () => {
    await explore(20, (w) => assert.equal(w.options.order, 'arrival'), {
      world: { order: 'arrival' },
    })
  })

  test('an error of a scenario that is not async has its seed too', async () => {
    const failure = await failureOf(
      explore([3], () => {
        throw new RangeError('at once')
      }),
    )
    assert.match(failure.message, /^seed 3 fails .*at once/)
  })

  test('exploring nothing is refused', async () => {
    for (const seeds of [0, -1, 1.5, NaN, []])
      await assert.rejects(
        explore(seeds, () => undefined),
        { code: 'bad-option' },
      )
  })
})
