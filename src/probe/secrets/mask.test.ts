import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { inspect } from 'node:util'

import fc from 'fast-check'

import { formsOf } from './forms.ts'
import { createMask, MASKED_CHARS_MIN, MASKED_VALUES_MAX } from './mask.ts'
import { HIDDEN, secret } from './secret.ts'
import type { LiveMask } from './secrets.ts'

function maskOf(...values: readonly string[]): LiveMask {
  const mask = createMask()
  for (const value of values) mask.add(value)
  return mask
}

const value = fc
  .string({ unit: 'grapheme', minLength: MASKED_CHARS_MIN, maxLength: 40 })
  .filter((text) => text.isWellFormed() && text.length >= MASKED_CHARS_MIN)
const secretLike = fc.oneof(
  value,
  fc.string({
    unit: fc.constantFrom('a', 'b', '"', '\\', '\n', "'", '<', '&', '/', '+', ' ', 'ä'),
    minLength: 4,
    maxLength: 12,
  }),
)

/** What stands for a secret has letters too; a value that is a part of it is in every masked text. */
const isPartOfMask = (form: string): boolean => HIDDEN.includes(form)

describe('secret', () => {
  // It fails without `inspect.custom` or `toJSON`: Node shows what an object has, and JSON asks.
  test('probe-V5: a secret shows nothing of itself, however it is printed, and is resolved late', () => {
    const handle = secret('svc.password', 'hunter22!')
    const text = handle as unknown as string // as whoever does not look would use it
    for (const shown of [
      String(handle),
      JSON.stringify({ handle, list: [handle] }),
      inspect(handle),
      inspect({ handle }, { showHidden: true, depth: 9 }),
      handle.toString(),
      `a${text}`,
      Object.entries(handle).join(),
      JSON.stringify(structuredClone(handle)),
      new Error(`wrong: ${text}`, { cause: handle }).stack ?? '',
    ]) {
      assert.equal(shown.includes('hunter'), false, shown)
    }
    assert.equal(`a ${text}`, `a ${HIDDEN}`)
    assert.equal(inspect(handle), HIDDEN)
    assert.equal(JSON.stringify(handle), JSON.stringify(HIDDEN))
    assert.equal(handle.reveal(), 'hunter22!')
  })
})

