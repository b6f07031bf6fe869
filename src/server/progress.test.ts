import assert from 'node:assert/strict'
import { tmpdir } from 'node:os'
import { describe, test } from 'node:test'

import { virtualClock } from '../testkit/index.ts'
import type { Io } from './io.ts'
import { withProgress } from './progress.ts'

const MIB = 2 ** 20

function watcher(isWatched: boolean) {
  const clock = virtualClock()
  const said: string[] = []
  const io: Io = {
    out: () => assert.fail('standard output is for results'),
    err: (text) => said.push(text),
    isWatched,
    environment: {},
    directory: tmpdir(),
    clock,
    self: 'flytower',
    versions: { product: '1', node: 'v24' },
  }
  return { io, clock, said }
}

describe('progress', () => {
  test('is a line every few seconds where nobody looks, and none of short work', async () => {
    const { io, clock, said } = watcher(false)
    let done = 0
    const work = Promise.withResolvers<string>()
    const result = withProgress(
      io,
      'copying',
      { total: 4 * MIB, done: () => done },
      () => work.promise,
    )
    clock.advance(4_999)
    assert.deepEqual(said, [])
    done = MIB
    clock.advance(1)
    done = 9 * MIB // more than there was to do when it began
    clock.advance(5_000)
    work.resolve('copied')
    assert.equal(await result, 'copied')
    clock.advance(60_000)
    assert.deepEqual(said, ['copying: 25 % of 4 MiB, 5 s\n', 'copying: 100 % of 4 MiB, 10 s\n'])
  })

  test('is one line that is written over where somebody does, and it is gone afterwards', async () => {
    const { io, clock, said } = watcher(true)
    const work = Promise.withResolvers<string>()
    const result = withProgress(io, 'verifying', { total: 3 * MIB }, () => work.promise)
    clock.advance(400)
    work.reject(new Error('no'))
    await assert.rejects(result, /no/)
    clock.advance(60_000)
    const line = '\r\u001b[Kverifying: 3 MiB, 0 s'
    assert.deepEqual(said, [line, line, '\r\u001b[K'])
  })
})
