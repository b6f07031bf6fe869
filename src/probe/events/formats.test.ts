import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import fc from 'fast-check'

import type { KeyFormat, ValueFormat } from '../bundle/directive.ts'
import type { WireEvent } from './events.ts'
import { topicFormat, type FormatOptions, type Outgoing, type TopicFormat } from './formats.ts'
import { memoryRegistry } from './memory-registry.ts'
import { subjectOf, type SchemaText } from './registry.ts'
import { recordsOf } from './schema.ts'

const AVRO: SchemaText = {
  type: 'avro',
  text: JSON.stringify({
    type: 'record',
    name: 'OrderCreated',
    namespace: 'shop',
    fields: [
      { name: 'id', type: 'string' },
      { name: 'count', type: 'long' },
      { name: 'note', type: ['null', 'string'], default: null },
      { name: 'image', type: 'bytes', default: '' },
    ],
  }),
}

const PROTOBUF: SchemaText = {
  type: 'protobuf',
  text: `syntax = "proto3";
    package shop;
    import "google/protobuf/timestamp.proto";
    message OrderCreated {
      string id = 1;
      int64 count = 2;
      optional string note = 3;
      bytes image = 4;
      Color color = 5;
      repeated Line lines = 6;
      map<string, int32> stock = 7;
      google.protobuf.Timestamp at = 8;
      message Line { string sku = 1; }
    }
    enum Color { RED = 0; BLUE = 1; }
    message OrderGone { string id = 1; }`,
}

type Setup = Partial<Omit<FormatOptions, 'records'>> & Readonly<{ schema?: SchemaText }>

async function formatOf({ schema, ...options }: Setup): Promise<TopicFormat> {
  return topicFormat({
    topic: 'orders',
    keyFormat: 'none',
    valueFormat: 'json',
    registry: undefined,
    records: schema === undefined ? [] : await recordsOf(schema),
    ...options,
  })
}

function outgoing(value: unknown, more: Partial<Outgoing> = {}): Outgoing {
  return { id: 'event-1', at: 1_767_225_600_123, value, ...more }
}

async function roundTrip(setup: Setup, event: Outgoing): Promise<unknown> {
  const format = await formatOf(setup)
  const { value, undecodable } = await format.decode(await format.encode(event))
  assert.equal(undecodable, undefined)
  return value
}

function textOf(value: Uint8Array | undefined): string | undefined {
  return value && Buffer.from(value).toString()
}

