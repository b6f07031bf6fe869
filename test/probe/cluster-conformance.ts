/**
 * What every cluster of events has to keep, whatever it is made of. Whoever calls it registers the tests
 * and says how a topic comes into being; nothing in here waits for anything but the events themselves.
 */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import type {
  ConsumedEvent,
  ConsumerOptions,
  Credentials,
  EventCluster,
  Placed,
  StartPosition,
  WireEvent,
} from '../../src/probe/events/events.ts'
import { partitionOf } from '../../src/probe/events/partition.ts'
import { freshId } from '../../src/std/index.ts'

export interface ClusterFixture {
  readonly cluster: EventCluster
  readonly credentials: Credentials
  /** Of a name that was never used before. */
  newTopic(partitions: number): Promise<string>
  /** The name of one that is not there. */
  missingTopic(): Promise<string>
}

export type ConformanceOptions = Readonly<{
  /** Or why there is none here. */
  open: () => Promise<ClusterFixture | string>
  /** Whether topics can be created and deleted through the port. */
  canCreate: boolean
}>

export const never: AbortSignal = new AbortController().signal

/** What came, and a way to wait for more of it. */
export class Collected {
  readonly events: ConsumedEvent[] = []
  readonly #waiting = new Map<number, () => void>()

  readonly onEvent = (event: ConsumedEvent): void => {
    this.events.push(event)
    this.#waiting.get(this.events.length)?.()
  }

  async until(count: number): Promise<readonly ConsumedEvent[]> {
    if (this.events.length < count)
      await new Promise<void>((resolve) => this.#waiting.set(count, resolve))
    return this.events
  }

  texts(): string[] {
    return this.events.map(({ value }) => Buffer.from(value ?? []).toString())
  }
}

export function wire(value: string, key?: string): WireEvent {
  return {
    key: key === undefined ? undefined : Buffer.from(key),
    value: Buffer.from(value),
    headers: {},
  }
}

export function clusterConformance(name: string, options: ConformanceOptions): void {
  describe(name, { concurrency: true, timeout: 60_000 }, () => {
    const rule = (title: string, body: (room: Room) => Promise<void>): void =>
      void test(title, async (t) => {
        const fixture = await options.open()
        if (typeof fixture === 'string') return t.skip(fixture)
        await using room = new Room(fixture)
        await body(room)
      })

    producing(rule)
    starting(rule)
    grouping(rule)
    refusing(rule)
    volumes(rule)
    if (options.canCreate) creating(rule)
  })
}

type Rule = (title: string, body: (room: Room) => Promise<void>) => void

class Room implements AsyncDisposable {
  readonly fixture: ClusterFixture
  readonly #open = new AsyncDisposableStack()

  constructor(fixture: ClusterFixture) {
    this.fixture = fixture
  }

  get cluster(): EventCluster {
    return this.fixture.cluster
  }

  async produce(topic: string, events: readonly WireEvent[]): Promise<Placed[]> {
    const { credentials } = this.fixture
    const producer = await this.cluster.producer({ topic, credentials, signal: never })
    this.#open.use(producer)
    const placed: Placed[] = []
    for (const event of events) placed.push(await producer.send(event))
    return placed
  }

