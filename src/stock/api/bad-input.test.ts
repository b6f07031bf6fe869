/** Every field of every write, wrong in every way: the documented refusal, and nothing is written. */
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'

import { shop, type Shop } from '../../../test/stock/shop.ts'

const AT = '2026-01-15T10:00:00Z'
const LONG_ID = 'x'.repeat(241)

/** Values that a field of that kind must not have. */
const WRONG = {
  id: [7, true, {}, [], '', '   ', 'a\u0000b', 'a\nb', '\ud800', LONG_ID, 'ü'.repeat(41)],
  requestId: [7, true, {}, [], '', ' ', 'a\u0007', '\udfff', 'x'.repeat(129)],
  amount: [
    0,
    -1,
    -0.5,
    '0',
    '-3',
    'NaN',
    'Infinity',
    '1e3',
    'ten',
    '',
    ' 1',
    '0x10',
    true,
    {},
    [1],
    0.0000001,
    '1.0000001',
    1e15 + 1,
    '1000000000000000.000001',
    1e21,
    1e-7,
  ],
  counted: [-1, '-0.5', 'NaN', '', false, {}, 0.0000001, 1e15 + 1, 1e300],
  time: [
    0,
    1_768_471_200_000,
    true,
    {},
    [],
    '',
    'yesterday',
    '2026-01-15',
    '2026-02-30T10:00:00Z',
    '2026-01-15T24:00:01Z',
    '2026-01-15 10:00:00',
    '10:00',
    '99999-01-01T00:00:00Z',
  ],
  moveReason: ['', 'other', 7, {}, ['replenishment']],
  countReason: ['', 'adminoverride', 'other', 7, {}],
  products: [
    [],
    {},
    'apples',
    7,
    Array.from({ length: 1_001 }, () => ({ productId: 'p', quantity: 1 })),
  ],
} as const

type Kind = keyof typeof WRONG

type Field = readonly [path: string, kind: Kind, right: unknown]

const WRITES: readonly Readonly<{ name: string; url: string; fields: readonly Field[] }>[] = [
  {
    name: 'delivery',
    url: '/locations/DC01/deliveries',
    fields: [
      ['requestId', 'requestId', 'r-1'],
      ['supplierId', 'id', 'acme'],
      ['supplierRef', 'id', 'note'],
      ['deliveredAt', 'time', AT],
      ['products', 'products', [{ productId: 'apples', quantity: 1 }]],
    ],
  },
  {
    name: 'sale',
    url: '/locations/DC01/products/apples/sales',
    fields: [
      ['requestId', 'requestId', 'r-1'],
      ['quantity', 'amount', 1],
      ['soldAt', 'time', AT],
    ],
  },
  ...['/products/apples', '/apples'].map((rest) => ({
    name: `move to ${rest}/movements`,
    url: `/locations/DC01${rest}/movements`,
    fields: [
      ['requestId', 'requestId', 'r-1'],
      ['destinationLocationId', 'id', 'ST01'],
      ['quantity', 'amount', 1],
      ['reason', 'moveReason', 'replenishment'],
      ['movedAt', 'time', AT],
    ] as readonly Field[],
  })),
  {
    name: 'count',
    url: '/locations/DC01/products/apples/counts',
    fields: [
      ['requestId', 'requestId', 'r-1'],
      ['reason', 'countReason', 'AdminOverride'],
      ['quantity', 'counted', 1],
      ['countedAt', 'time', AT],
    ],
  },
]

function rightBody(fields: readonly Field[]): Record<string, unknown> {
  return Object.fromEntries(fields.map(([path, , right]) => [path, right]))
}

