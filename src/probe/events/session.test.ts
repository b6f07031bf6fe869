import assert from 'node:assert/strict'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, describe, test } from 'node:test'

import { silentLog } from '../../std/index.ts'
import { virtualClock, type VirtualClock } from '../../testkit/index.ts'
import type { TopicDirective, ValueFormat } from '../bundle/directive.ts'
import type { ServiceInput, ServiceName, ServiceOutput } from '../steps/services.ts'
import { openConsuming } from './consuming.ts'
import { eventLog, type EventLog } from './event-log.ts'
import type { Credentials, EventClusters } from './events.ts'
import { memoryClusters } from './memory.ts'
import { openProducing } from './producing.ts'
import { eventRooms } from './room.ts'
import type { EventSessionOptions } from './session.ts'

const NONE = { type: 'none' } as const
const never = new AbortController().signal
const bundle = await mkdtemp(join(tmpdir(), 'bundle-'))
after(() => rm(bundle, { recursive: true }))

await writeFile(
  join(bundle, 'order.avsc'),
  '{"type":"record","name":"Order","fields":[{"name":"n","type":"int"},{"name":"text","type":"string","default":""}]}',
)
await writeFile(
  join(bundle, 'order.proto'),
  'syntax = "proto3"; message Order { int32 n = 1; string text = 2; }',
)
const SCHEMAS: Partial<Record<ValueFormat, string>> = {
  avro: 'order.avsc',
  protobuf: 'order.proto',
}

function topicOf(
  topic: string,
  role: TopicDirective['role'],
  more: Partial<TopicDirective> = {},
): TopicDirective {
  return {
    topic,
    role,
    clientPrincipal: 'svc',
    eventFilters: [],
    metadata: {},
    bootstrapServers: undefined,
    keyFormat: 'cloudevent',
    valueFormat: 'json',
    schema: undefined,
    from: 'latest',
    create: undefined,
    line: 1,
    ...more,
  }
}

/** In both roles, and created for the test. */
function both(topic: string, more: Partial<TopicDirective> = {}): TopicDirective[] {
  const whole = { create: 3, ...more }
  return [topicOf(topic, 'producer', whole), topicOf(topic, 'consumer', whole)]
}

function credentialsOf(topics: readonly TopicDirective[]): ReadonlyMap<string, Credentials> {
  return new Map(topics.map(({ topic, role }) => [`${topic}/${role}`, NONE]))
}

type World = Readonly<{ clusters: EventClusters; clock: VirtualClock; events: EventLog }>

function worldOf(): World {
  const clock = virtualClock()
  return { clusters: memoryClusters({ clock }), clock, events: eventLog({ clock }) }
}

function optionsOf(world: World, topics: readonly TopicDirective[]): EventSessionOptions {
  return {
    ...world,
    testId: 'test-1',
    topics,
    credentials: credentialsOf(topics),
    bundle,
    log: silentLog,
    signal: never,
  }
}

const failing = { onLost: (error: unknown) => assert.fail(String(error)) }