  async consume(
    topic: string,
    from: StartPosition,
    more: Partial<ConsumerOptions> = {},
  ): Promise<Collected & AsyncDisposable> {
    const collected = new Collected()
    const consumer = await this.cluster.consumer({
      topic,
      from,
      group: `group-${freshId()}`,
      credentials: this.fixture.credentials,
      signal: never,
      onEvent: collected.onEvent,
      onLost: (error) => assert.fail(String(error)),
      ...more,
    })
    this.#open.use(consumer)
    return Object.assign(collected, {
      [Symbol.asyncDispose]: async () => consumer[Symbol.asyncDispose](),
    })
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#open.disposeAsync()
  }
}

function places(all: readonly Placed[]): string[] {
  return all.map(({ partition, offset }) => `${partition}/${offset}`).toSorted()
}

function numbered(count: number, key?: (at: number) => string): WireEvent[] {
  return Array.from({ length: count }, (_, at) => wire(`event ${at}`, key?.(at)))
}

function producing(rule: Rule): void {
  // Fails when `send` in kafka.ts asks for no acknowledgement, or in memory.ts answers before it appends.
  rule('probe-K1: an event is acknowledged with its partition and offset', async (room) => {
    const topic = await room.fixture.newTopic(3)
    const placed = await room.produce(
      topic,
      numbered(12, (at) => `key ${at % 5}`),
    )
    const next = [0, 0, 0]
    for (const [at, { partition, offset }] of placed.entries()) {
      assert.equal(partition, partitionOf(Buffer.from(`key ${at % 5}`), 3))
      assert.equal(offset, String(next[partition]!++))
    }
    // It is there when it is acknowledged: whoever begins now does not see it.
    const later = await room.consume(topic, 'latest')
    await room.produce(topic, [wire('last', 'key')])
    await later.until(1)
    assert.deepEqual(later.texts(), ['last'])
  })

  rule('what is consumed is what was produced, byte by byte', async (room) => {
    const topic = await room.fixture.newTopic(1)
    const events: WireEvent[] = [
      { key: undefined, value: Buffer.from('no key'), headers: {} },
      { key: Buffer.from([0, 255, 1]), value: Buffer.from([0, 1, 254, 255]), headers: {} },
      { key: Buffer.from('tombstone'), value: undefined, headers: { reason: 'gone' } },
      {
        key: Buffer.from('k'),
        value: Buffer.from(''),
        headers: { 'x-größe': 'grün ✓', empty: '' },
      },
      { key: Buffer.from('large'), value: Buffer.alloc(500_000, 7), headers: {} },
    ]
    const seen = await room.consume(topic, 'latest')
    const placed = await room.produce(topic, events)
    const consumed = await seen.until(events.length)
    for (const [at, event] of events.entries()) {
      const { key, value, headers, partition, offset, topic: from, at: when } = consumed[at]!
      assert.deepEqual(
        { key: key && Buffer.from(key), value: value && Buffer.from(value), headers },
        event,
      )
      assert.deepEqual({ partition, offset }, placed[at])
      assert.equal(from, topic)
      assert.ok(Number.isSafeInteger(when))
    }
  })
}

function starting(rule: Rule): void {
  // Fails when `join` in memory-topic.ts, or the constructor of `Reading` in kafka-consumer.ts, begins low.
  rule('probe-K3: with latest nothing from before is seen, with earliest all', async (room) => {
    const topic = await room.fixture.newTopic(2)
    await room.produce(topic, numbered(10, String))
    const [latest, earliest] = await Promise.all([
      room.consume(topic, 'latest'),
      room.consume(topic, 'earliest'),
    ])
    await room.produce(topic, [wire('after', 'key 1')])
    await Promise.all([latest.until(1), earliest.until(11)])
    assert.deepEqual(latest.texts(), ['after'])
    const fresh = earliest.events.filter(({ isOld }) => !isOld)
    assert.deepEqual(
      fresh.map(({ value }) => String(value)),
      ['after'],
    )
    assert.deepEqual(
      earliest.texts().toSorted(),
      [...numbered(10), wire('after')].map(({ value }) => String(value)).toSorted(),
    )
  })

  // Fails when `consumer` in memory.ts joins later than it answers.
  rule('probe-K9: once a consumer is ready it misses nothing, in any partition', async (room) => {
    const topic = await room.fixture.newTopic(4)
    const seen = await room.consume(topic, 'latest')
    const placed = await room.produce(topic, numbered(40, String))
    await seen.until(40)
    assert.deepEqual(places(seen.events), places(placed))
    assert.equal(new Set(placed.map(({ partition }) => partition)).size, 4)
  })

  rule('within a partition events are seen in the order they were produced', async (room) => {
    const topic = await room.fixture.newTopic(3)
    const seen = await room.consume(topic, 'earliest')
    await room.produce(
      topic,
      numbered(60, (at) => `key ${at % 7}`),
    )
    await seen.until(60)
    for (const partition of [0, 1, 2]) {
      const offsets = seen.events
        .filter((e) => e.partition === partition)
        .map((e) => Number(e.offset))
      assert.deepEqual(offsets, Array.from(offsets.keys()))
    }
  })
}

function grouping(rule: Rule): void {
  rule('every group sees every event once', async (room) => {
    const topic = await room.fixture.newTopic(2)
    const seen = await Promise.all([room.consume(topic, 'latest'), room.consume(topic, 'latest')])
    await room.produce(topic, numbered(10, String))
    for (const { until, events } of seen.map((each) => ({
      until: each.until(10),
      events: each.events,
    }))) {
      await until
      assert.equal(new Set(events.map((e) => `${e.partition}/${e.offset}`)).size, 10)
    }
  })

  rule('a group that was there before goes on where it was', async (room) => {
    const topic = await room.fixture.newTopic(2)
    const group = `group-${freshId()}`
    const first = await room.consume(topic, 'latest', { group })
    await room.produce(topic, numbered(25, String))
    await first.until(25)
    await first[Symbol.asyncDispose]()
    assert.equal(await room.cluster.lag(topic, group, room.fixture.credentials), 0)
    await room.produce(topic, [wire('between', 'a'), wire('between', 'b')])
    assert.equal(await room.cluster.lag(topic, group, room.fixture.credentials), 2)
    const second = await room.consume(topic, 'latest', { group })
    await room.produce(topic, [wire('after', 'a')])
    await second.until(3)
    assert.deepEqual(second.texts().toSorted(), ['after', 'between', 'between'])
  })

  rule('a consumer that is closed sees nothing more', async (room) => {
    const topic = await room.fixture.newTopic(1)
    const closed = await room.consume(topic, 'latest')
    await room.produce(topic, [wire('before')])
    await closed.until(1)
    await closed[Symbol.asyncDispose]()
    const open = await room.consume(topic, 'latest')
    await room.produce(topic, [wire('after')])
    await open.until(1)
    assert.deepEqual(closed.texts(), ['before'])
  })
}

function refusing(rule: Rule): void {
  rule(
    'a topic that is not there is refused by name, and does not come into being',
    async (room) => {
      const topic = await room.fixture.missingTopic()
      for (let time = 0; time < 2; time++) {
        await assert.rejects(room.produce(topic, []), isFaultNaming('no-such-topic', topic))
        await assert.rejects(room.consume(topic, 'latest'), isFaultNaming('no-such-topic', topic))
      }
    },
  )

  rule('opening ends with its signal', async (room) => {
    const topic = await room.fixture.newTopic(1)
    const abort = new AbortController()
    const consumer = room.consume(topic, 'latest', { signal: abort.signal })
    abort.abort(new Error('no longer wanted'))
    await assert.rejects(consumer, /no longer wanted/)
  })
}

function volumes(rule: Rule): void {
  rule('20 events of one topic, 10 KB each', async (room) => {
    const topic = await room.fixture.newTopic(1)
    const seen = await room.consume(topic, 'latest')
    const text = 'x'.repeat(10_240)
    await room.produce(
      topic,
      Array.from({ length: 20 }, (_, at) => wire(`${at} ${text}`)),
    )
    await seen.until(20)
    assert.deepEqual(
      seen.texts(),
      Array.from({ length: 20 }, (_, at) => `${at} ${text}`),
    )
  })

  rule('30 events over three topics, and 5 batches of 5 at once', async (room) => {
    const topics = await Promise.all([1, 2, 3].map((count) => room.fixture.newTopic(count)))
    const seen = await Promise.all(topics.map((topic) => room.consume(topic, 'latest')))
    await Promise.all(topics.map((topic) => room.produce(topic, numbered(10, String))))
    await Promise.all(Array.from({ length: 5 }, () => room.produce(topics[0]!, numbered(5))))
    await Promise.all([seen[0]!.until(35), seen[1]!.until(10), seen[2]!.until(10)])
    assert.deepEqual(
      seen.map(({ events }) => events.length),
      [35, 10, 10],
    )
  })
}

function creating(rule: Rule): void {
  // Fails when `createTopic` in memory.ts does not look whether the topic is there.
  rule(
    'probe-K8: a topic is created when it is asked for, once, and deleted when asked',
    async (room) => {
      const { credentials } = room.fixture
      const topic = `made-${freshId()}`
      assert.equal(await room.cluster.createTopic(topic, 3, credentials), true)
      assert.equal(await room.cluster.createTopic(topic, 3, credentials), false)
      const placed = await room.produce(topic, numbered(30, String))
      assert.equal(new Set(placed.map(({ partition }) => partition)).size, 3)
      await room.cluster.deleteTopic(topic, credentials)
      await assert.rejects(room.produce(topic, []), isFaultNaming('no-such-topic', topic))
      await assert.rejects(
        async () => room.cluster.deleteTopic(topic, credentials),
        isFaultNaming('no-such-topic', topic),
      )
    },
  )
}

function isFaultNaming(code: string, name: string): (error: unknown) => boolean {
  return (error) =>
    error instanceof Error && 'code' in error && error.code === code && error.message.includes(name)
}
