import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import { Accident, fault } from '../../std/index.ts'
import {
  answer,
  CHANNEL_DEPTH_MAX,
  CHANNEL_LINE_BYTES_MAX,
  lineReader,
  readLine,
  refusal,
  written,
} from './channel.ts'
import { masked } from './masking.ts'
import { createMask } from '../secrets/mask.ts'
import { HIDDEN } from '../secrets/secret.ts'
import type { Mask } from '../secrets/secrets.ts'

function deep(levels: number): string {
  return `{"type":"call","id":"1","name":"x","input":${'['.repeat(levels)}${']'.repeat(levels)}}`
}

describe('the channel of a run', () => {
  test('gives lines as they were written, wherever chunks are', () => {
    const heard: string[] = []
    const read = lineReader((line) => heard.push(line))
    const bytes = Buffer.from('one\ntwö\n\nthree\n')
    for (const byte of bytes) assert.ok(read(Buffer.from([byte])))
    assert.deepEqual(heard, ['one', 'twö', '', 'three'])
    assert.ok(read(bytes))
    assert.deepEqual(heard.slice(4), heard.slice(0, 4))
  })

  test('refuses a line over its limit, and takes one at it', () => {
    const heard: number[] = []
    const read = lineReader((line) => heard.push(line.length))
    assert.equal(read(Buffer.alloc(CHANNEL_LINE_BYTES_MAX, 'x')), true)
    assert.equal(read(Buffer.from('\n')), true)
    assert.deepEqual(heard, [CHANNEL_LINE_BYTES_MAX])
    assert.equal(read(Buffer.alloc(CHANNEL_LINE_BYTES_MAX + 1, 'x')), false)
    const whole = Buffer.from(`${'x'.repeat(CHANNEL_LINE_BYTES_MAX + 1)}\n`)
    assert.equal(lineReader((line) => heard.push(line.length))(whole), false)
    assert.equal(heard.length, 1)
  })

  test('knows its lines and no others', () => {
    const call = { type: 'call', id: '1', name: 'secret', input: { name: 'x' } } as const
    for (const line of [
      call,
      { type: 'message', envelope: { meta: {} } },
      { type: 'bad-steps', message: 'x' },
      { type: 'refused', message: 'x' },
      { type: 'end' },
    ] as const)
      assert.deepEqual(readLine(written(line)), line)
    for (const line of ['', '{', 'null', '7', '[]', '{}', '{"type":"end2"}', '{"type":"call"}'])
      assert.equal(readLine(line), undefined, line)
    assert.equal(readLine('{"type":"message","envelope":[]}'), undefined)
  })

  test('refuses what lies too deep, however deep it is, and takes what is at the limit', () => {
    assert.equal(readLine(deep(CHANNEL_DEPTH_MAX - 1))?.type, 'call')
    assert.equal(readLine(deep(CHANNEL_DEPTH_MAX)), undefined)
    assert.equal(readLine(deep(1_000_000)), undefined)
  })

  test('has no room for an answer over the limit of a line, and says so instead', () => {
    const around = written({ type: 'answer', id: '1', value: '' }).length
    const whole = answer('1', 'x'.repeat(CHANNEL_LINE_BYTES_MAX - around))
    assert.equal(Buffer.byteLength(whole), CHANNEL_LINE_BYTES_MAX)
    const refused = answer('1', 'x'.repeat(CHANNEL_LINE_BYTES_MAX - around + 1))
    assert.match(refused, /"type":"refusal","id":"1","code":"answer-too-large"/)
  })

  test('says why something is refused, with the code where there is one', () => {
    const denied = new Accident(fault('secret-denied', 'it is not yours'))
    assert.deepEqual(JSON.parse(refusal('1', denied)), {
      type: 'refusal',
      id: '1',
      code: 'secret-denied',
      message: 'it is not yours',
    })
    assert.deepEqual(JSON.parse(refusal('2', 'odd')), {
      type: 'refusal',
      id: '2',
      code: 'failed',
      message: 'odd',
    })
  })
})

const mask = {
  add: (): void => undefined,
  text: (text: string): string => text.replaceAll('pässword', '*'),
}

function attached(bytes: Buffer, by: Pick<Mask, 'text'> = mask): unknown {
  const value = { body: bytes.toString('base64'), contentEncoding: 'BASE64' }
  const { body } = masked(value, by) as { body: string }
  return Buffer.from(body, 'base64')
}

describe('what is masked', () => {
  test('is every text and every name in a value', () => {
    assert.deepEqual(
      masked({ a: ['a pässword', 1, null, true], 'the pässword': { b: 'pässword' } }, mask),
      { a: ['a *', 1, null, true], 'the *': { b: '*' } },
    )
  })

  test('is also what is encoded as an attachment, and nothing of a picture', () => {
    const picture = Buffer.from([0x89, 0x50, 0xff, 0x00, 0xc3])
    assert.deepEqual(attached(Buffer.from('my pässword')), Buffer.from('my *'))
    assert.deepEqual(attached(picture), picture)
    const known = createMask()
    known.add('pässword')
    const noText = Buffer.concat([picture, Buffer.from('pässword'), picture])
    const hidden = Buffer.concat([picture, Buffer.from(HIDDEN), picture])
    assert.deepEqual(attached(noText, known), hidden)
  })
})
