import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { text as textOf } from 'node:stream/consumers'
import { describe, test } from 'node:test'

import { isFault } from '../../std/index.ts'
import { openSealed } from './sealed.ts'

function fileOf(text: string): Parameters<typeof openSealed>[1] {
  const sha256 = createHash('sha256').update(text).digest('hex')
  return { name: 'run.log', bytes: text.length, sha256 }
}

async function* pieces(texts: readonly string[], onEnd?: () => void): AsyncGenerator<Uint8Array> {
  try {
    for (const text of texts) yield Buffer.from(text)
  } finally {
    onEnd?.()
  }
}

describe('evidence that is read', () => {
  test('is what was sealed, in however many pieces it comes', async () => {
    for (const texts of [[], ['a'], ['a', 'b'], ['', 'ab', 'c', '']]) {
      const opened = await openSealed(pieces(texts), fileOf(texts.join('')))
      assert.ok(!isFault(opened))
      assert.equal(await textOf(opened), texts.join(''))
    }
  })

  test('is refused where it is another, and never looks complete', async () => {
    // Without the comparison in `asSealed` both are given out.
    const small = await openSealed(pieces(['of another test']), fileOf('of this one'))
    assert.ok(isFault(small))
    assert.equal(small.code, 'no-such-evidence')

    const large = await openSealed(pieces(['one', 'two', 'three']), fileOf('onetwo'))
    assert.ok(!isFault(large))
    const read: string[] = []
    await assert.rejects(
      async () => {
        for await (const piece of large) read.push(Buffer.from(piece).toString())
      },
      { code: 'no-such-evidence' },
    )
    assert.deepEqual(read, ['one', 'two'])
  })

  test('is let go of when nobody reads it to its end', async () => {
    let isOver = false
    const content = pieces(['a', 'b', 'c'], () => (isOver = true))
    const opened = await openSealed(content, fileOf('abc'))
    assert.ok(!isFault(opened))
    await opened[Symbol.asyncIterator]().return?.()
    assert.equal(isOver, true)
  })

  test('fails as its store does', async () => {
    const broken = pieces(['a'], () => {
      throw new Error('the store is down')
    })
    await assert.rejects(openSealed(broken, fileOf('a')), /the store is down/)
  })
})