describe('bad input', () => {
  let at: Shop
  let position: string
  before(async () => {
    at = await shop()
    position = await at.position()
  })
  after(async () => {
    assert.equal(await at.position(), position, 'something was written')
    await at[Symbol.asyncDispose]()
  })

  for (const { name, url, fields } of WRITES) {
    const names = fields.map(([path]) => path)

    for (const body of [{}, undefined, Object.fromEntries(names.map((each) => [each, null]))])
      test(`${name}: all fields that are missing are named in order (${JSON.stringify(body)})`, async () => {
        const told = await at.post(url, body)

        assert.deepEqual([told.status, told.body['status']], [400, 'BadRequest'])
        assert.deepEqual(told.body['missingFields'], names)
        assert.equal(told.body['invalidValues'], undefined)
      })

    for (const [path, kind] of fields) {
      test(`${name}: ${path} is missed alone`, async () => {
        const { [path]: _, ...body } = rightBody(fields)
        const told = await at.post(url, body)

        assert.deepEqual([told.status, told.body['missingFields']], [400, [path]])
      })

      test(`${name}: ${path} is never ${kind === 'products' ? 'another thing' : `no ${kind}`}`, async () => {
        for (const wrong of WRONG[kind]) {
          const told = await at.post(url, { ...rightBody(fields), [path]: wrong })

          const what = `${path}: ${JSON.stringify(wrong)?.slice(0, 80)}`
          assert.deepEqual([told.status, told.body['status']], [400, 'BadRequest'], what)
          assert.deepEqual(told.body['invalidValues'], [path], what)
          assert.equal(told.body['missingFields'], undefined, what)
        }
      })
    }

    test(`${name}: everything that is wrong is named at once, in order`, async () => {
      const [first, ...others] = fields
      const body = Object.fromEntries(others.map(([path]) => [path, false]))
      const told = await at.post(url, body)

      assert.equal(told.status, 400)
      assert.deepEqual(told.body['missingFields'], [first![0]])
      assert.deepEqual(
        told.body['invalidValues'],
        others.map(([path]) => path),
      )
    })

    test(`${name}: ids in the path are ids`, async () => {
      for (const bad of ['%20', '%00', LONG_ID]) {
        const told = await at.post(url.replace('DC01', bad), rightBody(fields))

        assert.equal(told.status, 400, bad)
        assert.match(String(told.body['invalidValues']), /ocationId$/, bad)
      }
    })

    test(`${name}: what is not JSON is refused`, async () => {
      for (const text of ['{', '', 'NaN', '{"quantity":NaN}', '[1', "{'a':1}"]) {
        const headers = { 'content-type': 'application/json' }
        const told = await at.ask('POST', url, { body: text, headers })

        assert.equal(told.status, 400, text)
        assert.equal(told.body['status'], 'BadRequest', text)
      }
    })

    test(`${name}: what is no object is refused`, async () => {
      for (const body of [[], [rightBody(fields)], 7, true]) {
        const told = await at.ask('POST', url, {
          body: JSON.stringify(body),
          headers: { 'content-type': 'application/json' },
        })

        assert.deepEqual([told.status, told.body['status']], [400, 'BadRequest'])
      }
    })

    test(`${name}: another kind of body is refused`, async () => {
      const headers = { 'content-type': 'text/xml' }
      const told = await at.ask('POST', url, { body: '<a/>', headers })

      assert.deepEqual([told.status, told.body['status']], [415, 'UnsupportedMediaType'])
    })

    test(`${name}: a body beyond the limit is refused`, async () => {
      const told = await at.post(url, { ...rightBody(fields), more: 'x'.repeat(2 ** 21) })

      assert.deepEqual([told.status, told.body['status']], [413, 'PayloadTooLarge'])
    })
  }

  test('lines of a delivery are named by their place', async () => {
    const told = await at.post('/locations/DC01/deliveries', {
      requestId: 'r-1',
      supplierId: 'acme',
      supplierRef: 'note',
      deliveredAt: AT,
      products: [
        { productId: 'apples', quantity: 1 },
        { productId: '', quantity: 0 },
        { quantity: -1 },
        { productId: 'pears' },
        null,
        'plums',
      ],
    })

    assert.equal(told.status, 400)
    assert.deepEqual(told.body['missingFields'], [
      'products[2].productId',
      'products[3].quantity',
      'products[4]',
    ])
    assert.deepEqual(told.body['invalidValues'], [
      'products[1].productId',
      'products[1].quantity',
      'products[2].quantity',
      'products[5]',
    ])
  })

  for (const [url, paths] of [
    [
      '/locations/DC01/products/apples?includeChildren=maybe&asOf=now&asAt=7',
      ['includeChildren', 'asOf', 'asAt'],
    ],
    [
      '/locations/DC01/products/apples?asOf=2026-01-01T00:00:00Z&asOf=2026-01-01T00:00:00Z',
      ['asOf'],
    ],
    [
      '/locations/DC01/products/apples/history?from=x&to=y&order=z&limit=0',
      ['from', 'to', 'order', 'limit'],
    ],
    ['/locations/DC01/products/apples/history?limit=1001', ['limit']],
    ['/locations/DC01/products/apples/history?cursor=', ['cursor']],
    ['/locations/DC01/products/apples/history?cursor=nonsense', ['cursor']],
    ['/locations/DC01/products/apples/explain?between=2,1', ['between']],
    ['/locations/DC01/products/apples/explain?between=0,99', ['between']],
    ['/locations/DC01/products/apples/explain?between=a,b', ['between']],
    ['/locations/DC01/products?limit=ten', ['limit']],
    ['/products/apples/locations?limit=-1', ['limit']],
    ['/moves?state=lost', ['state']],
    ['/events?after=-1&limit=0', ['after', 'limit']],
    ['/pots?limit=1.5', ['limit']],
    ['/locations/DC01/children?depth=-1', ['depth']],
    ['/locations/%20/products/%20', ['locationId', 'productId']],
  ] as const)
    test(`GET ${url} names ${paths.join(', ')}`, async () => {
      const told = await at.get(url)

      assert.deepEqual([told.status, told.body['status']], [400, 'BadRequest'])
      assert.deepEqual(told.body['invalidValues'], paths)
    })

  test('explain needs to be told between which versions', async () => {
    const told = await at.get('/locations/DC01/products/apples/explain')

    assert.deepEqual([told.status, told.body['missingFields']], [400, ['between']])
  })

  for (const url of [
    '/locations/DC01/products/apples',
    '/locations/DC01/products',
    '/products/apples/locations',
    '/moves',
    '/moves/m-1',
  ])
    test(`a Consistency-Token that is none is refused at ${url}`, async () => {
      for (const token of ['', 'x', '-1', '1.5', '9'.repeat(20)]) {
        const told = await at.get(url, { headers: { 'consistency-token': token } })

        assert.equal(told.status, 400, token)
        assert.deepEqual(told.body['invalidValues'], ['Consistency-Token'], token)
      }
    })

  test('locations are told apart from what is none', async () => {
    for (const [body, paths] of [
      [{ parent: '', roles: 'all' }, ['parent', 'roles']],
      [{ roles: [''] }, ['roles[0]']],
      [{ roles: ['x'.repeat(65)] }, ['roles[0]']],
      [{ roles: Array.from({ length: 33 }, (_, n) => `r${n}`) }, ['roles']],
    ] as const) {
      const told = await at.ask('PUT', '/locations/NEW', { body })

      assert.equal(told.status, 400)
      assert.deepEqual(told.body['invalidValues'], paths)
    }
  })
})

describe('at the limits', () => {
  test('ids, quantities and products are still taken', async () => {
    await using at = await shop()
    const longest = 'x'.repeat(240)
    const body = {
      requestId: 'r'.repeat(128),
      supplierId: longest,
      supplierRef: longest,
      deliveredAt: '0001-01-01T00:00:00Z',
      products: Array.from({ length: 1_000 }, (_, n) => ({
        productId: `p${n % 10}`,
        quantity: '0.000001',
      })),
    }

    assert.equal((await at.post('/locations/DC01/deliveries', body)).status, 201)
    const sale = { requestId: 's', quantity: 1e15, soldAt: AT }
    assert.equal((await at.post(`/locations/DC01/products/${longest}/sales`, sale)).status, 201)
    const count = { requestId: 'c', quantity: 0, countedAt: AT, reason: 'StockTake' }
    assert.equal((await at.post(`/locations/DC01/products/${longest}/counts`, count)).status, 201)
  })
})
