import assert from 'node:assert/strict'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, test } from 'node:test'

import fc from 'fast-check'

import { afterIo, isFault } from '../../std/index.ts'
import { virtualClock } from '../../testkit/index.ts'
import { eventFile } from './event-file.ts'
import {
  EVENT_WAITERS_MAX,
  eventLog,
  TEST_EVENT_BYTES_MAX,
  TEST_EVENTS_MAX,
  type EventLog,
  type LoggedEvent,
  type NewEvent,
} from './event-log.ts'
import { outOfOrder, type LogQuery } from './query.ts'

function event(more: Partial<NewEvent> = {}): NewEvent {
  return {
    direction: 'consumed',
    topic: 'orders',
    partition: 0,
    offset: '0',
    at: 0,
    key: null,
    value: {},
    headers: {},
    ...more,
  }
}

function come(log: EventLog, more: Partial<NewEvent> = {}): LoggedEvent {
  return log.admit(10).append(event(more))
}

function sequences(events: readonly { sequence: number }[]): number[] {
  return events.map(({ sequence }) => sequence)
}

const atLeast = (count: number, withinMs = 1_000) => ({ count, is: 'at-least', withinMs }) as const
const exactly = (count: number, withinMs = 1_000) => ({ count, is: 'exactly', withinMs }) as const
const atMost = (count: number, withinMs = 1_000) => ({ count, is: 'at-most', withinMs }) as const

/** What a promise has come to by now. */
async function settled<T>(promise: Promise<T>): Promise<T | 'waiting' | Error> {
  const nothing = Symbol('nothing')
  const first = await Promise.race([
    promise.catch((error: Error) => error),
    new Promise((resolve) => afterIo(() => resolve(nothing))),
  ])
  return first === nothing ? 'waiting' : (first as T | Error)
}

describe('the events of a test', () => {
  // Fails when `#index` in event-log.ts keeps only the first event of a correlation.
  test('probe-K2: are all there, several of one correlation too, in the order they came', () => {
    const log = eventLog({ clock: virtualClock() })
    for (const correlation of ['a', 'b', 'a', 'a']) come(log, { correlation })
    come(log)
    assert.deepEqual(sequences(log.find({ correlation: 'a' })), [1, 3, 4])
    assert.deepEqual(sequences(log.find({ correlation: 'b' })), [2])
    assert.deepEqual(sequences(log.find({ correlation: 'A' })), [])
    assert.deepEqual(sequences(log.find({})), [1, 2, 3, 4, 5])
    assert.equal(log.size, 5)
  })

  // Without `#produced` in event-log.ts the one that is consumed late counts for whoever asks next.
  test('came when the test produced them, and what was there before it always was', async () => {
    const log = eventLog({ clock: virtualClock() })
    come(log, { direction: 'produced', offset: '7' })
    come(log, { direction: 'produced', topic: 'other', offset: '7' })
    const since = log.size
    come(log, { offset: '3', isOld: true })
    come(log, { offset: '7' })
    come(log, { offset: '7', partition: 1 })
    come(log, { offset: '8' })
    come(log, { direction: 'produced', offset: '8' })
    assert.deepEqual(sequences(log.find({ since })), [3, 5, 6])
    assert.deepEqual(sequences(log.find({ since: log.size })), [3])
    assert.deepEqual(sequences(log.find({ since, direction: 'produced' })), [7])
    assert.deepEqual(sequences(log.find({ since: 0 })), [3, 4, 5, 6])
    const { events, seen } = await log.wait({ since, after: 5 }, atLeast(1))
    assert.deepEqual([sequences(events), seen], [[6], 3])
  })

  test('are found by topic, direction, sequence and whatever is in key and value', () => {
    const log = eventLog({ clock: virtualClock() })
    come(log, { value: { status: 'new', total: 10, tags: ['red'] }, key: { type: 'Created' } })
    come(log, { value: { status: 'News', total: 20, note: null } })
    come(log, { topic: 'other', value: { status: 'new' } })
    come(log, { direction: 'produced', value: { status: 'new' } })
    type Condition = NonNullable<LogQuery['where']>[number]
    const where = (path: string, how: Condition['test'], of: 'value' | 'key' = 'value'): number[] =>
      sequences(log.find({ where: [{ of, path, test: how }] }))
    assert.deepEqual(sequences(log.find({ topic: 'orders' })), [1, 2])
    assert.deepEqual(sequences(log.find({ direction: 'produced' })), [4])
    assert.deepEqual(sequences(log.find({ after: 1 })), [2, 3])
    assert.deepEqual(where('$.status', { type: 'equals', value: 'new' }), [1, 3])
    assert.deepEqual(where('$.tags', { type: 'equals', value: ['red'] }), [1])
    assert.deepEqual(where('$.status', { type: 'contains', text: 'ew' }), [1, 2, 3])
    assert.deepEqual(where('$.tags', { type: 'contains', text: 'red' }), [1])
    assert.deepEqual(where('$.total', { type: 'greater', than: 10 }), [2])
    assert.deepEqual(where('$.total', { type: 'less', than: 11 }), [1])
    assert.deepEqual(where('$.note', { type: 'exists' }), [2])
    assert.deepEqual(where('$.note', { type: 'absent' }), [1, 3])
    assert.deepEqual(where('$.type', { type: 'equals', value: 'Created' }, 'key'), [1])
    assert.deepEqual(
      sequences(log.find({ matching: ({ offset, sequence }) => offset === '0' && sequence > 2 })),
      [3],
    )
    assert.throws(() => where('no path', { type: 'exists' }), { code: 'bad-json-path' })
  })

  test('are in order by a path, or the first that is not is named', () => {
    const log = eventLog({ clock: virtualClock() })
    for (const total of [1, 2, 2, 5, 3]) come(log, { value: { total, name: `n${total}` } })
    const all = log.find({})
    assert.equal(outOfOrder(all, '$.total')?.sequence, 5)
    assert.equal(outOfOrder(all, '$.name')?.sequence, 5)
    assert.equal(outOfOrder(all.slice(0, 4), '$.total'), undefined)
    assert.equal(outOfOrder(all, '$.total', true)?.sequence, 2)
    assert.equal(outOfOrder(all.slice(3), '$.total', true), undefined)
    assert.equal(outOfOrder(all, '$.missing'), undefined)
  })
})

