import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import fc from 'fast-check'

import { PARAM_CHARS_MAX } from './limits.ts'
import { Router } from './router.ts'

function routerOf(...paths: readonly string[]): Router<string> {
  const router = new Router<string>()
  for (const path of paths) router.add('GET', path, path)
  return router
}

/** What was found, with its parameters in order. */
function found(router: Router<string>, url: string): unknown {
  const said = router.find('GET', url)
  return typeof said === 'object' ? [said.target, ...Object.values(said.params)] : said
}

describe('a router', () => {
  test('finds what was registered for a method and a path, and nothing else', () => {
    const router = routerOf('/', '/a', '/a/{x}', '/a/{x}/b')
    router.add('POST', '/a', 'posted')
    assert.deepEqual(found(router, '/'), ['/'])
    assert.deepEqual(found(router, '/a'), ['/a'])
    assert.deepEqual(found(router, '/a/1'), ['/a/{x}', '1'])
    assert.deepEqual(found(router, '/a/'), ['/a/{x}', ''])
    assert.deepEqual(found(router, '/a/1/b'), ['/a/{x}/b', '1'])
    for (const url of ['', '/b', '/A', '/a/1/c', '/a/1/b/', '//a', '*', '/a/1/b/2'])
      assert.equal(found(router, url), undefined, url)
    assert.deepEqual(router.find('POST', '/a'), { target: 'posted', params: {} })
    assert.equal(router.find('PUT', '/a'), undefined)
  })

  test('prefers a fixed part to a pattern and a pattern to a parameter, and goes back where it must', () => {
    const router = routerOf(
      '/places/{a}/products/{b}',
      '/places/{a}/{b}/moves',
      '/pots/{key}',
      '/pots/{key}:stop',
      '/pots/all',
    )
    assert.deepEqual(found(router, '/places/1/products/2'), ['/places/{a}/products/{b}', '1', '2'])
    assert.deepEqual(found(router, '/places/1/products/moves'), [
      '/places/{a}/products/{b}',
      '1',
      'moves',
    ])
    assert.deepEqual(found(router, '/places/1/other/moves'), [
      '/places/{a}/{b}/moves',
      '1',
      'other',
    ])
    const posts = new Router<string>()
    posts.add('POST', '/places/{a}/products/{b}/sales', 'sale')
    posts.add('POST', '/places/{a}/{b}/moves', 'move')
    assert.deepEqual(posts.find('POST', '/places/1/products/moves'), {
      target: 'move',
      params: { a: '1', b: 'products' },
    })
    assert.deepEqual(found(router, '/pots/all'), ['/pots/all'])
    assert.deepEqual(found(router, '/pots/one:stop'), ['/pots/{key}:stop', 'one'])
    assert.deepEqual(found(router, '/pots/one:go'), ['/pots/{key}', 'one:go'])
  })

  test('looks at the path alone: no query, no fragment, no origin', () => {
    const router = routerOf('/a/{x}')
    for (const behind of ['?b=/c', '#b', '?b#c', '#b?c', '?'])
      assert.deepEqual(found(router, `/a/1${behind}`), ['/a/{x}', '1'], behind)
    assert.deepEqual(found(router, 'http://host:80/a/1?b'), ['/a/{x}', '1'])
    assert.equal(found(router, 'ftp://host/a/1'), undefined)
  })

  test('decodes each part once, and refuses what encodes nothing wherever it stands', () => {
    const router = routerOf('/a/{x}', '/a/{x}:go')
    assert.deepEqual(found(router, '/a/b%2Fc'), ['/a/{x}', 'b/c'])
    assert.deepEqual(found(router, '/%61/%2525'), ['/a/{x}', '%25'])
    assert.deepEqual(found(router, '/a/b%3Ago'), ['/a/{x}:go', 'b'])
    for (const url of ['/a/%', '/%zz', '/nothing/%e0%a4%a'])
      assert.equal(found(router, url), 'bad-path', url)
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), (value) => {
        fc.pre(value.isWellFormed() && !value.endsWith(':go'))
        assert.deepEqual(found(router, `/a/${encodeURIComponent(value)}`), ['/a/{x}', value])
      }),
    )
  })

  test('takes a part as long as the limit and no longer, as it was sent', () => {
    const router = routerOf('/a/{x}')
    const part = '%41'.repeat(PARAM_CHARS_MAX / 3)
    assert.deepEqual(found(router, `/a/${part}`), ['/a/{x}', 'A'.repeat(PARAM_CHARS_MAX / 3)])
    const exact = 'x'.repeat(PARAM_CHARS_MAX)
    assert.deepEqual(found(router, `/a/${exact}`), ['/a/{x}', exact])
    assert.equal(found(router, `/a/${exact}x`), 'bad-path')
    assert.equal(found(router, `/nothing/${exact}x`), undefined)
  })

  test('takes one target for a method and a path', () => {
    const router = routerOf('/a/{x}')
    assert.throws(() => router.add('GET', '/a/{y}', 'another'), /registered once/)
  })

  test('gives parameters that are named like what every object has', () => {
    assert.deepEqual(found(routerOf('/{constructor}'), '/x'), ['/{constructor}', 'x'])
  })
})