describe('a test that produces and consumes', () => {
  // Fails when `oddTopics` in session.ts compares topics without their roles.
  test('probe-K4: may have one topic in both roles, and reads back what it writes', async () => {
    const world = worldOf()
    const options = optionsOf(world, both('orders'))
    await using producing = await openProducing(options)
    await using consuming = await openConsuming({ ...options, ...failing })
    const produced = await producing.produce({ topic: 'orders', value: { n: 1 }, correlation: 'c' })
    const { events } = await world.events.wait(
      { correlation: 'c' },
      { count: 1, is: 'at-least', withinMs: 1 },
    )
    assert.equal(consuming.topics.ready.length, 1)
    const { sequence, direction, at, ...same } = produced
    assert.deepEqual(
      { ...events[0], sequence, direction, at },
      { ...same, sequence, direction, at },
    )
    assert.equal(produced.direction, 'produced')
    assert.equal(events[0]?.direction, 'consumed')
  })

  // Fails when `readyTopic` in session.ts lets a topic without credentials pass.
  test('probe-K5: has every topic that cannot be used named, and does not begin', async () => {
    const topics = [
      ...both('fine'),
      ...both('denied'),
      topicOf('filtered', 'consumer', {
        keyFormat: 'string',
        eventFilters: [{ key: 'a', value: 'b' }],
      }),
      topicOf('odd', 'PRODUCER' as 'producer'),
      topicOf('twice', 'consumer'),
      topicOf('twice', 'consumer'),
      topicOf('no-file', 'producer', { valueFormat: 'avro', schema: 'missing.avsc' }),
      topicOf('no-schema', 'consumer', { valueFormat: 'avro' }),
    ]
    const clock = virtualClock()
    const world = {
      clock,
      clusters: memoryClusters({ clock, hasRegistry: false }),
      events: eventLog({ clock }),
    }
    const credentials = new Map(credentialsOf(topics))
    credentials.delete('denied/producer')
    credentials.delete('denied/consumer')
    const options = { ...optionsOf(world, topics), credentials }
    const producing = await named(openProducing(options))
    const consuming = await named(openConsuming({ ...options, ...failing }))
    for (const said of [producing, consuming]) {
      assert.match(said, /^bad-topics: /)
      assert.match(said, /odd \(PRODUCER\) has a role that is neither/)
      assert.match(said, /twice \(consumer\) has this role twice/)
      assert.doesNotMatch(said, /fine/)
    }
    assert.match(producing, /denied \(producer\) has no credentials/)
    assert.match(
      producing,
      /no-file \(producer\) has a schema that cannot be used \(missing\.avsc\)/,
    )
    assert.match(consuming, /denied \(consumer\) has no credentials/)
    assert.match(consuming, /filtered \(consumer\) has filters/)
    assert.match(consuming, /no-schema \(consumer\) has values in avro/)
    // Nothing was created on the way to the refusal.
    await assert.rejects(world.clusters.open(undefined).lag('fine', 'g', NONE), {
      code: 'no-such-topic',
    })
  })

  // Fails when `createAsked` in session.ts creates without being asked, or when closing deletes everything.
  test('probe-K8: creates topics only where it is asked to, and deletes only those it has created', async () => {
    const world = worldOf()
    const cluster = world.clusters.open(undefined)
    const lag = (topic: string): Promise<number> => cluster.lag(topic, 'g', NONE)
    await assert.rejects(openProducing(optionsOf(world, [topicOf('orders', 'producer')])), {
      code: 'no-such-topic',
    })
    await cluster.createTopic('there', 1, NONE)
    const options = optionsOf(world, [...both('orders'), ...both('there')])
    const consuming = await openConsuming({ ...options, ...failing })
    const producing = await openProducing(options)
    await producing.produce({ topic: 'orders', value: 1 })
    assert.equal(await lag('orders'), 1)
    await producing[Symbol.asyncDispose]()
    assert.equal(await lag('orders'), 1)
    await consuming[Symbol.asyncDispose]()
    await assert.rejects(lag('orders'), { code: 'no-such-topic' })
    assert.equal(await lag('there'), 0)
  })

  test('begins at the end of its topics, or at the beginning if it is asked to, every time anew', async () => {
    const world = worldOf()
    const cluster = world.clusters.open(undefined)
    await cluster.createTopic('orders', 1, NONE)
    await cluster.createTopic('history', 1, NONE)
    const topics = [
      ...both('orders', { create: undefined }),
      ...both('history', { create: undefined, from: 'earliest' }),
    ]
    for (const expected of [1, 2, 3]) {
      const events = eventLog({ clock: world.clock })
      const options = { ...optionsOf(world, topics), events }
      await using consuming = await openConsuming({ ...options, ...failing })
      await using producing = await openProducing(options)
      for (const topic of ['orders', 'history']) await producing.produce({ topic, value: expected })
      await events.wait({ topic: 'history' }, { count: expected, is: 'at-least', withinMs: 1 })
      assert.equal(events.find({ topic: 'orders' }).length, 1)
      assert.equal(events.find({ topic: 'history' }).length, expected)
      assert.equal(consuming.topics.ready.length, 2)
    }
  })

  test('sees what its filters let through: type and version, exactly, any of them', async () => {
    const world = worldOf()
    const eventFilters = [
      { key: 'Created', value: 'v1' },
      { key: 'Gone', value: 'v2' },
    ]
    const options = optionsOf(world, both('orders', { eventFilters }))
    await using consuming = await openConsuming({ ...options, ...failing })
    await using producing = await openProducing(options)
    const sent = [
      ['Created', 'v1'],
      ['created', 'v1'],
      ['Created', 'V1'],
      ['Created', 'v2'],
      ['Gone', 'v2'],
      ['Created ', 'v1'],
    ] as const
    for (const [type, payloadVersion] of sent)
      await producing.produce({ topic: 'orders', value: {}, type, payloadVersion })
    await world.events.wait({ topic: 'orders' }, { count: 2, is: 'at-least', withinMs: 1 })
    const seen = world.events
      .find({ topic: 'orders' })
      .map(({ type, payloadVersion }) => [type, payloadVersion])
    assert.deepEqual(new Set(seen.map(String)), new Set([sent[0], sent[4]].map(String)))
    assert.ok(consuming)
  })

  test('keeps what it cannot read, and goes on', async () => {
    const world = worldOf()
    const eventFilters = [{ key: 'Created', value: 'v1' }]
    const options = optionsOf(world, both('orders', { create: 1, eventFilters }))
    await using consuming = await openConsuming({ ...options, ...failing })
    const cluster = world.clusters.open(undefined)
    await using raw = await cluster.producer({ topic: 'orders', credentials: NONE, signal: never })
    await using producing = await openProducing(options)
    await raw.send({
      key: Buffer.from('no CloudEvent'),
      value: Buffer.from('{"a":1}'),
      headers: {},
    })
    const key = Buffer.from(
      '{"id":"1","source":"s","specversion":"1.0","type":"Created","payloadversion":"v1"}',
    )
    await raw.send({ key, value: Buffer.from('no JSON'), headers: {} })
    await producing.produce({ topic: 'orders', value: { n: 3 }, type: 'Created' })
    const { events } = await world.events.wait(
      { topic: 'orders' },
      { count: 3, is: 'at-least', withinMs: 1 },
    )
    const [first, second, third] = world.events.find({ topic: 'orders' })
    assert.equal(events.length, 3)
    assert.equal(first?.undecodable?.[0]?.part, 'key')
    assert.deepEqual(first?.value, { a: 1 })
    assert.equal(second?.undecodable?.[0]?.part, 'value')
    assert.equal(second?.value, Buffer.from('no JSON').toString('base64'))
    assert.equal(third?.undecodable, undefined)
    assert.ok(consuming)
  })

  test('is told that a topic is lost, or that the log is full, once', async () => {
    const world = worldOf()
    const cluster = world.clusters.open(undefined)
    for (const topic of ['a', 'b']) await cluster.createTopic(topic, 1, NONE)
    const topics = [...both('a', { create: undefined }), ...both('b', { create: undefined })]
    const lost: unknown[] = []
    const onLost = (error: unknown): void => void lost.push(error)
    await using first = await openConsuming({ ...optionsOf(world, topics), onLost })
    await cluster.deleteTopic('a', NONE)
    await cluster.deleteTopic('b', NONE)
    assert.equal(lost.length, 1)

    for (const topic of ['a', 'b']) await cluster.createTopic(topic, 1, NONE)
    const events = eventLog({ clock: world.clock, limits: { events: 3, bytes: 1_000_000 } })
    const options = { ...optionsOf(world, topics), events }
    await using second = await openConsuming({ ...options, onLost })
    await using producing = await openProducing(options)
    await producing.produce({ topic: 'a', value: 1 })
    await assert.rejects(producing.produce({ topic: 'b', value: 1 }), { code: 'event-log-full' })
    assert.deepEqual(
      lost.slice(1).map((error) => (error as { code?: string }).code),
      ['event-log-full'],
    )
    assert.ok(first && second)
  })

  test('that cannot begin leaves nothing behind', async () => {
    const world = worldOf()
    const options = optionsOf(world, [...both('made'), topicOf('missing', 'consumer')])
    await assert.rejects(openConsuming({ ...options, ...failing }), { code: 'no-such-topic' })
    await assert.rejects(world.clusters.open(undefined).lag('made', 'g', NONE), {
      code: 'no-such-topic',
    })
  })
})