describe('waiting for events', () => {
  test('ends with the one that is still wanted, and not before', async () => {
    const log = eventLog({ clock: virtualClock() })
    come(log)
    const waiting = log.wait({ topic: 'orders' }, atLeast(3))
    come(log)
    come(log, { topic: 'other' })
    assert.equal(await settled(waiting), 'waiting')
    come(log)
    const { isSatisfied, events, seen } = await waiting
    assert.deepEqual([isSatisfied, sequences(events), seen], [true, [1, 2, 4], 3])
  })

  test('ends when time is up, to the millisecond, with what there is', async () => {
    const clock = virtualClock()
    const log = eventLog({ clock })
    come(log)
    const waiting = log.wait({ correlation: 'a' }, atLeast(1, 500))
    clock.advance(499)
    assert.equal(await settled(waiting), 'waiting')
    clock.advance(1)
    assert.deepEqual(await waiting, { isSatisfied: false, events: [], seen: 1 })
  })

  test('for exactly so many lasts until time is up, or until there is one too many', async () => {
    const clock = virtualClock()
    const log = eventLog({ clock })
    come(log)
    const enough = log.wait({}, exactly(2))
    const none = log.wait({ correlation: 'x' }, exactly(0))
    const most = log.wait({}, atMost(2))
    come(log)
    assert.equal(await settled(enough), 'waiting')
    clock.advance(1_000)
    assert.equal((await enough).isSatisfied, true)
    assert.equal((await none).isSatisfied, true)
    assert.equal((await most).isSatisfied, true)

    const over = log.wait({}, exactly(2))
    const absent = log.wait({ correlation: 'x' }, atMost(0))
    come(log, { correlation: 'x' })
    assert.deepEqual([(await over).isSatisfied, (await absent).isSatisfied], [false, false])
    const fewer = log.wait({}, exactly(5))
    clock.advance(1_000)
    assert.equal((await fewer).isSatisfied, false)
  })

  test('leaves no timer behind', async () => {
    const clock = virtualClock()
    const log = eventLog({ clock })
    const waiting = log.wait({}, atLeast(1))
    come(log)
    await waiting
    assert.equal(clock.next, undefined)
  })

  test('is for a limited number of steps', async () => {
    const clock = virtualClock()
    const log = eventLog({ clock })
    const all = Array.from({ length: EVENT_WAITERS_MAX }, () => log.wait({}, atLeast(1)))
    await assert.rejects(log.wait({}, atLeast(1)), { code: 'too-many-waiters' })
    come(log)
    await Promise.all(all)
    await log.wait({}, atLeast(1))
  })

  test('ends with the log', async () => {
    const log = eventLog({ clock: virtualClock() })
    const waiting = log.wait({}, atLeast(1))
    await log[Symbol.asyncDispose]()
    await assert.rejects(waiting, { code: 'event-log-closed' })
    assert.throws(() => log.find({}), { code: 'event-log-closed' })
    assert.throws(() => log.admit(1), { code: 'event-log-closed' })
  })

  test('knows the same as asking at the end', async () => {
    const direction = fc.constantFrom('produced', 'consumed')
    const topic = fc.constantFrom('orders', 'other')
    const correlation = fc.constantFrom('a', 'b')
    const query = fc.record({ topic, correlation, direction }, { requiredKeys: [] })
    const arrivals = fc.array(fc.record({ topic, correlation, direction }), { maxLength: 20 })
    const is = fc.constantFrom('at-least' as const, 'exactly' as const, 'at-most' as const)
    await fc.assert(
      fc.asyncProperty(
        arrivals,
        arrivals,
        query,
        is,
        fc.nat(6),
        async (before, after, asked, how, count) => {
          const clock = virtualClock()
          const log = eventLog({ clock })
          for (const each of before) come(log, each)
          const waiting = log.wait(asked, { count, is: how, withinMs: 100 })
          for (const each of after) come(log, each)
          clock.advance(100)
          const { isSatisfied, events } = await waiting
          const fitting = [...before, ...after].flatMap((each, at) =>
            each.direction === (asked.direction ?? 'consumed') &&
            each.topic === (asked.topic ?? each.topic) &&
            each.correlation === (asked.correlation ?? each.correlation)
              ? [at + 1]
              : [],
          )
          assert.deepEqual(sequences(log.find(asked)), fitting)
          const met = {
            'at-least': fitting.length >= count,
            exactly: fitting.length === count,
            'at-most': fitting.length <= count,
          }
          assert.equal(isSatisfied, met[how])
          assert.deepEqual(sequences(events), fitting.slice(0, events.length))
        },
      ),
    )
  })
})