describe('values', () => {
  const ORDER = { id: 'o-1', count: 3, note: 'soon', image: 'aGk=' }
  const formats: readonly (readonly [ValueFormat, SchemaText | undefined, unknown])[] = [
    ['json', undefined, { any: ['thing', 1, null] }],
    ['string', undefined, 'grün ✓'],
    ['bytes', undefined, Buffer.from([0, 255, 7]).toString('base64')],
    ['avro', AVRO, ORDER],
    [
      'protobuf',
      PROTOBUF,
      {
        ...ORDER,
        color: 'BLUE',
        lines: [{ sku: 'a' }],
        stock: { a: 1 },
        at: { seconds: 5, nanos: 6 },
      },
    ],
  ]
  for (const [valueFormat, schema, value] of formats)
    for (const registry of [undefined, memoryRegistry()])
      test(`in ${valueFormat} come back as they went ${registry ? 'with' : 'without'} a registry`, async () => {
        const setup = { valueFormat, registry, ...(schema && { schema }) }
        const event = outgoing(value, { type: 'OrderCreated' })
        assert.deepEqual(await roundTrip(setup, event), value)
        assert.equal(await roundTrip(setup, outgoing(null, { type: 'OrderCreated' })), null)
      })

  test('of any size of number and any text come back from Avro and Protobuf', async () => {
    const whole = fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }).map((n) => {
      return Number.isSafeInteger(Number(n)) ? Number(n) : String(n)
    })
    const order = fc.record(
      {
        id: fc.string({ unit: 'binary' }),
        count: fc.oneof(whole, fc.maxSafeInteger()),
        note: fc.string(),
        image: fc.uint8Array().map((raw) => Buffer.from(raw).toString('base64')),
      },
      { noNullPrototype: true },
    )
    const avro = await formatOf({ valueFormat: 'avro', schema: AVRO, registry: memoryRegistry() })
    const protobuf = await formatOf({ valueFormat: 'protobuf', schema: PROTOBUF })
    await fc.assert(
      fc.asyncProperty(order, async (value) => {
        const event = outgoing(value, { schema: 'OrderCreated' })
        assert.deepEqual((await avro.decode(await avro.encode(event))).value, value)
        const other = outgoing(value, { schema: 'OrderCreated', type: 'OrderCreated', headers: {} })
        const decoded = await protobuf.decode(await protobuf.encode(other))
        assert.deepEqual({ ...Object(decoded.value), ...value }, decoded.value)
      }),
      { numRuns: 50 },
    )
  })

  test('that do not fit the schema are refused with their place', async () => {
    const refused: readonly (readonly [ValueFormat, SchemaText | undefined, unknown, string])[] = [
      ['avro', AVRO, { id: 'o', count: 'three' }, 'count of shop.OrderCreated is no long'],
      ['avro', AVRO, { id: 'o', count: 1, color: 'red' }, 'of shop.OrderCreated'],
      ['avro', AVRO, { count: 1 }, 'id of shop.OrderCreated is no string'],
      ['protobuf', PROTOBUF, { nope: 1 }, 'nope of shop.OrderCreated is not in the schema'],
      ['protobuf', PROTOBUF, { id: 7 }, 'id of shop.OrderCreated is no string'],
      ['protobuf', PROTOBUF, { count: 1.5 }, 'count of shop.OrderCreated is no int64'],
      [
        'protobuf',
        PROTOBUF,
        { count: '9223372036854775808' },
        'count of shop.OrderCreated is no int64',
      ],
      ['protobuf', PROTOBUF, { color: 'GREEN' }, 'color of shop.OrderCreated is no Color'],
      [
        'protobuf',
        PROTOBUF,
        { lines: [{ sku: 'a' }, { sku: 2 }] },
        'lines.1.sku of shop.OrderCreated',
      ],
      ['protobuf', PROTOBUF, { stock: { a: 'x' } }, 'stock.a of shop.OrderCreated is no int32'],
      ['protobuf', PROTOBUF, 'text', 'the value of shop.OrderCreated is no message'],
      ['string', undefined, { a: 1 }, 'the value of the event is no text'],
      ['bytes', undefined, 5, 'the value of the event is no base64 text'],
    ]
    for (const [valueFormat, schema, value, message] of refused) {
      const format = await formatOf({ valueFormat, ...(schema && { schema }) })
      await assert.rejects(
        format.encode(outgoing(value, { type: 'OrderCreated' })),
        (error: Error & { code?: string }) =>
          error.code === 'event-refused' && error.message.includes(message),
        message,
      )
    }
  })

  test('are written in another format than that of their topic when a step says so', async () => {
    const format = await formatOf({ valueFormat: 'avro', schema: AVRO })
    const { value } = await format.encode(outgoing({ a: 1 }, { format: 'json' }))
    assert.equal(textOf(value), '{"a":1}')
  })
})

