import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import { NAME_BYTES_MAX, type StoredEvent } from '../../journal/index.ts'
import type { Accident } from '../../std/index.ts'
import {
  decodeEvent,
  encodeEvent,
  foldOf,
  keyOf,
  lostInJson,
  streamOf,
  type Folding,
} from './codec.ts'

type Told = { type: string; text?: string; happenedAt?: number }

const tale: Folding<string, Told> = {
  type: 'tale',
  version: 3,
  initial: () => '',
  evolve: (state, { text = '' }) => state + text,
  upcast: {
    1: (event) => ({ ...event, type: event.type.toLowerCase() }),
    2: (event) => ({ ...event, text: `${(event as Told).text}.` }),
  },
}

function stored(over: Partial<StoredEvent> = {}): StoredEvent {
  const place = { stream: 'tale/a', seq: 4, position: 9, batch: 9 }
  return { type: 'told', version: 3, at: 1, data: '{"text":"x"}', ...place, ...over }
}

function coded(code: string, message: RegExp): (error: Accident) => boolean {
  return (error) => {
    assert.equal(error.code, code)
    assert.equal(typeof error.detail['remedy'], 'string')
    assert.match(error.message, message)
    return true
  }
}

describe('the name of a stream', () => {
  test('tells the entity, whatever its id', () => {
    for (const id of ['a', '/', 'a/b', 'ä ö', '%2F', '\n', '"', '🙂', 'tale/a'])
      assert.deepEqual(keyOf(streamOf({ type: 'tale', id })), { type: 'tale', id })
    for (const name of ['tale', '/a', 'tale/', '', '/']) assert.equal(keyOf(name), undefined)
  })

  test('has an id in it that can be written, up to the limit and not past it', () => {
    const longest = 'ä'.repeat((NAME_BYTES_MAX - 'tale/x'.length) / 2)
    assert.equal(Buffer.byteLength(streamOf({ type: 'tale', id: `${longest}x` })), NAME_BYTES_MAX)
    for (const id of [`${longest}xx`, '', '\ud800', 'a\0b'])
      assert.throws(() => streamOf({ type: 'tale', id }), coded('bad-entity-id', /id of the tale/))
  })
})

describe('an event', () => {
  test('is written without its type and with what is recorded', () => {
    const event = { type: 'told', text: 'once', happenedAt: 5 }
    const about = { at: 7, requestId: 'r', actor: 'me', trace: 't' }
    assert.deepEqual(encodeEvent(tale, event, about), {
      type: 'told',
      version: 3,
      data: '{"text":"once","happenedAt":5}',
      ...about,
    })
    const effective = { ...tale, effectiveAt: ({ happenedAt = 0 }: Told) => happenedAt }
    assert.equal(encodeEvent(effective, event, { at: 7 }).effectiveAt, 5)
    assert.equal('effectiveAt' in encodeEvent(effective, event, { at: 5 }), false)
  })

  test('that is written is read as it was', () => {
    const event = { type: 'told', text: '\ud800 "\0', deep: [{ a: null, __proto__: null }] }
    const written = { ...stored(), ...encodeEvent(tale, event, { at: 7 }) }
    assert.deepEqual(decodeEvent(tale, written), JSON.parse(JSON.stringify(event)))
    const named = JSON.parse('{"type":"told","__proto__":{"x":1},"constructor":2}') as Told
    const back = decodeEvent(tale, { ...stored(), ...encodeEvent(tale, named, { at: 7 }) })
    assert.equal(
      JSON.stringify({ ...back, type: undefined }),
      '{"__proto__":{"x":1},"constructor":2}',
    )
  })

  test('of an earlier version is brought to that of today, step by step', () => {
    assert.deepEqual(decodeEvent(tale, stored({ version: 1, type: 'TOLD' })), {
      type: 'told',
      text: 'x.',
    })
    assert.deepEqual(decodeEvent(tale, stored({ version: 2 })), { type: 'told', text: 'x.' })
    assert.deepEqual(decodeEvent(tale, stored()), { type: 'told', text: 'x' })
  })

  test('that cannot be read is named', () => {
    const upcast = { 1: tale.upcast![1]!, 2: () => assert.fail('no') }
    for (const [definition, of, message] of [
      [tale, stored({ version: 4 }), /event 4 of tale\/a, told, is of version 4, and .* up to 3/],
      [tale, stored({ version: 0 }), /no upcast from 0/],
      [{ ...tale, upcast }, stored({ version: 1, type: 'TOLD' }), /cannot be upcast/],
      [tale, stored({ data: '{' }), /is not JSON/],
      [tale, stored({ data: '[]' }), /is not an object/],
      [tale, stored({ data: 'null' }), /is not an object/],
    ] as const)
      assert.throws(() => decodeEvent(definition, of), coded('unknown-event', message))
  })

  test('that cannot be written is refused', () => {
    for (const [definition, event, message] of [
      [tale, { type: '' }, /no name/],
      [tale, { type: 'told', text: 1n as never } as Told, /the event told of tale is not JSON/],
      [tale, { type: 'told', text: new Set([1]) as never } as Told, /is not JSON at event\.text/],
      [when(1.5), { type: 'told' }, /took effect at 1.5/],
      [when(Number.NaN), { type: 'told' }, /took effect at NaN/],
    ] as const)
      assert.throws(() => encodeEvent(definition, event, { at: 1 }), coded('bad-event', message))
  })
})

function when(at: number): Folding<string, Told> {
  return { ...tale, effectiveAt: () => at }
}

describe('the fingerprint of a fold', () => {
  test('is another wherever the same events could come to another state', () => {
    const others: Folding<string, Told>[] = [
      tale,
      { ...tale, type: 'story' },
      { ...tale, version: 4 },
      { ...tale, fold: 1 },
      { ...tale, initial: () => ' ' },
      { ...tale, evolve: (state, { text = '' }) => text + state },
      { ...tale, effectiveAt: () => 1 },
      { ...tale, upcast: { ...tale.upcast, 2: (event) => event } },
    ]
    assert.equal(new Set(others.map(foldOf)).size, others.length)
  })

  test('is the same for the same, and does not depend on what only decides', () => {
    const same = { ...tale, snapshots: { every: 5 }, decide: () => undefined, fold: 0 }
    assert.equal(foldOf(same), foldOf(tale))
    assert.equal(foldOf(tale), foldOf(tale))
  })
})

describe('what JSON would lose', () => {
  test('is found at its place', () => {
    const cases: readonly (readonly [unknown, string])[] = [
      [1n, ''],
      [{ a: [0, { b: Number.NaN }] }, '.a[1].b'],
      [{ a: Infinity }, '.a'],
      [{ at: new Map() }, '.at'],
      [[undefined], '[0]'],
      [Array(2), '[0]'],
      [{ f: () => 1 }, '.f'],
      [{ toJSON: () => 1 }, ''],
      [{ when: new URL('a:b') }, '.when'],
    ]
    for (const [value, place] of cases) assert.equal(lostInJson(value), place)
  })

  test('is nothing in what JSON can say', () => {
    const state = { a: 1, b: [null, true, 'x', {}], c: undefined, d: { e: -0.5 } }
    for (const value of [state, null, 'x', [], Object.create(null) as object])
      assert.equal(lostInJson(value), undefined)
  })
})
