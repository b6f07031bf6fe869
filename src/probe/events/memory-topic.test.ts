import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import fc from 'fast-check'

import { systemClock } from '../../std/index.ts'
import { virtualClock } from '../../testkit/index.ts'
import type { ConsumedEvent, ConsumerOptions, StartPosition, WireEvent } from './events.ts'
import { MemoryTopic, TOPIC_GROUPS_MAX } from './memory-topic.ts'
import {
  EVENT_BYTES_MAX,
  MEMORY_CLUSTERS_MAX,
  MEMORY_PARTITIONS_MAX,
  MEMORY_TOPICS_MAX,
  memoryClusters,
  TOPIC_BYTES_DEFAULT,
  TOPIC_EVENTS_DEFAULT,
} from './memory.ts'
import { partitionOf } from './partition.ts'

const NONE = { type: 'none' } as const
const never = new AbortController().signal
const ROOMY = { events: 10_000, bytes: 1_000_000 }

function joining(
  group: string,
  from: StartPosition,
  onEvent: (event: ConsumedEvent) => void,
): ConsumerOptions {
  return {
    topic: 'topic',
    group,
    from,
    credentials: NONE,
    signal: never,
    onEvent,
    onLost: unexpected,
  }
}

function unexpected(what: unknown): void {
  assert.fail(String(what))
}

function sized(bytes: number): WireEvent {
  return { key: Buffer.from('k'), value: Buffer.alloc(bytes - 4), headers: { a: 'bc' } }
}

function send(topic: MemoryTopic, key: string | undefined, value: string) {
  const bytes = key === undefined ? undefined : Buffer.from(key)
  return topic.append({ key: bytes, value: Buffer.from(value), headers: {} }, value.length, 0)
}

type Action =
  | Readonly<{ type: 'send'; key: string | undefined }>
  | Readonly<{ type: 'join'; group: string; from: StartPosition }>
  | Readonly<{ type: 'leave'; which: number }>

const actions: fc.Arbitrary<Action[]> = fc.array(
  fc.oneof(
    {
      weight: 5,
      arbitrary: fc.record({
        type: fc.constant('send'),
        key: fc.option(fc.constantFrom('a', 'b', 'c', 'd'), { nil: undefined }),
      }),
    },
    {
      weight: 2,
      arbitrary: fc.record({
        type: fc.constant('join'),
        group: fc.constantFrom('g', 'h'),
        from: fc.constantFrom('latest', 'earliest'),
      }),
    },
    { weight: 1, arbitrary: fc.record({ type: fc.constant('leave'), which: fc.nat(5) }) },
  ),
  { maxLength: 60 },
)

