import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import { actorName, streamTag } from './naming.ts'

describe('the name of an actor', () => {
  test('is the id where that can be one, and says the rest in its own way', () => {
    assert.equal(actorName('17'), '17')
    assert.equal(actorName('a/b $'), 'a%2Fb%20%24')
  })

  test('has at most 200 characters, and those of two ids are two', () => {
    const long = 'x'.repeat(300)
    const names = [
      'x'.repeat(200),
      'x'.repeat(201),
      `${long}a`,
      `${long}b`,
      `a${long}`,
      'ä'.repeat(100),
    ]
    const made = names.map(actorName)
    assert.equal(made[0], names[0])
    assert.equal(new Set(made).size, names.length)
    for (const name of made) assert.ok(name.length <= 200 && !/[/$\s]/u.test(name), name)
  })
})

describe('the tag of a stream', () => {
  test('leaves room for what is put behind it', () => {
    const streams = [
      `a/${'x'.repeat(398)}`,
      `a/${'x'.repeat(399)}`,
      `a/${'ä'.repeat(200)}`,
      `a/${'x'.repeat(510)}`,
    ]
    const tags = streams.map(streamTag)
    assert.equal(tags[0], streams[0])
    assert.equal(new Set(tags).size, streams.length)
    for (const tag of tags) assert.ok(Buffer.byteLength(tag) <= 400)
  })
})
