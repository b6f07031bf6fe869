import assert from 'node:assert/strict'
import { test } from 'node:test'

import { placeOf } from './place.ts'

test('a path says which store is meant, and where in it', () => {
  assert.deepEqual(placeOf('/srv/a/../b/'), { type: 'local', directory: '/srv/b/' })
  assert.deepEqual(placeOf('file:///srv/a%20b'), { type: 'local', directory: '/srv/a b' })
  assert.deepEqual(placeOf('upload:t-1'), { type: 'upload', id: 't-1' })
  for (const path of ['s3://my.bucket', 's3://my.bucket/'])
    assert.deepEqual(placeOf(path), { type: 's3', bucket: 'my.bucket', prefix: '' })
  for (const path of ['s3://bucket/a/b', 's3://bucket/a/b/'])
    assert.deepEqual(placeOf(path), { type: 's3', bucket: 'bucket', prefix: 'a/b/' })
})

test('a prefix that could mean more than one thing is refused', () => {
  for (const path of [
    's3://bucket/a/../b',
    's3://bucket//a',
    's3://bucket/a//',
    's3://B/x',
    's3:/b/x',
  ])
    assert.throws(() => placeOf(path), { code: 'bad-storage-path' }, path)
})