describe('on the wire', () => {
  const ORDER = { id: 'o-1', count: 3, note: null, image: '' }
  const AVRO_BYTES = '066f2d31060000'
  const PROTOBUF_BYTES = '0a036f2d311003'

  test('without a registry the payload stands alone', async () => {
    const avro = await formatOf({ valueFormat: 'avro', schema: AVRO })
    assert.equal(hex(await avro.encode(outgoing(ORDER))), AVRO_BYTES)
    const protobuf = await formatOf({ valueFormat: 'protobuf', schema: PROTOBUF })
    const event = outgoing({ id: 'o-1', count: 3 }, { schema: 'shop.OrderCreated' })
    assert.equal(hex(await protobuf.encode(event)), PROTOBUF_BYTES)
  })

  test('a registered schema is a zero byte and its id, and for Protobuf the way to the message', async () => {
    const registry = memoryRegistry()
    for (let filler = 1; filler < 258; filler++)
      await registry.register('filler', { type: 'json', text: `{"title":"${filler}"}` })
    const avro = await formatOf({ valueFormat: 'avro', schema: AVRO, registry })
    assert.equal(hex(await avro.encode(outgoing(ORDER))), `0000000102${AVRO_BYTES}`)

    const protobuf = await formatOf({ valueFormat: 'protobuf', schema: PROTOBUF, registry })
    const write = async (schema: string, value: unknown): Promise<string> =>
      hex(await protobuf.encode(outgoing(value, { schema })))
    const first = await write('OrderCreated', { id: 'o-1', count: 3 })
    assert.equal(first, `000000010300${PROTOBUF_BYTES}`)
    assert.equal(await write('OrderGone', { id: 'o' }), `000000010302020a016f`)
    assert.equal(await write('Line', { sku: 'o' }), `00000001030400000a016f`)
  })

  test('a schema of the bundle is registered under the topic and the full name of the record', async () => {
    const registry = memoryRegistry()
    const format = await formatOf({ valueFormat: 'avro', schema: AVRO, registry })
    await format.encode(outgoing(ORDER))
    await format.encode(outgoing(ORDER))
    const found = await registry.bySubject(subjectOf('orders', 'shop.OrderCreated'), 'latest')
    assert.deepEqual(found, { ...AVRO, id: 1, version: 1 })
  })

  test('a schema that only the registry has is found by the name of the record', async () => {
    const registry = memoryRegistry()
    await registry.register('orders-OrderCreated', AVRO)
    const format = await formatOf({ valueFormat: 'avro', registry })
    const event = outgoing(ORDER, { type: 'OrderCreated' })
    assert.equal(hex(await format.encode(event)), `0000000001${AVRO_BYTES}`)
    await assert.rejects(format.encode(outgoing(ORDER, { type: 'OrderGone' })), {
      code: 'no-such-schema',
    })
  })

  test('JSON has the id of its schema where the registry knows one, and is read either way', async () => {
    const registry = memoryRegistry()
    const format = await formatOf({ registry })
    const event = outgoing({ a: 1 }, { type: 'Thing' })
    assert.equal(textOf((await format.encode(event)).value), '{"a":1}')
    await registry.register('orders-Thing', { type: 'json', text: '{"title":"Thing"}' })
    const framed = await format.encode(event)
    assert.equal(hex(framed).slice(0, 10), '0000000001')
    assert.deepEqual((await format.decode(framed)).value, { a: 1 })
    const without = await formatOf({})
    assert.deepEqual((await without.decode(framed)).value, { a: 1 })
  })
})

describe('schemas that change', () => {
  const LATER: SchemaText = {
    type: 'avro',
    text: JSON.stringify({
      type: 'record',
      name: 'OrderCreated',
      namespace: 'shop',
      fields: [
        { name: 'id', type: 'string' },
        { name: 'count', type: 'double' },
        { name: 'currency', type: 'string', default: 'EUR' },
      ],
    }),
  }

  test('are read by the version they were written with, in the shape of the bundle', async () => {
    const registry = memoryRegistry()
    const old = await formatOf({ valueFormat: 'avro', schema: AVRO, registry })
    const later = await formatOf({ valueFormat: 'avro', schema: LATER, registry })
    const none = await formatOf({ valueFormat: 'avro', registry })
    const written = await old.encode(outgoing({ id: 'o', count: 2, note: 'x', image: '' }))
    assert.deepEqual((await later.decode(written)).value, { id: 'o', count: 2, currency: 'EUR' })
    assert.deepEqual((await none.decode(written)).value, {
      id: 'o',
      count: 2,
      note: 'x',
      image: '',
    })
  })

  test('are written in the version that a step names', async () => {
    const registry = memoryRegistry()
    await registry.register('orders-OrderCreated', AVRO)
    await registry.register('orders-OrderCreated', LATER)
    const format = await formatOf({ valueFormat: 'avro', registry })
    const write = async (value: unknown, schemaVersion?: number): Promise<unknown> => {
      const event = outgoing(value, { schema: 'OrderCreated', schemaVersion })
      return (await format.decode(await format.encode(event))).value
    }
    assert.deepEqual(await write({ id: 'o', count: 1, currency: 'CHF' }), {
      id: 'o',
      count: 1,
      currency: 'CHF',
    })
    const first = { id: 'o', count: 1, note: null, image: '' }
    assert.deepEqual(await write(first, 1), first)
    await assert.rejects(write({ id: 'o', count: 1 }, 3), { code: 'no-such-schema' })
  })

  test('in Protobuf are known by their numbers', async () => {
    const registry = memoryRegistry()
    const later: SchemaText = {
      type: 'protobuf',
      text: 'syntax = "proto3"; package shop; message OrderCreated { string number = 1; string city = 9; }',
    }
    const old = await formatOf({ valueFormat: 'protobuf', schema: PROTOBUF, registry })
    const now = await formatOf({ valueFormat: 'protobuf', schema: later, registry })
    const written = await old.encode(outgoing({ id: 'o', count: 2 }, { schema: 'OrderCreated' }))
    assert.deepEqual((await now.decode(written)).value, { number: 'o', city: '' })
  })
})

