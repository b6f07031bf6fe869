import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import type { StandardSchemaV1 } from '@standard-schema/spec'

import { world, type World } from '../testkit/index.ts'
import type { Broker } from './broker.ts'
import { queue, type Queue, type QueueOptions } from './client.ts'
import { createBroker } from './create-broker.ts'

type Job = { id: number; note?: string }

const jobSchema: StandardSchemaV1<unknown, Job> = {
  '~standard': {
    version: 1,
    vendor: 'by hand',
    validate: (value) =>
      typeof value === 'object' && value !== null && 'id' in value && typeof value.id === 'number'
        ? { value: { id: value.id } }
        : { issues: [{ message: 'a number was expected', path: ['id'] }] },
  },
}

type Office = Readonly<{ town: World; broker: Broker; jobs: Queue<Job> }> & AsyncDisposable

async function office(options: QueueOptions<Job> = { config: {} }): Promise<Office> {
  const town = world()
  const { system, clock } = town
  const broker = await town.until(
    town.journal().then((journal) => createBroker({ system, journal })),
  )
  const jobs = queue<Job>(broker, 'jobs', { clock, ...options })
  return { town, broker, jobs, [Symbol.asyncDispose]: () => town[Symbol.asyncDispose]() }
}

/** What was answered must not be a refusal. */
function granted<T extends object>(answer: T): Exclude<T, { ok: false }> {
  assert.ok(!('ok' in answer && answer.ok === false), JSON.stringify(answer))
  return answer as Exclude<T, { ok: false }>
}

function refusal(answer: object): string {
  assert.ok('code' in answer, JSON.stringify(answer))
  return String(answer.code)
}

describe('a queue of values', () => {
  test('gives back what it was given', async () => {
    await using at = await office()
    const sent = granted(await at.town.until(at.jobs.send({ id: 1, note: 'ä' }, { priority: 3 })))
    const [message] = granted(await at.town.until(at.jobs.receive()))

    assert.deepEqual(message?.body, { id: 1, note: 'ä' })
    assert.deepEqual([message?.messageId, message?.priority], [sent.messageId, 3])
    assert.deepEqual(await at.town.until(message.ack()), { ok: true, effective: true })
    assert.deepEqual(granted(await at.town.until(at.jobs.receive())), [])
  })

  test('takes only fields of its type', async () => {
    await using at = await office()
    // @ts-expect-error -- a field that nobody has heard of
    const sending = at.jobs.send({ id: 1, nmae: 'x' })
    // @ts-expect-error -- and one of another kind
    const batch = at.jobs.sendBatch([{ body: { id: '1' } }])
    await at.town.until(Promise.all([sending, batch]))
    at.jobs.consume((job) => {
      // @ts-expect-error -- which is so on the other side too
      assert.equal(job.nmae, undefined)
    })
  })

  test('is made when it is first needed, with a queue for dead letters and five receives', async () => {
    await using at = await office()
    assert.equal(refusal(at.broker.describe(at.jobs.name)), 'no-such-queue')
    await at.town.until(at.jobs.receive())
    const { config } = granted(at.broker.describe(at.jobs.name))
    assert.deepEqual([config.deadLetterQueue, config.maxReceives], ['jobs_dlq', 5])
    assert.deepEqual(at.jobs.name, { account: '000000000000', region: 'local', name: 'jobs' })
  })

  test('that is FIFO has its dead letters in one that is', async () => {
    await using at = await office()
    const line = queue<Job>(at.broker, 'line.fifo', { config: { contentDedup: true } })
    granted(await at.town.until(line.send({ id: 1 }, { group: 'a' })))
    const again = granted(await at.town.until(line.send({ id: 1 }, { group: 'a' })))
    const { config } = granted(at.broker.describe(line.name))
    assert.deepEqual([config.fifo, config.deadLetterQueue], [true, 'line_dlq.fifo'])
    assert.equal(again.duplicate, true)
  })

  test('may have no dead letters, or have them elsewhere', async () => {
    await using at = await office()
    const none = queue(at.broker, 'none', { config: { deadLetterQueue: undefined } })
    const other = queue(at.broker, 'other', { config: { deadLetterQueue: 'graveyard' } })
    await at.town.until(Promise.all([none.send(1), other.send(1)]))
    assert.equal(granted(at.broker.describe(none.name)).config.deadLetterQueue, undefined)
    assert.equal(granted(at.broker.describe(other.name)).config.deadLetterQueue, 'graveyard')
    const works: Promise<object>[] = [none.dlq.browse(), none.dlq.redrive(), none.dlq.purge()]
    for (const work of works) assert.equal(refusal(await at.town.until(work)), 'no-dead-letters')
  })

  test('for dead letters has none of its own, and hands them out without end', async () => {
    await using at = await office()
    const dead = queue(at.broker, 'jobs_dlq', { config: {} })
    await at.town.until(dead.receive())
    const { config } = granted(at.broker.describe(dead.name))
    assert.deepEqual([config.deadLetterQueue, config.maxReceives], [undefined, Infinity])
  })

  test('whose name leaves no room for that of its dead letters is refused', async () => {
    await using at = await office()
    const [fits, over] = ['q'.repeat(76), 'q'.repeat(77)].map((name) =>
      queue(at.broker, name, { config: {} }),
    )
    granted(await at.town.until(fits!.send(1)))
    assert.equal(refusal(await at.town.until(over!.send(1))), 'bad-queue-config')
    const named = queue(at.broker, over!.name, { config: { deadLetterQueue: 'dead' } })
    granted(await at.town.until(named.send(1)))
  })

  test('sends its dead letters neither to itself nor out of order', async () => {
    await using at = await office()
    for (const [name, deadLetterQueue] of [
      ['a', 'a'],
      ['a', 'b.fifo'],
      ['a.fifo', 'b'],
      ['a', 'no name'],
      ['a', 'b'.repeat(81)],
    ] as const) {
      const wrong = queue(at.broker, name, { config: { deadLetterQueue } })
      assert.equal(refusal(await at.town.until(wrong.send(1))), 'bad-queue-config')
    }
  })

  test('that is there with another config is refused, and one without a config has to be there', async () => {
    await using at = await office()
    granted(await at.town.until(at.jobs.send({ id: 1 })))
    const other = queue<Job>(at.broker, 'jobs', { config: { visibilityMs: 1 } })
    assert.equal(refusal(await at.town.until(other.send({ id: 2 }))), 'queue-exists')
    const missing = queue<Job>(at.broker, 'missing')
    const works: Promise<object>[] = [missing.send({ id: 1 }), missing.receive()]
    for (const work of [...works, missing.dlq.browse()])
      assert.equal(refusal(await at.town.until(work)), 'no-such-queue')
  })

  test('refuses what JSON has no form for', async () => {
    await using at = await office()
    const anything = queue(at.broker, 'jobs', { config: {} })
    const cycle: unknown[] = []
    cycle.push(cycle)
    for (const body of [undefined, 1n, cycle, () => 1])
      assert.equal(refusal(await at.town.until(anything.send(body))), 'bad-message')
  })

  test('answers each of a batch, in order', async () => {
    await using at = await office({ config: { messageBytesMax: 20 }, schema: jobSchema })
    const wrong = { id: 'x' } as unknown as Job
    const answers = await at.town.until(
      at.jobs.sendBatch([
        { body: { id: 1 } },
        { body: wrong },
        { body: { id: 2, note: 'much too long for it' } },
        { body: { id: 3 }, delayMs: 1_000 },
      ]),
    )
    assert.deepEqual(
      answers.map((answer) => (answer.ok ? 'sent' : answer.code)),
      ['sent', 'bad-message', 'message-too-large', 'sent'],
    )
    assert.deepEqual(await at.town.until(at.jobs.sendBatch([])), [])
    assert.deepEqual(await at.town.until(at.jobs.sendBatch([{ body: wrong }])), [answers[1]])
  })
})