describe('a topic in this process', () => {
  test('keeps keys in partitions, offsets without gaps, and each group at one place, whatever happens', () => {
    fc.assert(
      fc.property(actions, fc.integer({ min: 1, max: 5 }), (program, partitions) => {
        const topic = new MemoryTopic('topic', partitions, ROOMY)
        const sent: string[] = []
        const ends = Array.from({ length: partitions }, () => 0)
        const starts = new Map<string, number[]>()
        const seen = new Map<string, string[]>()
        const members: (() => void)[] = []
        for (const action of program) {
          if (action.type === 'send') {
            const { partition, offset } = send(topic, action.key, 'x')
            if (action.key !== undefined)
              assert.equal(partition, partitionOf(Buffer.from(action.key), partitions))
            assert.equal(offset, String(ends[partition]!++))
            sent.push(`${partition}/${offset}`)
          } else if (action.type === 'join') {
            const { group, from } = action
            if (!starts.has(group)) {
              starts.set(group, from === 'latest' ? [...ends] : ends.map(() => 0))
              seen.set(group, [])
            }
            members.push(
              topic.join(
                joining(group, from, (e) => seen.get(group)!.push(`${e.partition}/${e.offset}`)),
              ),
            )
          } else members.splice(action.which, 1)[0]?.()
          topic.deliver()
        }
        for (const [group, start] of starts) {
          // With one more member whatever was left for the group comes.
          topic.join(
            joining(group, 'latest', (e) => seen.get(group)!.push(`${e.partition}/${e.offset}`)),
          )
          topic.deliver()
          const due = sent.filter((place) => {
            const [partition, offset] = place.split('/').map(Number)
            return offset! >= start[partition!]!
          })
          assert.deepEqual(seen.get(group)!.toSorted(), due.toSorted())
          for (let at = 0; at < partitions; at++) {
            const offsets = seen.get(group)!.filter((place) => place.startsWith(`${at}/`))
            assert.deepEqual(
              offsets,
              due.filter((place) => place.startsWith(`${at}/`)),
            )
          }
          assert.equal(topic.lag(group), 0)
        }
      }),
    )
  })

  test('gives each event to one consumer of a group, and those of a partition to the same one', () => {
    const topic = new MemoryTopic('topic', 4, ROOMY)
    const owners = new Map<number, Set<string>>()
    for (const name of ['one', 'two'])
      topic.join(
        joining('g', 'latest', ({ partition }) => {
          owners.set(partition, (owners.get(partition) ?? new Set()).add(name))
        }),
      )
    for (let at = 0; at < 40; at++) send(topic, String(at), 'x')
    topic.deliver()
    assert.equal(owners.size, 4)
    assert.deepEqual(new Set([...owners.values()].flatMap((names) => [...names])).size, 2)
    for (const names of owners.values()) assert.equal(names.size, 1)
  })

  test('forgets its oldest events over its limits, and who begins at the beginning begins there', () => {
    for (const [retention, kept] of [
      [{ events: 5, bytes: 1_000 }, 5],
      [{ events: 100, bytes: 30 }, 3],
    ] as const) {
      const topic = new MemoryTopic('topic', 1, retention)
      const slow: string[] = []
      const leave = topic.join(joining('slow', 'latest', ({ offset }) => slow.push(offset)))
      leave()
      for (let at = 0; at < 20; at++) send(topic, undefined, '0123456789')
      const seen: string[] = []
      topic.join(joining('g', 'earliest', ({ offset }) => seen.push(offset)))
      topic.join(joining('slow', 'latest', ({ offset }) => slow.push(offset)))
      topic.deliver()
      assert.deepEqual(
        seen,
        Array.from({ length: kept }, (_, at) => String(20 - kept + at)),
      )
      assert.deepEqual(slow, seen)
    }
  })

  test('takes a consumer that throws for lost, and goes on with the others', () => {
    const topic = new MemoryTopic('topic', 1, ROOMY)
    const lost: unknown[] = []
    const seen: string[] = []
    const broken = joining('g', 'latest', () => {
      throw new Error('broken')
    })
    topic.join({ ...broken, onLost: (error) => lost.push(error) })
    topic.join(joining('h', 'latest', ({ offset }) => seen.push(offset)))
    send(topic, 'a', 'x')
    send(topic, 'a', 'x')
    topic.deliver()
    assert.equal(lost.length, 1)
    assert.deepEqual(seen, ['0', '1'])
  })

  test('remembers so many groups, and forgets first those without a consumer', () => {
    const topic = new MemoryTopic('topic', 1, ROOMY)
    topic.join(joining('stays', 'latest', unexpected))
    topic.join(joining('leaves', 'latest', unexpected))()
    for (let at = 2; at < TOPIC_GROUPS_MAX; at++) topic.join(joining(`${at}`, 'latest', unexpected))
    topic.append({ key: undefined, value: undefined, headers: {} }, 0, 0)
    assert.equal(topic.lag('leaves'), 1)
    const later: string[] = []
    topic.join(joining('one more', 'latest', unexpected))
    topic.join(joining('leaves', 'latest', ({ offset }) => later.push(offset)))
    assert.equal(topic.lag('leaves'), 0)
  })
})

