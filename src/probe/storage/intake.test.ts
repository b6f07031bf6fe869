import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'

import { directory } from '../../../test/probe/bundles.ts'
import { createIntake } from './intake.ts'

const limits = { files: 2, fileBytes: 10, totalBytes: 15 }
const { signal } = new AbortController()

async function* bytes(count: number): AsyncGenerator<Uint8Array> {
  for (let n = 0; n < count; n++) yield Buffer.from('x')
}

test('what is more than was announced is cut off at the limit, and nothing of it stays', async () => {
  using to = directory()
  const intake = createIntake(to.path, limits)
  intake.announce('a', 0)
  intake.announce('b', 0)
  await assert.rejects(intake.write('a', bytes(11), signal), {
    code: 'bundle-too-large',
    message: /^a: it has more than 10 bytes/,
  })
  await intake.write('a', bytes(10), signal)
  await assert.rejects(intake.write('b', bytes(6), signal), {
    code: 'bundle-too-large',
    message: /^the bundle: it has more than 15 bytes/,
  })
  assert.deepEqual(readdirSync(to.path), ['a'])
})

test('a file whose sender broke off can be written again', async () => {
  using to = directory()
  const intake = createIntake(to.path, limits)
  async function* broken(): AsyncGenerator<Uint8Array> {
    yield* bytes(9)
    throw new Error('broke off')
  }
  intake.announce('a', 10)
  for (let n = 0; n < 3; n++) await assert.rejects(intake.write('a', broken(), signal), /broke off/)
  await intake.write('a', bytes(10), signal)
  assert.equal(readFileSync(join(to.path, 'a'), 'utf8'), 'x'.repeat(10))
})

test('what is announced counts before it comes', () => {
  const intake = createIntake('/nowhere', limits)
  intake.announce('a', 10)
  assert.throws(() => intake.announce('a', 0), { code: 'bundle-file-refused' })
  assert.throws(() => intake.announce('b', 6), { code: 'bundle-too-large' })
  assert.throws(() => intake.announce('c', 0), { code: 'bundle-too-large' })
  assert.throws(() => intake.announce('../d', 0), { code: 'bundle-file-refused' })
})
