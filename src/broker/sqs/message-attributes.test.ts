import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import { SqsError } from './errors.ts'
import { strictSqs } from './limits.ts'
import {
  attributesOf,
  checkCharacters,
  md5OfAttributes,
  priorityOf,
  traceOf,
  wantedOf,
  type WireAttribute,
} from './message-attributes.ts'

function wire(value: Partial<WireAttribute>): WireAttribute {
  return {
    DataType: undefined,
    StringValue: undefined,
    BinaryValue: undefined,
    StringListValues: undefined,
    BinaryListValues: undefined,
    ...value,
  }
}

const text = (StringValue: string, DataType = 'String'): WireAttribute =>
  wire({ DataType, StringValue })

function refusalOf(work: () => unknown): string {
  try {
    work()
    return 'taken'
  } catch (error) {
    assert.ok(error instanceof SqsError)
    return error.text ?? error.kind
  }
}

function said(name: string, value: WireAttribute): string {
  return refusalOf(() => attributesOf({ [name]: value }, strictSqs))
}

const string = (value: string): { type: string; text: string } => ({
  type: 'String',
  text: value,
})

const some = (count: number): Record<string, WireAttribute> =>
  Object.fromEntries(Array.from({ length: count }, (_, at) => [`a${at}`, text('v')]))

const priority = (type: string, value: string): number =>
  priorityOf({ Priority: { type, text: value } }, 'Priority')

describe('the MD5 of attributes', () => {
  // What the real service has answered for these.
  test('is Amazon’s', () => {
    assert.equal(md5OfAttributes({ Foo: string('Bar') }), 'ae7155c6026991b6d54b11589678bf9c')
    assert.equal(md5OfAttributes({ Hello: string('There') }), 'a311262e065454b75da111d535b8dacd')
    assert.equal(
      md5OfAttributes({ Hello: string('There'), General: string('Kenobi') }),
      'fca026605781cb4126a1e9044df24232',
    )
    assert.equal(
      md5OfAttributes({
        'Help.Me': string('Me'),
        Hello: string('There'),
        General: string('Kenobi'),
      }),
      '4c360f3fdafd970e05fae2f149d997f5',
    )
    const bytes = Buffer.from(
      'traceparent\x1e00-774062d6c37081a5a0b9b5b88e30627c-2d2482211f6489da-01',
    )
    assert.equal(
      md5OfAttributes({ attr1: { type: 'Binary', base64: bytes.toString('base64') } }),
      '8cbe4db156db8a94db8b801b7addb984',
    )
  })
})

describe('a message attribute', () => {
  test('has a name of letters, digits and three signs', () => {
    for (const name of ['a', 'A.b-c_9', 'x'.repeat(256), 'AWSome', 'constructor', 'Amazonas'])
      assert.equal(said(name, text('v')), 'taken', name)
    for (const [name, reason] of [
      ['', /non-empty/],
      ['x'.repeat(257), /less than 256/],
      ['a b', /can contain/],
      ['ä', /can contain/],
      ['AWS.x', /reserved/],
      ['amazon.x', /reserved/],
      ['.a', /period/],
      ['a.', /period/],
      ['a..b', /period/],
    ] as const)
      assert.match(said(name, text('v')), reason, name)
  })

  test('has a type with a value that goes with it', () => {
    for (const value of [
      text('v', 'String.colour'),
      text('-1.5e3', 'Number'),
      text(' .5 ', 'Number.float'),
      wire({ DataType: 'Binary.png', BinaryValue: 'AA==' }),
    ])
      assert.equal(said('a', value), 'taken')
    for (const [value, reason] of [
      [wire({ StringValue: 'v' }), /non-empty attribute type/],
      [
        text('v', 'string'),
        /^The type of message \(user\) attribute 'a' is invalid\. You must use only the following supported type prefixes: Binary, Number, String\.$/,
      ],
      [text('v', 'String.'), /supported type prefixes/],
      [text('v', 'Strings'), /supported type prefixes/],
      [text('v', `String.${'x'.repeat(250)}`), /less than 256/],
      [
        text(''),
        /^Message \(user\) attribute 'a' must contain a non-empty value of type 'String'\.$/,
      ],
      [wire({ DataType: 'Binary', StringValue: 'v' }), /non-empty value of type 'Binary'/],
      [wire({ DataType: 'String', StringValue: 'v', BinaryValue: 'AA==' }), /non-empty value/],
      [
        text('twelve', 'Number'),
        /^Can't cast the value of message \(user\) attribute 'a' to a number\.$/,
      ],
      [wire({ DataType: 'Binary', BinaryValue: 'A' }), /not base64/],
      [wire({ DataType: 'String', StringListValues: ['a'] }), /not supported/],
      [text('\u0001'), /^InvalidMessageContents$/],
    ] as const)
      assert.match(said('a', value), reason, JSON.stringify(value))
  })

  test('is one of ten at most', () => {
    assert.equal(Object.keys(attributesOf(some(10), strictSqs) ?? {}).length, 10)
    assert.equal(
      refusalOf(() => attributesOf(some(11), strictSqs)),
      'Number of message attributes [11] exceeds the allowed maximum [10].',
    )
    assert.equal(attributesOf({}, strictSqs), undefined)
  })

  test('of the system is the trace and nothing else', () => {
    assert.deepEqual(traceOf({ AWSTraceHeader: text('Root=1') }), {
      type: 'String',
      text: 'Root=1',
    })
    assert.match(
      refusalOf(() => traceOf({ Other: text('x') })),
      /Only AWSTraceHeader/,
    )
    assert.match(
      refusalOf(() => traceOf({ AWSTraceHeader: text('1', 'Number') })),
      /type 'String'/,
    )
  })

  test('is wanted by its name or by what it begins with', () => {
    const value = { type: 'String', text: 'v' }
    const all = { Hello: value, 'Help.Me': value, General: value }
    const names = (...wanted: string[]): string[] => Object.keys(wantedOf(all, wanted) ?? {})
    assert.deepEqual(names('Hel.*'), ['Hello', 'Help.Me'])
    assert.deepEqual(names('Help.Me', 'Help.Me'), ['Help.Me'])
    assert.deepEqual(names('General.*', 'Hello'), ['Hello', 'General'])
    assert.deepEqual(names('nothing'), [])
  })

  test('is a priority if it is a whole number up to 255', () => {
    assert.deepEqual(
      ['0', '1', '255', '256', '-1', '1.5', '', 'high', '0x1'].map((value) =>
        priority('Number', value),
      ),
      [0, 1, 255, 0, 0, 0, 0, 0, 0],
    )
    assert.equal(priority('Number.int', '7'), 7)
    assert.equal(priority('String', '7'), 0)
    assert.equal(priorityOf(undefined, 'Priority'), 0)
  })
})

describe('characters', () => {
  test('are those that XML can say', () => {
    for (const good of [
      '\t\n\r',
      ' ~\u007f',
      '\ud7ff',
      '\ue000',
      '\ufffd',
      '\u{10000}',
      '\u{10ffff}',
      '🚀',
    ])
      assert.equal(
        refusalOf(() => checkCharacters(`a${good}b`)),
        'taken',
      )
    for (const bad of [
      '\u0000',
      '\u0008',
      '\u000b',
      '\u001f',
      '\ud800',
      '\udfff',
      '\ufffe',
      '\uffff',
    ])
      assert.equal(
        refusalOf(() => checkCharacters(`a${bad}b`)),
        'InvalidMessageContents',
      )
  })
})