describe('volumes', () => {
  for (const valueFormat of ['json', 'avro', 'protobuf'] as const)
    test(`20 of 10 KB on one topic, 30 over three, 5 times 5 at once, 30 rapidly, in ${valueFormat}`, async () => {
      const world = worldOf()
      const names = ['one', 'two', 'three', 'batches', 'rapid', 'large']
      const schema = SCHEMAS[valueFormat]
      const options = optionsOf(
        world,
        names.flatMap((name) => both(name, { valueFormat, schema })),
      )
      await using consuming = await openConsuming({ ...options, ...failing })
      await using producing = await openProducing(options)
      const produce = (topic: string, n: number, text = ''): Promise<unknown> =>
        producing.produce({
          topic,
          value: { n, text },
          correlation: `${topic}-${n}`,
          schema: schema && 'Order',
        })
      const text = 'x'.repeat(10_240)
      for (let n = 0; n < 20; n++) await produce('large', n, text)
      for (let n = 0; n < 30; n++) await produce(names[n % 3]!, n)
      await Promise.all(
        Array.from({ length: 5 }, async (_, batch) => {
          for (let n = 0; n < 5; n++) await produce('batches', batch * 5 + n)
        }),
      )
      await Promise.all(Array.from({ length: 30 }, (_, n) => produce('rapid', n)))
      const { events } = await world.events.wait({}, { count: 105, is: 'at-least', withinMs: 1 })
      assert.equal(events.length, 105)
      assert.equal(consuming.topics.ready.length, 6)
      for (const { topic, correlation, value, undecodable } of events as ReturnType<
        EventLog['find']
      >) {
        assert.equal(undecodable, undefined)
        const { n, text: got } = value as { n: number; text?: string }
        assert.equal(correlation, `${topic}-${n}`)
        assert.equal(got, topic === 'large' ? text : '')
      }
    })
})

