/** Queues themselves over HTTP: made, told, paused, marked, listed, ended. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import { counter } from '../../../test/broker/counter.ts'
import { BROWSE_DEFAULT, BROWSE_MAX } from '../own-queues.ts'

type Fields = Readonly<Record<string, unknown>>

function config(body: Fields): Fields {
  return body['config'] as Fields
}

function names(body: Fields): string[] {
  return (body['queues'] as { name: string }[]).map(({ name }) => name)
}

function many(count: number): Fields {
  return Object.fromEntries(Array.from({ length: count }, (_, n) => [`t${n}`, '']))
}

describe('PUT /queues/{queue}', () => {
  test('makes a queue, and says so once', async () => {
    await using at = await counter()
    const asked = { config: { maxReceives: 3, visibilityMs: 1_000 }, tags: { team: 'a' } }
    const made = await at.ask('PUT', '/queues/jobs', asked)
    const again = await at.ask('PUT', '/queues/jobs', asked)
    assert.deepEqual([made.status, again.status], [201, 200])
    const { name, account, region, tags, paused } = made.body
    assert.deepEqual([name, account, region], ['jobs', '000000000000', 'local'])
    assert.deepEqual([tags, paused], [{ team: 'a' }, { receive: false, send: false }])
    const { maxReceives, deadLetterQueue, retentionMs, fifo } = config(made.body)
    assert.deepEqual(
      [maxReceives, deadLetterQueue, retentionMs, fifo],
      [3, 'jobs_dlq', 'unlimited', false],
    )
    assert.deepEqual(config(again.body), config(made.body))
  })

  test('needs no body', async () => {
    await using at = await counter()
    const made = await at.ask('PUT', '/queues/line.fifo')
    assert.equal(made.status, 201)
    const { fifo, deadLetterQueue, maxReceives } = config(made.body)
    assert.deepEqual([fifo, deadLetterQueue, maxReceives], [true, 'line_dlq.fifo', 5])
  })

  test('takes maxRetries for maxReceives, and no end where there is none', async () => {
    await using at = await counter()
    const retries = await at.ask('PUT', '/queues/a', { config: { maxRetries: 7 } })
    assert.equal(config(retries.body)['maxReceives'], 7)
    const none = { config: { maxReceives: 'unlimited', deadLetterQueue: false } }
    const endless = await at.ask('PUT', '/queues/b', none)
    const { maxReceives, deadLetterQueue } = config(endless.body)
    assert.deepEqual([maxReceives, deadLetterQueue], ['unlimited', undefined])
  })

  test('gives out what it takes in', async () => {
    await using at = await counter()
    const made = await at.ask('PUT', '/queues/a', { config: { backoff: { baseMs: 10 } } })
    assert.deepEqual(config(made.body)['backoff'], {
      baseMs: 10,
      factor: 2,
      maxMs: 60_000,
      jitter: 0.2,
    })
    const same = await at.ask('PUT', '/queues/a', { config: config(made.body) })
    assert.equal(same.status, 200)
  })

  test('refuses another config, and names where it differs', async () => {
    await using at = await counter()
    await at.ask('PUT', '/queues/jobs', { config: { maxReceives: 3 } })
    const other = await at.ask('PUT', '/queues/jobs', { config: { maxReceives: 4 } })
    assert.deepEqual(
      [other.status, other.body['code'], other.body['differs']],
      [409, 'queue-exists', ['maxReceives']],
    )
    assert.match(other.headers['content-type'] ?? '', /^application\/problem\+json/)
  })

  test('holds a queue of another wire only to what is asked', async () => {
    await using at = await counter()
    const place = { account: '1', region: 'r' }
    await at.town.until(at.broker.create({ ...place, name: 'theirs' }))
    const found = await at.ask('PUT', '/queues/theirs?account=1&region=r')
    assert.deepEqual([found.status, config(found.body)['deadLetterQueue']], [200, undefined])
  })

  test('refuses names and configs that cannot be', async () => {
    await using at = await counter()
    for (const [path, asked, code] of [
      ['no%20name', undefined, 'bad-queue-name'],
      ['q'.repeat(77), undefined, 'bad-queue-config'],
      ['a', { config: { fifo: true } }, 'bad-queue-name'],
      ['a', { config: { deadLetterQueue: 'a' } }, 'bad-queue-config'],
      ['a', { config: { deadLetterQueue: false, onExpire: 'dead-letter' } }, 'bad-queue-config'],
    ] as const) {
      const { status, body } = await at.ask('PUT', `/queues/${path}`, asked)
      assert.deepEqual([status, body['code']], [400, code], path)
    }
  })

  test('names every field that is wrong, and what was probably meant', async () => {
    await using at = await counter()
    const { status, body } = await at.ask('PUT', '/queues/a', {
      config: {
        visibilityMs: -1,
        maxReceives: 'many',
        maxRecieves: 3,
        backoff: { factor: 0.5, jitter: 2 },
        deadLetterQueue: true,
        waitMs: 60_001,
      },
      tags: { a: 1 },
    })
    assert.deepEqual([status, body['code']], [400, 'bad-input'])
    assert.deepEqual((body['invalid'] as string[]).toSorted(), [
      'config.backoff.factor',
      'config.backoff.jitter',
      'config.deadLetterQueue',
      'config.maxReceives',
      'config.maxRecieves',
      'config.visibilityMs',
      'config.waitMs',
      'tags',
    ])
    const expected = body['expected'] as Record<string, string>
    assert.match(expected['config.maxRecieves']!, /did you mean maxReceives\?/)
  })
})

describe('GET /queues', () => {
  test('lists by name, a page at a time, those of one place', async () => {
    await using at = await counter()
    for (const name of ['b', 'a2', 'a1', 'c']) await at.ask('PUT', `/queues/${name}`)
    await at.ask('PUT', '/queues/d?region=elsewhere')

    const first = await at.ask('GET', '/queues?limit=2')
    const second = await at.ask('GET', `/queues?limit=2&after=${String(first.body['next'])}`)
    const prefixed = await at.ask('GET', '/queues?prefix=a&limit=2')
    const elsewhere = await at.ask('GET', '/queues?region=elsewhere')

    assert.deepEqual([names(first.body), first.body['next']], [['a1', 'a2'], 'a2'])
    assert.deepEqual([names(second.body), second.body['next']], [['b', 'c'], undefined])
    assert.deepEqual([names(prefixed.body), prefixed.body['next']], [['a1', 'a2'], undefined])
    assert.deepEqual(names(elsewhere.body), ['d'])
  })

  test('tells what is in each where that is asked for', async () => {
    await using at = await counter()
    await at.ask('PUT', '/queues/a')
    await at.ask('POST', '/queues/a/messages', { body: 'x' })
    const plain = await at.ask('GET', '/queues')
    const full = await at.ask('GET', '/queues?stats=true')
    const [bare] = plain.body['queues'] as Fields[]
    const [queue] = full.body['queues'] as { stats: { ready: number } }[]
    assert.deepEqual([bare?.['stats'], queue?.stats.ready], [undefined, 1])
  })

  test('shows so many at most', async () => {
    await using at = await counter()
    assert.equal((await at.ask('GET', `/queues?limit=${BROWSE_MAX}`)).status, 200)
    for (const limit of [0, BROWSE_MAX + 1])
      assert.equal((await at.ask('GET', `/queues?limit=${limit}`)).status, 400)
    for (let n = 0; n <= BROWSE_DEFAULT; n++) await at.ask('PUT', `/queues/q${n}`)
    assert.equal(names((await at.ask('GET', '/queues')).body).length, BROWSE_DEFAULT)
  })
})

describe('GET, PATCH and DELETE /queues/{queue}', () => {
  test('tell, change and end a queue', async () => {
    await using at = await counter()
    await at.ask('PUT', '/queues/jobs')
    await at.ask('POST', '/queues/jobs/messages', { body: 'x', delayMs: 1_000 })
    const changed = await at.ask('PATCH', '/queues/jobs', {
      config: { visibilityMs: 7, maxRetries: 9, backoff: { baseMs: 5 }, deadLetterQueue: false },
    })
    const told = await at.ask('GET', '/queues/jobs')
    assert.deepEqual([changed.status, told.status], [200, 200])
    const { visibilityMs, maxReceives, backoff, deadLetterQueue } = config(told.body)
    assert.deepEqual([visibilityMs, maxReceives, deadLetterQueue], [7, 9, undefined])
    assert.deepEqual(backoff, { baseMs: 5, factor: 2, maxMs: 60_000, jitter: 0.2 })
    assert.equal((told.body['stats'] as Fields)['delayed'], 1)

    const gone = await at.ask('DELETE', '/queues/jobs')
    assert.deepEqual([gone.status, gone.text], [204, ''])
    assert.equal((await at.ask('GET', '/queues/jobs')).status, 404)
  })

  test('refuse what cannot be changed', async () => {
    await using at = await counter()
    await at.ask('PUT', '/queues/a')
    for (const given of [{ fifo: true }, { deadLetterQueue: 'x.fifo' }]) {
      const { status, body } = await at.ask('PATCH', '/queues/a', { config: given })
      assert.deepEqual([status, body['code']], [400, 'bad-queue-config'])
    }
    assert.equal((await at.ask('PATCH', '/queues/a', {})).status, 400)
  })
})

describe('PUT /queues/{queue}/paused', () => {
  test('stops handing out, or taking in, and lets go on what is not named', async () => {
    await using at = await counter()
    await at.ask('PUT', '/queues/a')
    await at.ask('POST', '/queues/a/messages', { body: 'x' })

    const paused = await at.ask('PUT', '/queues/a/paused', { receive: true, send: true })
    const sent = await at.ask('POST', '/queues/a/messages', { body: 'y' })
    const received = await at.ask('POST', '/queues/a/deliveries')
    const resumed = await at.ask('PUT', '/queues/a/paused', {})
    const after = await at.ask('POST', '/queues/a/deliveries')

    assert.deepEqual(paused.body['paused'], { receive: true, send: true })
    assert.deepEqual([sent.status, sent.body['code']], [409, 'queue-paused'])
    assert.deepEqual(received.body['deliveries'], [])
    assert.deepEqual(resumed.body['paused'], { receive: false, send: false })
    assert.equal((after.body['deliveries'] as unknown[]).length, 1)
  })
})

describe('PATCH /queues/{queue}/tags', () => {
  test('sets and unsets tags, fifty at most', async () => {
    await using at = await counter()
    await at.ask('PUT', '/queues/a', { tags: { team: 'a', old: '1' } })
    const changed = await at.ask('PATCH', '/queues/a/tags', { set: { team: 'b' }, unset: ['old'] })
    assert.deepEqual(changed.body['tags'], { team: 'b' })
    assert.equal((await at.ask('PATCH', '/queues/a/tags', { set: many(49) })).status, 200)
    const over = await at.ask('PATCH', '/queues/a/tags', { set: { one: 'more' } })
    assert.deepEqual([over.status, over.body['code']], [400, 'bad-queue-config'])
    assert.equal((await at.ask('PATCH', '/queues/a/tags', { set: many(51) })).status, 400)
  })
})

test('a queue that is not there is not there for anybody', async () => {
  await using at = await counter()
  for (const [method, path, body] of [
    ['GET', '', undefined],
    ['PATCH', '', { config: {} }],
    ['DELETE', '', undefined],
    ['PUT', '/paused', {}],
    ['PATCH', '/tags', {}],
    ['POST', '/messages', { body: 'x' }],
    ['POST', '/messages', { messages: [{ body: 'x' }] }],
    ['GET', '/messages', undefined],
    ['GET', '/messages/abc', undefined],
    ['DELETE', '/messages', undefined],
    ['POST', '/deliveries', {}],
    ['POST', '/settlements', { type: 'delete', receipt: 'x' }],
    ['GET', '/dead-letters', undefined],
    ['DELETE', '/dead-letters', undefined],
    ['POST', '/dead-letters/redrives', {}],
    ['GET', '/dead-letters/redrives', undefined],
    ['DELETE', '/dead-letters/redrives/x', undefined],
  ] as const) {
    const told = await at.ask(method, `/queues/none${path}`, body)
    assert.deepEqual([told.status, told.body['code']], [404, 'no-such-queue'], `${method} ${path}`)
  }
})