describe('the log', () => {
  for (const [what, limits, fits] of [
    ['3 events', { events: 3, bytes: 1_000 }, 3],
    ['30 bytes of events', { events: 100, bytes: 30 }, 3],
  ] as const)
    test(`may have ${what}, and one more ends it with a fault that names the limit`, async () => {
      const full: unknown[] = []
      const log = eventLog({ clock: virtualClock(), limits, onFull: (reason) => full.push(reason) })
      for (let at = 0; at < fits; at++) come(log)
      assert.equal(log.find({}).length, 3)
      const waiting = log.wait({}, atLeast(9))
      const overflow = { code: 'event-log-full', message: new RegExp(`a test may have ${what}`) }
      assert.throws(() => come(log), overflow)
      assert.throws(() => come(log), overflow)
      assert.throws(() => log.find({}), overflow)
      await assert.rejects(waiting, overflow)
      assert.equal(full.length, 1)
      assert.ok(isFault(full[0]))
    })

  test('takes back the room of an event that did not come', () => {
    const log = eventLog({ clock: virtualClock(), limits: { events: 1, bytes: 10 } })
    for (let time = 0; time < 3; time++) log.admit(10).forgo()
    come(log)
    assert.throws(() => come(log), { code: 'event-log-full' })
  })

  test('has its usual limits', () => {
    assert.throws(() => eventLog({ clock: virtualClock() }).admit(TEST_EVENT_BYTES_MAX + 1), {
      code: 'event-log-full',
    })
    const log = eventLog({ clock: virtualClock() })
    log.admit(TEST_EVENT_BYTES_MAX)
    const counting = eventLog({ clock: virtualClock() })
    for (let at = 0; at < TEST_EVENTS_MAX; at++) counting.admit(0)
    assert.throws(() => counting.admit(0), { code: 'event-log-full' })
  })
})

describe('the file of events', () => {
  test('has every event on a line as it came, without secrets', async () => {
    const directory = await mkdtemp(join(tmpdir(), 'events-'))
    const path = join(directory, 'events.jsonl')
    const mask = { text: (text: string) => text.replaceAll('sesame', '***') }
    const log = eventLog({ clock: virtualClock(), sink: eventFile(path, mask) })
    for (let at = 0; at < 100; at++) come(log, { value: { at, password: 'open sesame' } })
    await log[Symbol.asyncDispose]()
    const lines = (await readFile(path, 'utf8')).trimEnd().split('\n')
    assert.deepEqual(
      lines.map((line) => JSON.parse(line).value),
      Array.from({ length: 100 }, (_, at) => ({ at, password: 'open ***' })),
    )
    await rm(directory, { recursive: true })
  })

  test('that cannot be written fails the closing of the log and nothing before', async () => {
    const sink = eventFile(join(tmpdir(), 'no', 'such', 'directory', 'events.jsonl'), {
      text: String,
    })
    const log = eventLog({ clock: virtualClock(), sink })
    come(log)
    come(log)
    assert.equal(log.find({}).length, 2)
    await assert.rejects(async () => log[Symbol.asyncDispose](), { code: 'events-not-kept' })
  })
})