/** What was refused, and how. */
async function named(opening: Promise<unknown>): Promise<string> {
  return opening.then(
    () => '',
    (error: Error & { code?: string }) => `${error.code}: ${error.message}`,
  )
}

async function roomOf(topics: readonly TopicDirective[], evidence = bundle) {
  const clock = virtualClock()
  const clusters = memoryClusters({ clock })
  const mask = { add: () => undefined, text: (text: string) => text.replaceAll('sesame', '***') }
  const security = { credentials: credentialsOf(topics), secrets: new Map() }
  const directive = {
    topics,
    tags: undefined,
    steps: [],
    secrets: [],
    exclusive: [],
    parallel: 1,
    retries: 0,
    testingMs: undefined,
    network: false,
  }
  const room = eventRooms({ clusters, clock, log: silentLog })({
    testId: 'test-1',
    bundle: { directory: bundle, directive, features: [] },
    evidence,
    security,
    mask,
  })
  const services = room.services()
  const open = new AsyncDisposableStack()
  open.use(await room.openProducing(security, never))
  open.use(await room.openConsuming(security, never, failing.onLost))
  const call = async <Name extends ServiceName>(
    name: Name,
    input: ServiceInput<Name>,
  ): Promise<ServiceOutput<Name>> => (await services.call(name, input)) as ServiceOutput<Name>
  return { room, call, clock, clusters, [Symbol.asyncDispose]: () => open.disposeAsync() }
}