describe('a schema', () => {
  test('is asked before anything is sent, as whoever receives it would ask', async () => {
    await using at = await office({ config: {}, schema: jobSchema })
    const answer = await at.town.until(at.jobs.send({ id: Number.NaN }))
    assert.equal(refusal(answer), 'bad-message')
    assert.deepEqual('detail' in answer && answer.detail['issues'], ['id: a number was expected'])
  })

  test('makes what is received', async () => {
    await using at = await office({ config: {}, schema: jobSchema })
    granted(await at.town.until(at.jobs.send({ id: 1, note: 'left out by the schema' })))
    const [message] = granted(await at.town.until(at.jobs.receive()))
    assert.deepEqual(message?.body, { id: 1 })
  })

  test('sends what is wrong to the dead letters, with what is wrong with it', async () => {
    await using at = await office({ config: {}, schema: jobSchema })
    granted(await at.town.until(at.jobs.send({ id: 1 })))
    for (const body of ['{"id":"one"}', 'no JSON'])
      await at.town.until(at.broker.send(at.jobs.name, [{ body }]))

    const received = granted(await at.town.until(at.jobs.receive({ max: 10 })))
    const { messages } = granted(await at.town.until(at.jobs.dlq.browse()))

    assert.deepEqual(
      received.map(({ body }) => body),
      [{ id: 1 }],
    )
    assert.deepEqual(
      messages.map(({ body, failures }) => [body, failures[0]?.reason]),
      [
        ['{"id":"one"}', 'id: a number was expected'],
        ['no JSON', 'the body is not JSON'],
      ],
    )
  })

  test('that throws, or takes its time, has refused as well', async () => {
    const moody: StandardSchemaV1<unknown, Job> = {
      '~standard': {
        version: 1,
        vendor: 'by hand',
        validate: async (value) => {
          if (JSON.stringify(value).includes('throw')) throw new Error('in a bad mood')
          return { issues: [{ message: 'no', path: [{ key: 'a' }, 0] }] }
        },
      },
    }
    await using at = await office({ config: {}, schema: moody })
    const refused = await at.town.until(at.jobs.send({ id: 1 }))
    assert.deepEqual('detail' in refused && refused.detail['issues'], ['a.0: no'])
    const thrown = await at.town.until(at.jobs.send({ id: 1, note: 'throw' }))
    assert.deepEqual('detail' in thrown && thrown.detail['issues'], [
      'the schema failed: Error: in a bad mood',
    ])
  })
})

