/**
 * The adapter of Kafka on brokers that speak the protocol: the suite of all clusters, and what only
 * brokers do. With KAFKA_BROKERS the suite runs on a real cluster as well, where topics can be created.
 */
import assert from 'node:assert/strict'
import { after, describe, test } from 'node:test'

import type { EventCluster, EventClusters } from '../../src/probe/events/events.ts'
import { KAFKA_LOST_MS } from '../../src/probe/events/kafka-consumer.ts'
import { createMask } from '../../src/probe/secrets/mask.ts'
import { kafkaClusters } from '../../src/probe/events/kafka.ts'
import {
  freshId,
  lineLog,
  silentLog,
  systemClock,
  type Clock,
  type Log,
} from '../../src/std/index.ts'
import { clusterConformance, Collected, never, wire } from './cluster-conformance.ts'
import { mockBrokers, type MockBrokers } from './mock-brokers.ts'

const NONE = { type: 'none' } as const
const UNKNOWN_TOPIC = 3
const NOT_LEADER = 6
const TOO_LARGE = 10
const TOPIC_DENIED = 29
const GROUP_DENIED = 30
const PRODUCE = 0
const JOIN_GROUP = 11

const opened = new AsyncDisposableStack()
after(() => opened.disposeAsync())

const shared = mockBrokers(3).then((mock) => {
  if (typeof mock === 'string') return mock
  return { mock: opened.use(mock), clusters: clustersOf(mock.bootstrapServers) }
})

function clustersOf(
  bootstrapServers: string,
  log: Log = silentLog,
  clock: Clock = systemClock,
): EventClusters {
  return opened.use(
    kafkaClusters({
      clusters: [{ bootstrapServers }],
      clock,
      log,
      newMask: createMask,
    }),
  )
}

async function newTopic(mock: MockBrokers, partitions: number): Promise<string> {
  const topic = `topic-${freshId()}`
  await mock.command(`topic ${topic} ${partitions}`)
  return topic
}

async function refusedTopic(mock: MockBrokers, error: number): Promise<string> {
  const topic = await newTopic(mock, 1)
  await mock.command(`refuse ${topic} ${error}`)
  return topic
}

clusterConformance('a cluster of Kafka, on brokers that speak its protocol', {
  canCreate: false,
  async open() {
    const found = await shared
    if (typeof found === 'string') return found
    const { mock, clusters } = found
    return {
      cluster: clusters.open(undefined),
      credentials: NONE,
      newTopic: (partitions) => newTopic(mock, partitions),
      missingTopic: () => refusedTopic(mock, UNKNOWN_TOPIC),
    }
  },
})

const { KAFKA_BROKERS } = process.env
if (KAFKA_BROKERS !== undefined) {
  const cluster = clustersOf(KAFKA_BROKERS).open(undefined)
  clusterConformance('a real cluster of Kafka', {
    canCreate: true,
    open: async () => ({
      cluster,
      credentials: NONE,
      async newTopic(partitions) {
        const topic = `topic-${freshId()}`
        await cluster.createTopic(topic, partitions, NONE)
        return topic
      },
      missingTopic: async () => `none-${freshId()}`,
    }),
  })
}

type Rule = (mock: MockBrokers, cluster: EventCluster) => Promise<void>

function rule(title: string, body: Rule): void {
  test(title, async (t) => {
    const mock = await mockBrokers()
    if (typeof mock === 'string') return t.skip(mock)
    opened.use(mock)
    await body(mock, clustersOf(mock.bootstrapServers).open(undefined))
  })
}

