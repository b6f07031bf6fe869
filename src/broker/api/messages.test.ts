/** Messages over HTTP: sent, received, ended, looked at. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import { counter, type Counter } from '../../../test/broker/counter.ts'
import { fault } from '../../std/index.ts'
import { BROKER_BATCH_MAX, RECEIVE_MAX, WAIT_MS_MAX } from '../limits.ts'
import { SEND_REQUEST_BYTES_MAX } from './post-messages.ts'

type Fields = Readonly<Record<string, unknown>>
type Delivery = Fields & Readonly<{ receipt: string; body: string; messageId: string }>

async function jobs(config: Fields = {}): Promise<Counter> {
  const at = await counter()
  assert.equal((await at.ask('PUT', '/queues/jobs', { config })).status, 201)
  return at
}

async function send(at: Counter, ...bodies: string[]): Promise<void> {
  const messages = bodies.map((body) => ({ body }))
  assert.equal((await at.ask('POST', '/queues/jobs/messages', { messages })).status, 200)
}

async function receive(at: Counter, asked: Fields = {}): Promise<Delivery[]> {
  const { status, body, text } = await at.ask('POST', '/queues/jobs/deliveries', asked)
  assert.equal(status, 200, text)
  return body['deliveries'] as Delivery[]
}

function many(count: number): Fields {
  return { messages: Array.from({ length: count }, () => ({ body: 'x' })) }
}

function settle(at: Counter, body: Fields): ReturnType<Counter['ask']> {
  return at.ask('POST', '/queues/jobs/settlements', body)
}

describe('POST /queues/{queue}/messages', () => {
  test('sends a text, or a value as JSON, with everything that goes with it', async () => {
    await using at = await jobs()
    const attributes = {
      kind: { type: 'String', text: 'order' },
      raw: { type: 'Binary', base64: 'AAE=' },
    }
    const sent = await at.ask(
      'POST',
      '/queues/jobs/messages',
      { json: { id: 1 }, attributes, priority: 9, group: 'g', dedupId: 'd', ttlMs: 60_000 },
      { headers: { traceparent: `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01` } },
    )
    assert.equal(sent.status, 201)
    assert.equal(sent.body['duplicate'], false)
    const [got] = await receive(at)
    assert.equal(got?.messageId, sent.body['messageId'])
    assert.equal(got?.body, '{"id":1}')
    assert.deepEqual(got?.['attributes'], attributes)
    const { priority, group, dedupId, sender, trace, receives } = got
    assert.deepEqual([priority, group, dedupId, sender, receives], [9, 'g', 'd', 'ada', 1])
    assert.match(String(trace), new RegExp(`^00-${'a'.repeat(32)}-`))
  })

  test('answers each of several, in order', async () => {
    await using at = await jobs({ messageBytesMax: 5 })
    const told = await at.ask('POST', '/queues/jobs/messages', {
      messages: [{ body: 'one' }, { body: 'too long' }, { json: 2 }],
    })
    const sent = told.body['sent'] as Fields[]
    assert.equal(told.status, 200)
    assert.deepEqual(
      sent.map(({ ok, code, status }) => [ok, code, status]),
      [
        [true, undefined, undefined],
        [false, 'message-too-large', 413],
        [true, undefined, undefined],
      ],
    )
  })

  test('refuses what is no message, field by field', async () => {
    await using at = await jobs()
    for (const [body, invalid] of [
      [{}, ['body']],
      [{ body: 'x', json: 1 }, ['body']],
      [{ body: 'x', priority: 256 }, ['priority']],
      [{ body: 'x', priority: -1, delayMs: 2_592_000_001 }, ['priority', 'delayMs']],
      [{ body: 'x', group: '' }, ['group']],
      [{ body: 'x', dedupId: 'd'.repeat(129) }, ['dedupId']],
      [{ body: 'x', ttlMs: 0 }, ['ttlMs']],
      [{ body: 'x', prio: 1 }, ['prio']],
      [{ body: 7 }, ['body']],
      [{ body: 'x', attributes: { a: { type: 'String' } } }, ['attributes']],
      [{ body: 'x', attributes: { a: { type: 'Binary', base64: '?' } } }, ['attributes']],
      [{ body: 'x', attributes: { a: { type: 'S', text: '', base64: '' } } }, ['attributes']],
      [{ messages: [{ body: 'x' }, {}] }, ['messages[1].body']],
      [{ messages: [] }, ['messages']],
    ] as const) {
      const told = await at.ask('POST', '/queues/jobs/messages', body)
      assert.deepEqual([told.status, told.body['invalid']], [400, invalid], told.text)
    }
    const nothing = await at.ask('POST', '/queues/jobs/messages')
    assert.equal(nothing.status, 400)
  })

  test('takes a thousand at once, and no more', async () => {
    await using at = await jobs()
    const full = await at.ask('POST', '/queues/jobs/messages', many(BROKER_BATCH_MAX))
    assert.equal((full.body['sent'] as unknown[]).length, BROKER_BATCH_MAX)
    const over = await at.ask('POST', '/queues/jobs/messages', many(BROKER_BATCH_MAX + 1))
    assert.equal(over.status, 400)
  })

  test('takes a message of a megabyte however it is written, and no larger request', async () => {
    await using at = await jobs()
    const large = await at.ask('POST', '/queues/jobs/messages', { body: '"'.repeat(1_048_576) })
    assert.equal(large.status, 201)
    const over = await at.ask('POST', '/queues/jobs/messages', { body: 'x'.repeat(1_048_577) })
    assert.equal(over.status, 400)
    const huge = await at.ask('POST', '/queues/jobs/messages', {
      body: 'x'.repeat(SEND_REQUEST_BYTES_MAX),
    })
    assert.equal(huge.status, 413)
  })

  test('refuses what a queue has no room for, and says when to come again', async () => {
    await using at = await jobs({ maxLength: 1 })
    await send(at, 'one')
    const full = await at.ask('POST', '/queues/jobs/messages', { body: 'two' })
    assert.deepEqual(
      [full.status, full.body['code'], full.headers['retry-after']],
      [429, 'queue-full', '1'],
    )
  })

  test('needs a group and an id in a FIFO queue', async () => {
    await using at = await counter()
    await at.ask('PUT', '/queues/line.fifo')
    const bare = await at.ask('POST', '/queues/line.fifo/messages', { body: 'x' })
    assert.deepEqual([bare.status, bare.body['code']], [400, 'bad-message'])
    const message = { body: 'x', group: 'g', dedupId: '1' }
    const first = await at.ask('POST', '/queues/line.fifo/messages', message)
    const again = await at.ask('POST', '/queues/line.fifo/messages', message)
    assert.deepEqual([first.body['duplicate'], again.body['duplicate']], [false, true])
    assert.equal(again.body['messageId'], first.body['messageId'])
  })
})

describe('POST /queues/{queue}/deliveries', () => {
  test('hands out one unless more are asked for, and hides them', async () => {
    await using at = await jobs({ visibilityMs: 1_000 })
    await send(at, 'a', 'b', 'c')
    const [one] = await receive(at)
    const rest = await receive(at, { max: 10, visibilityMs: 5_000 })
    assert.deepEqual([one?.body, rest.map(({ body }) => body)], ['a', ['b', 'c']])
    assert.equal((await receive(at)).length, 0)
    await at.town.advance(1_000)
    assert.deepEqual(
      (await receive(at, { max: 10 })).map(({ body, receives }) => [body, receives]),
      [['a', 2]],
    )
  })

  test('waits for a message, and no longer than asked', async () => {
    await using at = await jobs()
    const { answer: waiting } = await at.begin('POST', '/queues/jobs/deliveries', {
      waitMs: 20_000,
    })
    await at.town.advance(10_000)
    await send(at, 'late')
    const [got] = (await at.town.until(waiting)).body['deliveries'] as Delivery[]
    assert.equal(got?.body, 'late')
    await settle(at, { type: 'delete', receipt: got?.receipt })

    const before = at.town.clock.monotonic()
    assert.deepEqual(await receive(at, { waitMs: WAIT_MS_MAX }), [])
    assert.equal(at.town.clock.monotonic() - before, WAIT_MS_MAX)
    for (const asked of [{ waitMs: WAIT_MS_MAX + 1 }, { max: RECEIVE_MAX + 1 }, { max: 0 }])
      assert.equal((await at.ask('POST', '/queues/jobs/deliveries', asked)).status, 400)
  })

  test('keeps nobody waiting when the server ends', async () => {
    await using at = await jobs()
    const { answer: waiting } = await at.begin('POST', '/queues/jobs/deliveries', {
      waitMs: 20_000,
    })
    await at.town.advance(1_000)
    at.http.beginDraining()
    const told = await at.town.until(waiting, { withinMs: 100 })
    assert.deepEqual([told.status, told.body], [200, { deliveries: [] }])
  })

  test('gives the same again to a receive of a FIFO queue that is tried again', async () => {
    await using at = await counter()
    await at.ask('PUT', '/queues/line.fifo')
    const message = { body: 'x', group: 'g', dedupId: '1' }
    await at.ask('POST', '/queues/line.fifo/messages', message)
    const asked = { attemptId: 'try-1' }
    const first = await at.ask('POST', '/queues/line.fifo/deliveries', asked)
    const again = await at.ask('POST', '/queues/line.fifo/deliveries', asked)
    const ids = [first, again].map(({ body }) => (body['deliveries'] as Delivery[])[0]?.messageId)
    assert.equal(ids[0], ids[1])
    assert.notEqual(ids[0], undefined)
  })

  test('says when too much is being worked on', async () => {
    await using at = await jobs({ inFlightMax: 1 })
    await send(at, 'a', 'b')
    await receive(at)
    const { status, body } = await at.ask('POST', '/queues/jobs/deliveries')
    assert.deepEqual([status, body['code']], [429, 'too-many-in-flight'])
  })
})

describe('POST /queues/{queue}/settlements', () => {
  test('ends a delivery in each of five ways', async () => {
    await using at = await jobs({ visibilityMs: 1_000 })
    await send(at, 'delete', 'nack', 'release', 'extend', 'reject')
    const held = await receive(at, { max: 5 })
    const answers = []
    for (const { body: type, receipt } of held) {
      const more =
        type === 'extend' ? { visibilityMs: 9_000 } : type === 'nack' ? { delayMs: 500 } : {}
      const why = type === 'nack' || type === 'reject' ? { reason: `no ${type}` } : {}
      answers.push(await settle(at, { type, receipt, ...more, ...why }))
    }
    assert.deepEqual(
      answers.map(({ status, body }) => [status, body]),
      held.map(() => [200, { effective: true }]),
    )

    assert.deepEqual(
      (await receive(at, { max: 5 })).map(({ body, receives }) => [body, receives]),
      [['release', 1]],
    )
    await at.town.advance(500)
    const [failed] = await receive(at, { max: 5 })
    const [failure] = failed!['failures'] as Fields[]
    assert.deepEqual(
      [failed?.body, failure?.['reason'], failure?.['consumer']],
      ['nack', 'no nack', 'ada'],
    )
    const dead = await at.ask('GET', '/queues/jobs/dead-letters')
    const [rejected] = dead.body['messages'] as Fields[]
    assert.deepEqual([rejected?.['body'], rejected?.['deadLetterOf']], ['reject', 'jobs'])
  })

  test('answers each of several, in order', async () => {
    await using at = await jobs()
    await send(at, 'a', 'b')
    const [a, b] = await receive(at, { max: 2 })
    const told = await settle(at, {
      settlements: [
        { type: 'delete', receipt: a!.receipt },
        { type: 'delete', receipt: 'made up' },
        { type: 'delete', receipt: a!.receipt },
        { type: 'release', receipt: b!.receipt },
      ],
    })
    assert.deepEqual(
      (told.body['settled'] as Fields[]).map(({ ok, effective, code }) => [ok, effective, code]),
      [
        [true, true, undefined],
        [false, undefined, 'bad-receipt'],
        [true, false, undefined],
        [true, true, undefined],
      ],
    )
    const wrong = { settlements: [{ type: 'delete', receipt: 'made up' }] }
    assert.equal((await settle(at, wrong)).status, 200)
  })

  test('refuses receipts that are made up, of another queue, or over', async () => {
    await using at = await jobs({ visibilityMs: 1_000 })
    await at.ask('PUT', '/queues/other')
    await send(at, 'a')
    const [first] = await receive(at)
    const { receipt } = first!
    const altered = receipt.replace(/^./, (letter) => (letter === 'A' ? 'B' : 'A'))
    const other = await at.ask('POST', '/queues/other/settlements', { type: 'delete', receipt })
    const forged = await settle(at, { type: 'delete', receipt: altered })
    await at.town.advance(1_000)
    const over = await settle(at, { type: 'nack', receipt })
    await receive(at)
    const stale = await settle(at, { type: 'extend', receipt, visibilityMs: 1 })
    assert.deepEqual(
      [other, forged, over, stale].map(({ status, body }) => [status, body['code']]),
      [
        [400, 'bad-receipt'],
        [400, 'bad-receipt'],
        [409, 'not-in-flight'],
        [409, 'stale-receipt'],
      ],
    )
  })

  test('refuses what is no end, field by field', async () => {
    await using at = await jobs()
    for (const [body, missing, invalid] of [
      [{}, ['type', 'receipt'], []],
      [{ type: 'ack', receipt: 'x' }, [], ['type']],
      [{ type: 'extend', receipt: 'x' }, [], ['visibilityMs']],
      [{ type: 'extend', receipt: 'x', visibilityMs: 43_200_001 }, [], ['visibilityMs']],
      [{ type: 'nack', receipt: 'x', reason: 'r'.repeat(257) }, [], ['reason']],
      [{ settlements: [{ type: 'delete' }] }, ['settlements[0].receipt'], []],
    ] as const) {
      const told = await settle(at, body)
      assert.deepEqual(
        [told.status, told.body['missing'], told.body['invalid']],
        [400, missing, invalid],
      )
    }
  })
})

describe('looking at messages', () => {
  test('takes none of them, and counts no delivery', async () => {
    await using at = await jobs()
    await send(at, 'apple', 'pear', 'apple pie')
    await at.ask('POST', '/queues/jobs/messages', { body: 'later', delayMs: 1_000 })
    await receive(at)

    const all = await at.ask('GET', '/queues/jobs/messages')
    const shown = (all.body['messages'] as Fields[]).map(({ body, state, receives }) => [
      body,
      state,
      receives,
    ])
    assert.deepEqual(shown, [
      ['apple', 'leased', 1],
      ['pear', 'ready', 0],
      ['apple pie', 'ready', 0],
      ['later', 'delayed', 0],
    ])
    const found = await at.ask('GET', '/queues/jobs/messages?search=apple&state=ready')
    const [pie] = found.body['messages'] as Fields[]
    assert.equal(pie?.['body'], 'apple pie')
    const one = await at.ask('GET', `/queues/jobs/messages/${String(pie?.['messageId'])}`)
    assert.deepEqual([one.status, one.body], [200, pie])
    assert.equal((await at.ask('GET', '/queues/jobs/messages?state=dead')).status, 400)
  })

  test('goes a page at a time', async () => {
    await using at = await jobs()
    await send(at, 'a', 'b', 'c')
    const seen: unknown[] = []
    for (let next: number | undefined, n = 0; n < 2; n++) {
      const query = next === undefined ? 'limit=2' : `limit=2&after=${next}`
      const { body } = await at.ask('GET', `/queues/jobs/messages?${query}`)
      seen.push(...(body['messages'] as Fields[]).map((message) => message['body']))
      next = body['next'] as number | undefined
    }
    assert.deepEqual(seen, ['a', 'b', 'c'])
  })

  test('says where there is none', async () => {
    await using at = await jobs()
    for (const id of ['made-up', '00000000-0000-8000-8000-000000000000']) {
      const { status, body } = await at.ask('GET', `/queues/jobs/messages/${id}`)
      assert.deepEqual([status, body['code']], [404, 'no-such-message'])
    }
  })
})

describe('DELETE /queues/{queue}/messages', () => {
  test('leaves what is being worked on, unless it is meant too', async () => {
    await using at = await jobs({ visibilityMs: 1_000_000 })
    await send(at, 'a', 'b', 'c')
    await receive(at)
    const some = await at.ask('DELETE', '/queues/jobs/messages')
    const soon = await at.ask('DELETE', '/queues/jobs/messages?includeLeased=true')
    await at.town.advance(60_000)
    const rest = await at.ask('DELETE', '/queues/jobs/messages?includeLeased=true')
    assert.deepEqual([some.body, rest.body], [{ purged: 2 }, { purged: 1 }])
    assert.deepEqual([soon.status, soon.body['code']], [409, 'purge-in-progress'])
  })
})

test('whatever else the broker refuses has its status', async () => {
  for (const [code, status] of [
    ['queue-deleted', 410],
    ['too-many-parked', 429],
    ['unknown-outcome', 503],
    ['broker-overloaded', 503],
    ['broker-closed', 503],
    ['unreadable', 503],
  ] as const) {
    await using at = await counter({ receive: async () => fault(code, 'no') })
    const told = await at.ask('POST', '/queues/jobs/deliveries')
    assert.deepEqual([told.status, told.body['code']], [status, code])
  }
  for (const [code, status] of [
    ['store-read-only', 507],
    ['too-many-queues', 409],
  ] as const) {
    await using at = await counter({ create: async () => fault(code, 'no') })
    const told = await at.ask('PUT', '/queues/jobs')
    assert.deepEqual([told.status, told.body['code']], [status, code])
  }
})