describe('clusters in this process', () => {
  test('are apart by their bootstrap servers, and the same by the same', async () => {
    await using clusters = memoryClusters({ clock: systemClock })
    await clusters.open('a:1').createTopic('topic', 1, NONE)
    assert.equal(await clusters.open('a:1').lag('topic', 'g', NONE), 0)
    for (const other of ['b:1', undefined])
      await assert.rejects(clusters.open(other).lag('topic', 'g', NONE), { code: 'no-such-topic' })
    assert.notEqual(clusters.open('a:1').registry, clusters.open('b:1').registry)
  })

  test('make topics by themselves if they are told to', async () => {
    await using clusters = memoryClusters({ clock: virtualClock(), autoCreate: 2 })
    const options = { topic: 'topic', credentials: NONE, signal: never }
    await using producer = await clusters.open(undefined).producer(options)
    assert.deepEqual(await producer.send({ key: undefined, value: undefined, headers: {} }), {
      partition: 0,
      offset: '0',
    })
  })

  test('have room for so much, and refuse one more', async () => {
    const clock = virtualClock()
    await using clusters = memoryClusters({ clock })
    for (let at = 0; at < MEMORY_CLUSTERS_MAX; at++) clusters.open(`${at}`)
    assert.throws(() => clusters.open('one more'), { code: 'event-refused' })
    const cluster = clusters.open('0')
    await cluster.createTopic('large', MEMORY_PARTITIONS_MAX, NONE)
    await assert.rejects(cluster.createTopic('larger', MEMORY_PARTITIONS_MAX + 1, NONE), {
      code: 'event-refused',
    })
    await assert.rejects(cluster.createTopic('none', 0, NONE), { code: 'event-refused' })
    await assert.rejects(cluster.createTopic('no good', 1, NONE), { code: 'event-refused' })
    for (let at = 1; at < MEMORY_TOPICS_MAX; at++) await cluster.createTopic(`${at}`, 1, NONE)
    await assert.rejects(cluster.createTopic('more', 1, NONE), { code: 'event-refused' })

    await using producer = await cluster.producer({ topic: '1', credentials: NONE, signal: never })
    await producer.send(sized(EVENT_BYTES_MAX))
    await assert.rejects(producer.send(sized(EVENT_BYTES_MAX + 1)), { code: 'event-refused' })
  })

  test('keep so many events and bytes of a topic unless they are told otherwise', async () => {
    await using clusters = memoryClusters({ clock: virtualClock() })
    const cluster = clusters.open(undefined)
    for (const [topic, bytes, count, kept] of [
      ['many', 0, TOPIC_EVENTS_DEFAULT + 5, TOPIC_EVENTS_DEFAULT],
      ['large', EVENT_BYTES_MAX, 20, TOPIC_BYTES_DEFAULT / EVENT_BYTES_MAX],
    ] as const) {
      await cluster.createTopic(topic, 1, NONE)
      await using producer = await cluster.producer({ topic, credentials: NONE, signal: never })
      const value = Buffer.alloc(bytes)
      for (let at = 0; at < count; at++) await producer.send({ key: undefined, value, headers: {} })
      assert.equal(await cluster.lag(topic, 'g', NONE), kept)
    }
  })

  test('that are closed end their consumers and refuse their producers', async () => {
    const clusters = memoryClusters({ clock: virtualClock() })
    const cluster = clusters.open(undefined)
    await cluster.createTopic('topic', 1, NONE)
    const producer = await cluster.producer({ topic: 'topic', credentials: NONE, signal: never })
    const lost: unknown[] = []
    await cluster.consumer({
      ...joining('g', 'latest', unexpected),
      onLost: (error) => lost.push(error),
    })
    await clusters[Symbol.asyncDispose]()
    assert.equal(lost.length, 1)
    await assert.rejects(producer.send({ key: undefined, value: undefined, headers: {} }), {
      code: 'no-such-topic',
    })
    await producer[Symbol.asyncDispose]()
    await assert.rejects(producer.send({ key: undefined, value: undefined, headers: {} }), {
      code: 'event-refused',
    })
  })
})