describe('a step', () => {
  test('produces, asks what is there and waits for what is not', async () => {
    await using room = await roomOf(both('orders'))
    const { call, clock } = room
    const sent = await call('produce', {
      topic: 'orders',
      value: { n: 1 },
      correlation: 'c',
      type: 'Created',
    })
    assert.equal(sent.offset, '0')
    const input = {
      topic: 'orders',
      correlation: 'c',
      count: 1,
      is: 'at-least',
      withinMs: 1_000,
    } as const
    const { isSatisfied, events } = await call('await-events', input)
    assert.deepEqual([isSatisfied, events[0]?.value], [true, { n: 1 }])
    assert.equal((await call('query', { topic: 'orders' })).length, 1)
    assert.equal((await call('query', { topic: 'orders', direction: 'produced' })).length, 1)
    const absent = call('await-events', { ...input, correlation: 'x', count: 0, is: 'exactly' })
    clock.advance(1_000)
    assert.deepEqual(await absent, { isSatisfied: true, events: [], seen: 1 })
  })

  test('learns what the directive says about topics, clusters and schemas', async () => {
    const other = { bootstrapServers: 'far:9092' }
    await using room = await roomOf([
      ...both('orders', { valueFormat: 'avro', schema: 'order.avsc' }),
      topicOf('far', 'consumer', { ...other, create: 1 }),
    ])
    const { call } = room
    assert.deepEqual(await call('topic', { topic: 'orders' }), { roles: ['producer', 'consumer'] })
    assert.deepEqual(await call('topic', { topic: 'far', cluster: 'far:9092' }), {
      roles: ['consumer'],
    })
    assert.deepEqual(await call('topic', { topic: 'far', cluster: 'default' }), { roles: [] })
    assert.deepEqual(await call('topic', { topic: 'none' }), { roles: [] })
    await call('cluster', { name: 'far:9092' })
    await call('cluster', { name: 'default' })
    await assert.rejects(call('cluster', { name: 'near:9092' }), { code: 'no-such-cluster' })
    await call('schema', { topic: 'orders', of: 'value', format: 'avro', type: 'Order' })
    await call('schema', { topic: 'orders', of: 'key', format: 'cloudevent' })
    for (const wrong of [
      { of: 'value', format: 'protobuf' },
      { of: 'value', format: 'avro', type: 'Parcel' },
      { of: 'value', format: 'avro', type: 'Order', version: 7 },
      { of: 'key', format: 'json' },
      { of: 'key', format: 'avro' },
    ] as const)
      await assert.rejects(call('schema', { topic: 'orders', ...wrong }), {
        code: 'no-such-schema',
      })
    await room.clusters.open(undefined).registry?.register('orders-CloudEvent', {
      type: 'avro',
      text: '{"type":"record","name":"CloudEvent","fields":[]}',
    })
    await call('schema', { topic: 'orders', of: 'key', format: 'avro' })
  })

  test('creates a topic of the directive, and is told how far a group is behind', async () => {
    await using room = await roomOf(both('orders', { create: 1 }))
    const { call } = room
    assert.equal(await call('create-topic', { topic: 'orders', partitions: 9 }), null)
    await assert.rejects(call('create-topic', { topic: 'none', partitions: 1 }), {
      code: 'no-such-topic',
    })
    await call('produce', { topic: 'orders', value: 1 })
    assert.deepEqual(await call('group-lag', { topic: 'orders', group: 'billing' }), { lag: 1 })
  })

  test('cannot name a topic that the directive does not have in that role', async () => {
    await using room = await roomOf([
      topicOf('in', 'producer', { create: 1 }),
      topicOf('out', 'consumer', { create: 1 }),
    ])
    const { call } = room
    const wait = { count: 1, is: 'at-least', withinMs: 1 } as const
    for (const asked of [
      call('produce', { topic: 'out', value: 1 }),
      call('produce', { topic: 'in', value: 1, cluster: 'other' }),
      call('query', { topic: 'in' }),
      call('query', { topic: 'out', direction: 'produced' }),
      call('await-events', { topic: 'nowhere', ...wait }),
    ])
      await assert.rejects(asked, { code: 'no-such-topic' })
  })

  test('leaves its events as evidence, which is complete when it is sealed', async () => {
    const evidence = await mkdtemp(join(tmpdir(), 'evidence-'))
    await using room = await roomOf(both('orders'), evidence)
    await room.call('produce', { topic: 'orders', value: { secret: 'sesame' } })
    await room.call('await-events', { topic: 'orders', count: 1, is: 'at-least', withinMs: 1_000 })
    await room.room.seal()
    await room.clusters.open(undefined).deleteTopic('orders', NONE) // is no loss any more
    const lines = (await readFile(join(evidence, 'events.jsonl'), 'utf8')).trimEnd().split('\n')
    const kept = lines.map((line) => JSON.parse(line))
    assert.deepEqual(
      new Set(kept.map(({ direction }) => direction)),
      new Set(['consumed', 'produced']),
    )
    for (const { value } of kept) assert.deepEqual(value, { secret: '***' })
    await assert.rejects(room.call('produce', { topic: 'orders', value: 2 }), {
      code: 'event-log-closed',
    })
    await rm(evidence, { recursive: true })
  })
})