describe('mask', () => {
  // It fails when `formsOf` gives nothing but what comes before the first blank.
  test('probe-V1: a value with blanks is hidden as a whole, whatever stands around it', () => {
    const jaas = 'org.apache.kafka…Module required clientId="a" clientSecret="s p a c e d";'
    assert.equal(maskOf(jaas).text(`jaasConfig=${jaas}, topic=x`), `jaasConfig=${HIDDEN}, topic=x`)
    assert.equal(maskOf('s p a c e d').text(`x ${jaas}`).includes('p a c e'), false)
  })

  test('a value is hidden in each encoding that texts go through', () => {
    const password = `Pä ss"wo'rd<&>/+\\\n€uro=`
    const mask = maskOf(password)
    const bytes = Buffer.from(password)
    const seen: Readonly<Record<string, string>> = {
      plain: password,
      json: JSON.stringify({ password }),
      'json in json': JSON.stringify(JSON.stringify({ password })),
      'json in json in json': JSON.stringify(JSON.stringify(JSON.stringify({ password }))),
      inspect: inspect({ password }),
      'inspect in json in json': JSON.stringify(JSON.stringify(inspect({ password }))),
      base64: bytes.toString('base64'),
      base64url: bytes.toString('base64url'),
      'basic auth': Buffer.from(`user:${password}`).toString('base64'),
      'basic auth, another way': Buffer.from(`user1:${password}!!`).toString('base64'),
      'basic auth, the third way': Buffer.from(`user12:${password}?`).toString('base64url'),
      hex: bytes.toString('hex'),
      HEX: bytes.toString('hex').toUpperCase(),
      'url part': encodeURIComponent(password),
      'url part, small': encodeURIComponent(password).replace(/%../g, (code) => code.toLowerCase()),
      form: new URLSearchParams({ password }).toString(),
      query: new URL(`http://x/?p=${encodeURIComponent(password)}`).href,
      markup: password.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;'),
    }
    for (const [name, text] of Object.entries(seen)) {
      const hidden = mask.text(`before ${text} after`)
      assert.ok(hidden.includes(HIDDEN), `${name}: ${hidden}`)
      for (const form of formsOf(password))
        assert.equal(hidden.includes(form), false, `${name} still has ${form}`)
      assert.ok(hidden.startsWith('before ') && hidden.endsWith(' after'))
    }
    assert.equal(mask.text(JSON.stringify({ password, n: 1 })), `{"password":"${HIDDEN}","n":1}`)
  })

  test('the lines of a key are hidden one by one', () => {
    const key = '-----BEGIN KEY-----\nMIIEvQIBADANBgkq\nhkiG9w0BAQEFAASC\n-----END KEY-----\n'
    const hidden = maskOf(key).text('log: MIIEvQIBADANBgkq\nlog: hkiG9w0BAQEFAASC')
    assert.equal(hidden, `log: ${HIDDEN}\nlog: ${HIDDEN}`)
  })

  test('values that overlap or contain each other are hidden together', () => {
    const mask = maskOf('abcd', 'cdef', 'abcdabcd', 'xxxx')
    assert.equal(mask.text('-abcdef-'), `-${HIDDEN}-`)
    assert.equal(mask.text('-abcdabcd-'), `-${HIDDEN}-`)
    assert.equal(mask.text('-xxxxxxx-'), `-${HIDDEN}-`)
    assert.equal(mask.text('-abcdxxxx-'), `-${HIDDEN}${HIDDEN}-`)
  })

  test('a value that is too short to be told from other text is not hidden', () => {
    assert.equal(maskOf('').text('a'), 'a')
    assert.equal(maskOf('abc').text('abc'), 'abc')
    assert.equal(maskOf('abcd').text('abc abcd'), `abc ${HIDDEN}`)
  })

  test('takes as many values as it may, and no more', () => {
    const mask = createMask()
    for (let n = 0; n < MASKED_VALUES_MAX; n++) mask.add(`value-${n}`)
    mask.add('value-0')
    assert.throws(() => mask.add('one too many'), { code: 'bad-secret' })
    assert.equal(mask.text('value-999'), HIDDEN)
  })

  test('text without secrets stays as it is', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        assert.equal(createMask().text(text), text)
        assert.equal(maskOf('there is no such value').text(text), text)
      }),
    )
  })

  test('no form of a value is left in any text that has it', () => {
    fc.assert(
      fc.property(
        fc.array(secretLike, { minLength: 1, maxLength: 4 }),
        fc.array(fc.string()),
        fc.nat(),
        (values, around, pick) => {
          const forms = values.flatMap((one) => [...formsOf(one)])
          const form = forms[pick % forms.length]!
          const hidden = maskOf(...values).text(around.join(form) + form)
          assert.ok(hidden.includes(HIDDEN))
          // Nothing of a value is left between two places where it is hidden.
          for (const piece of hidden.split(HIDDEN))
            for (const one of forms) assert.equal(piece.includes(one), false)
        },
      ),
      { numRuns: 300 },
    )
  })

  test('a stream is hidden the same as the whole, wherever it is cut', () => {
    fc.assert(
      fc.property(
        fc.array(secretLike, { minLength: 1, maxLength: 3 }),
        fc.array(fc.oneof(fc.string(), fc.nat()), { maxLength: 8 }),
        fc.infiniteStream(fc.integer({ min: 1, max: 9 })),
        (values, parts, sizes) => {
          const forms = values.flatMap((one) => [...formsOf(one)])
          const text = parts
            .map((part) => (typeof part === 'string' ? part : forms[part % forms.length]))
            .join('')
          const mask = maskOf(...values)
          const stream = mask.stream()
          let shown = ''
          for (let at = 0; at < text.length;) {
            const size = sizes.next().value
            shown += stream.push(text.slice(at, at + size))
            for (const piece of shown.split(HIDDEN))
              for (const one of forms) assert.ok(isPartOfMask(one) || !piece.includes(one))
            at += size
          }
          assert.equal(shown + stream.end(), mask.text(text))
        },
      ),
      { numRuns: 300 },
    )
  })

  test('a value that comes while a stream goes on is hidden from there', () => {
    const mask = createMask()
    const stream = mask.stream()
    assert.equal(stream.push('one '), 'one ')
    mask.add('hunter22')
    assert.equal(stream.push('hunt') + stream.push('er22 two') + stream.end(), `${HIDDEN} two`)
  })
})