describe('a received message', () => {
  test('can be given back, put off, kept longer, released and rejected', async () => {
    await using at = await office({ config: { visibilityMs: 1_000 } })
    const { town, jobs } = at
    const next = async () => granted(await town.until(jobs.receive()))[0]
    await town.until(jobs.send({ id: 1 }))

    granted(await town.until((await next())!.release()))
    const released = (await next())!
    assert.equal(released.receives, 1)
    granted(await town.until(released.extend(5_000)))
    await town.advance(4_000)
    assert.equal(await next(), undefined)
    granted(await town.until(released.nack({ reason: 'later', delayMs: 500 })))
    assert.equal(await next(), undefined)
    await town.advance(500)
    const again = (await next())!
    assert.deepEqual([again.receives, again.failures[0]?.reason], [2, 'later'])
    granted(await town.until(again.reject('poison')))
    assert.equal(await next(), undefined)
    const { messages } = granted(await town.until(jobs.dlq.browse()))
    assert.equal(messages[0]?.failures.at(-1)?.reason, 'poison')
  })
})

describe('dead letters', () => {
  test('are none until somebody dies', async () => {
    await using at = await office()
    const { town, jobs } = at
    assert.deepEqual(await town.until(jobs.dlq.browse()), { ok: true, messages: [] })
    assert.deepEqual(await town.until(jobs.dlq.purge()), { ok: true, purged: 0 })
    assert.equal(refusal(await town.until(jobs.dlq.redrive())), 'no-dead-letters')
  })

  test('go back to where they died, or are gone', async () => {
    await using at = await office({ config: { maxReceives: 1 } })
    const { town, jobs } = at
    await town.until(jobs.sendBatch([1, 2, 3].map((id) => ({ body: { id } }))))
    for (const message of granted(await town.until(jobs.receive({ max: 3 }))))
      granted(await town.until(message.nack({ reason: `no ${message.body.id}` })))
    const dead = granted(await town.until(jobs.dlq.browse({ limit: 2 })))
    assert.equal(dead.messages.length, 2)
    assert.notEqual(dead.next, undefined)

    const ids = [dead.messages[1]!.messageId]
    granted(await town.until(jobs.dlq.redrive({ ids })))
    await town.advance(1_000)
    const [back] = granted(await town.until(jobs.receive({ max: 3 })))
    assert.deepEqual(back?.body, { id: 2 })
    assert.deepEqual(granted(await town.until(jobs.dlq.purge())), { ok: true, purged: 2 })
  })
})

describe('a loop over messages', () => {
  test('gets one after another, and ends with its signal', async () => {
    await using at = await office()
    const { town, jobs } = at
    const ending = new AbortController()
    const seen: number[] = []
    const looping = (async () => {
      for await (const message of jobs.messages({ signal: ending.signal })) {
        seen.push(message.body.id)
        await message.ack()
      }
      return 'ended'
    })()
    await town.until(jobs.send({ id: 1 }))
    await town.advance(100_000)
    await town.until(jobs.send({ id: 2 }))
    await town.until(() => seen.length === 2)
    ending.abort()
    assert.equal(await town.until(looping), 'ended')
    assert.deepEqual(seen, [1, 2])
    granted(await town.until(jobs.send({ id: 3 })))
    assert.equal(granted(await town.until(jobs.receive())).length, 1)
  })

  test('throws where there is no such queue', async () => {
    await using at = await office({})
    const first = at.jobs.messages()[Symbol.asyncIterator]().next()
    await assert.rejects(at.town.until(first), { code: 'no-such-queue' })
  })
})

describe('a signal', () => {
  test('that has aborted lets nothing begin', async () => {
    await using at = await office()
    const { jobs, town } = at
    const signal = AbortSignal.abort(new Error('enough'))
    const works: (() => Promise<object>)[] = [
      () => jobs.send({ id: 1 }, { signal }),
      () => jobs.sendBatch([{ body: { id: 1 } }], { signal }),
      () => jobs.receive({ signal }),
      () => jobs.dlq.browse({ signal }),
      () => jobs.dlq.redrive({ signal }),
      () => jobs.dlq.purge({ signal }),
    ]
    for (const work of works) await assert.rejects(town.until(work()), { message: 'enough' })
  })

  test('ends waiting, and what nobody was given stays', async () => {
    await using at = await office()
    const { town, jobs } = at
    const ending = new AbortController()
    const waiting = jobs.receive({ waitMs: 20_000, signal: ending.signal })
    await town.advance(1_000)
    ending.abort(new Error('enough'))
    await assert.rejects(town.until(waiting), { message: 'enough' })
    await town.until(jobs.send({ id: 1 }))
    const [message] = granted(await town.until(jobs.receive()))
    assert.equal(message?.receives, 1)
  })
})