describe('brokers of Kafka that', { concurrency: true, timeout: 60_000 }, () => {
  // Fails when `send` in kafka.ts asks for no acknowledgement.
  rule('probe-K1: take their time are waited for until they acknowledge', async (mock, cluster) => {
    const topic = await newTopic(mock, 1)
    await using producer = await cluster.producer({ topic, credentials: NONE, signal: never })
    await producer.send(wire('first'))
    await mock.command('slow 1 400')
    const sentMs = systemClock.monotonic()
    const { offset } = await producer.send(wire('second'))
    assert.equal(offset, '1')
    assert.ok(systemClock.monotonic() - sentMs >= 400)
  })

  rule('refuse an event are tried again where that may help', async (mock, cluster) => {
    const topic = await newTopic(mock, 1)
    await using producer = await cluster.producer({ topic, credentials: NONE, signal: never })
    await mock.command(`fail ${PRODUCE} ${NOT_LEADER} 2`)
    assert.deepEqual(await producer.send(wire('event')), { partition: 0, offset: '0' })
    await mock.command(`fail ${PRODUCE} ${TOO_LARGE} 1`)
    await assert.rejects(producer.send(wire('event')), { code: 'event-refused' })
  })

  // Fails when `open` in kafka-consumer.ts does not wait until it has joined.
  rule('probe-K9: give a consumer no partitions do not make it ready', async (mock, cluster) => {
    const topic = await newTopic(mock, 1)
    await mock.command(`fail ${JOIN_GROUP} ${GROUP_DENIED} 1`)
    const opening = cluster.consumer({
      topic,
      group: 'group',
      from: 'latest',
      credentials: NONE,
      signal: never,
      onEvent: () => undefined,
      onLost: () => undefined,
    })
    await assert.rejects(opening, { code: 'topic-denied' })
  })

  rule('deny a topic are believed', async (mock, cluster) => {
    const topic = await refusedTopic(mock, TOPIC_DENIED)
    const options = { topic, credentials: NONE, signal: never }
    await assert.rejects(cluster.producer(options), { code: 'topic-denied' })
  })

  rule(
    'go and come back cost a consumer nothing, and it sees nothing twice',
    async (mock, cluster) => {
      const topic = await newTopic(mock, 2)
      const seen = new Collected()
      await using producer = await cluster.producer({ topic, credentials: NONE, signal: never })
      await producer.send(wire('long before', 'a'))
      await using stack = new AsyncDisposableStack()
      const consumer = await cluster.consumer({
        topic,
        group: 'group',
        from: 'latest',
        credentials: NONE,
        signal: never,
        onEvent: seen.onEvent,
        onLost: (error) => assert.fail(String(error)),
      })
      stack.use(consumer)
      for (const text of ['1', '2', '3']) await producer.send(wire(text, text))
      await seen.until(3)
      await mock.command('down 1')
      await mock.command('up 1')
      for (const text of ['4', '5', '6']) await producer.send(wire(text, text))
      await seen.until(6)
      assert.deepEqual(seen.texts().toSorted(), ['1', '2', '3', '4', '5', '6'])
    },
  )

  rule('stay away for too long lose their consumer, which is told once', async (mock) => {
    let lateMs = 0
    let isLate = false
    const monotonic = (): number => {
      if (isLate) lateMs += KAFKA_LOST_MS
      return systemClock.monotonic() + lateMs
    }
    const clock = { ...systemClock, monotonic }
    const clusters = clustersOf(mock.bootstrapServers, silentLog, clock)
    const topic = await newTopic(mock, 1)
    const lost = Promise.withResolvers<unknown>()
    const consumer = await clusters.open(undefined).consumer({
      topic,
      group: 'group',
      from: 'latest',
      credentials: NONE,
      signal: never,
      onEvent: () => undefined,
      onLost: lost.resolve,
    })
    isLate = true
    await mock.command('down 1')
    assert.equal(((await lost.promise) as { code?: string }).code, 'events-unavailable')
    isLate = false
    await consumer[Symbol.asyncDispose]()
  })

  rule('cannot be reached are a fault that may pass', async (mock, cluster) => {
    await mock.command('down 1')
    const options = { topic: 'topic', credentials: NONE, signal: never }
    await assert.rejects(
      cluster.producer(options),
      (error: Error & { code?: string; detail?: { isTransient?: boolean } }) =>
        error.code === 'events-unavailable' && error.detail?.isTransient === true,
    )
  })

  rule('do not speak SASL are refused, and no secret is told to anybody', async (mock) => {
    const lines: string[] = []
    const log = lineLog((line) => lines.push(line), { level: 'debug' })
    const cluster = clustersOf(mock.bootstrapServers, log).open(undefined)
    const text = 'open-sesame'
    const password = { name: 'kafka', reveal: () => text, toJSON: () => '', toString: () => '' }
    const credentials = { type: 'plain', username: 'someone', password, tls: false } as const
    await assert.rejects(
      cluster.producer({ topic: 'topic', credentials, signal: never }),
      (error: Error) => !error.message.includes(text),
    )
    assert.ok(lines.some((line) => line.includes('kafka: ')))
    assert.ok(!lines.some((line) => line.includes(text)))
  })
})