describe('several types on one topic', () => {
  const TWO: SchemaText = {
    type: 'avro',
    text: JSON.stringify([
      { type: 'record', name: 'Line', fields: [{ name: 'sku', type: 'string' }] },
      {
        type: 'record',
        name: 'Order',
        fields: [{ name: 'lines', type: { type: 'array', items: 'Line' } }],
      },
    ]),
  }

  for (const registry of [undefined, memoryRegistry()])
    test(`are told apart ${registry ? 'by their schemas' : 'by the type in the key'}`, async () => {
      const keyFormat: KeyFormat = registry ? 'none' : 'cloudevent'
      const format = await formatOf({ valueFormat: 'avro', schema: TWO, registry, keyFormat })
      for (const [type, value] of [
        ['Line', { sku: 'a' }],
        ['Order', { lines: [{ sku: 'a' }, { sku: 'b' }] }],
      ] as const)
        assert.deepEqual(
          (await format.decode(await format.encode(outgoing(value, { type })))).value,
          value,
        )
    })

  test('that are not named are refused with what there is', async () => {
    const format = await formatOf({ valueFormat: 'avro', schema: TWO })
    await assert.rejects(format.encode(outgoing({ sku: 'a' })), {
      code: 'no-such-schema',
      message: /name one of Line, Order/,
    })
  })
})

describe('keys', () => {
  // Fails when the `case` of the format is taken out of `write` or `read` in keys.ts.
  test('probe-K7: are CloudEvents, texts, JSON or nothing, as the directive says', async () => {
    const correlation = 'c-1'
    assert.deepEqual(await keyOf('cloudevent', { correlation, type: 'Created' }), {
      id: 'event-1',
      source: 'flytower/probe',
      specversion: '1.0',
      type: 'Created',
      time: '2026-01-01T00:00:00.123Z',
      subject: 'orders',
      datacontenttype: 'application/octet-stream',
      correlationid: 'c-1',
      payloadversion: 'v1',
      time_epoch_micro_source: 1_767_225_600_123_000,
    })
    assert.equal(await keyOf('string', { key: 'customer 7' }), 'customer 7')
    assert.equal(await keyOf('string', { correlation }), 'c-1')
    assert.deepEqual(await keyOf('json', { key: { id: 7 } }), { id: 7 })
    assert.equal(await keyOf('none', { correlation }), null)
  })

  test('that are not what the topic has are refused', async () => {
    for (const [keyFormat, key] of [
      ['none', 'some'],
      ['string', 7],
      ['cloudevent', 'text'],
      ['cloudevent', { type: '' }],
    ] as const)
      await assert.rejects((await formatOf({ keyFormat })).encode(outgoing({}, { key })), {
        code: 'event-refused',
      })
  })

  test('have a schema where the registry has one for CloudEvents', async () => {
    const fields = ['id', 'source', 'specversion', 'type', 'correlationid']
    const key: SchemaText = {
      type: 'avro',
      text: JSON.stringify({
        type: 'record',
        name: 'CloudEvent',
        fields: fields.map((name) => ({ name, type: 'string' })),
      }),
    }
    for (const schema of [key, { type: 'protobuf', text: protoOf(fields) } as const]) {
      const registry = memoryRegistry()
      await registry.register('orders-CloudEvent', schema)
      const format = await formatOf({ keyFormat: 'cloudevent', registry })
      const wire = await format.encode(outgoing({}, { correlation: 'c', type: 'T' }))
      assert.equal(wire.key?.[0], 0)
      const decoded = await format.decode(wire)
      assert.equal(decoded.correlation, 'c')
      assert.deepEqual(Object.keys(Object(decoded.key)), fields)
    }
  })

  test('without a place for the correlation leave it to the headers, in any usual spelling', async () => {
    const format = await formatOf({ keyFormat: 'string' })
    const wire = await format.encode(
      outgoing({}, { correlation: 'c', type: 'T', headers: { a: 'b' } }),
    )
    assert.deepEqual(wire.headers, { ce_correlationid: 'c', ce_type: 'T', a: 'b' })
    for (const name of ['correlationid', 'correlation-id', 'x-correlation-id'])
      assert.equal(
        (await format.decode({ key: undefined, value: undefined, headers: { [name]: 'c' } }))
          .correlation,
        'c',
      )
  })
})

describe('what cannot be read', () => {
  test('is handed on with the reason, each part by itself', async () => {
    const poison: readonly (readonly [Setup, WireEvent, readonly string[]])[] = [
      [{ valueFormat: 'json' }, bytes('x', '{"broken":'), ['value']],
      [{ valueFormat: 'string' }, bytes('x', Buffer.from([255])), ['value']],
      [{ valueFormat: 'avro', schema: AVRO }, bytes('x', 'not avro'), ['value']],
      [
        { valueFormat: 'protobuf', schema: PROTOBUF },
        bytes('x', Buffer.from([255, 255])),
        ['value'],
      ],
      [
        { valueFormat: 'avro', schema: AVRO, registry: memoryRegistry() },
        bytes('x', Buffer.from([0, 0, 0, 0, 9, 1])),
        ['value'],
      ],
      [{ keyFormat: 'cloudevent' }, bytes('no json', '{}'), ['key']],
      [{ keyFormat: 'cloudevent' }, bytes('{"id":"1"}', '{}'), ['key']],
      [{ keyFormat: 'cloudevent' }, bytes(undefined, 'neither'), ['key', 'value']],
      [{ keyFormat: 'json' }, bytes('{', '{}'), ['key']],
    ]
    for (const [setup, wire, parts] of poison) {
      const decoded = await (await formatOf(setup)).decode(wire)
      assert.deepEqual(
        decoded.undecodable?.map(({ part }) => part),
        parts,
      )
      for (const part of parts) {
        const raw = part === 'key' ? wire.key : wire.value
        assert.equal(decoded[part as 'key'], raw ? Buffer.from(raw).toString('base64') : null)
      }
    }
  })

  test('is never thrown, whatever the bytes are', async () => {
    const registry = memoryRegistry()
    await registry.register('orders-shop.OrderCreated', AVRO)
    await registry.register('orders-shop.OrderCreated', PROTOBUF)
    const formats = await Promise.all([
      formatOf({ keyFormat: 'cloudevent', valueFormat: 'avro', schema: AVRO, registry }),
      formatOf({ keyFormat: 'json', valueFormat: 'protobuf', schema: PROTOBUF, registry }),
      formatOf({ keyFormat: 'string', valueFormat: 'json' }),
    ])
    const anything = fc.oneof(
      fc.uint8Array(),
      fc.uint8Array().map((tail) => Uint8Array.from([0, 0, 0, 0, (tail[0] ?? 0) % 3, ...tail])),
    )
    await fc.assert(
      fc.asyncProperty(anything, anything, async (key, value) => {
        for (const format of formats) await format.decode({ key, value, headers: {} })
      }),
    )
  })
})

test('a schema that cannot be read is refused with the reason', async () => {
  for (const schema of [
    { type: 'avro', text: '{' },
    { type: 'avro', text: '{"type":"record","name":"a b","fields":[]}' },
    { type: 'protobuf', text: 'message {' },
    { type: 'protobuf', text: 'syntax = "proto3"; import "other.proto"; message A {}' },
    { type: 'json', text: '{' },
  ] as const)
    await assert.rejects(recordsOf(schema), { code: 'bad-schema' })
})

function hex({ value }: WireEvent): string {
  return Buffer.from(value ?? []).toString('hex')
}

function protoOf(fields: readonly string[]): string {
  const lines = fields.map((name, at) => `string ${name} = ${at + 1};`)
  return `syntax = "proto3"; message CloudEvent { ${lines.join(' ')} }`
}

function bytes(key: string | undefined, value: string | Buffer): WireEvent {
  return {
    key: key === undefined ? undefined : Buffer.from(key),
    value: Buffer.from(value),
    headers: {},
  }
}

async function keyOf(keyFormat: KeyFormat, more: Partial<Outgoing>): Promise<unknown> {
  const format = await formatOf({ keyFormat })
  const decoded = await format.decode(await format.encode(outgoing({}, more)))
  assert.equal(decoded.undecodable, undefined)
  assert.equal(decoded.correlation, more.correlation ?? 'event-1')
  return decoded.key
}
