/**
 * Input that is wrong, over real HTTP: each field of each write missing, of another type, out of its
 * bounds; all of them at once; places that are not there; ids that were used before. Every refusal
 * is the documented one and names what is wrong, nothing is written, and nothing is used up: the
 * right request succeeds afterwards under the very id that was refused.
 */
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'

import { at, type Answer } from '../acceptance/client.ts'
import { serve, type Served } from './served.ts'
import { DESTINATION, PLACE, PRODUCT, THIRD, withAt, WRITES } from './writes.ts'

const FILLED = 1_000

let served: Served
let requests = 0

before(async () => {
  served = await serve()
  await served.place(PLACE)
  await served.place(DESTINATION)
  await served.place(THIRD)
  await served.place('untracked', undefined, false)
  const filled = withAt(WRITES[0]!.body('fill'), 'products[0].quantity', FILLED)
  const answer = await served.ask('POST', WRITES[0]!.path(PLACE, PRODUCT), filled)
  assert.equal(answer.status, 201, answer.text)
})

after(async () => served[Symbol.asyncDispose]())

for (const write of WRITES)
  describe(`a ${write.name}`, () => {
    const path = write.path(PLACE, PRODUCT)

    for (const [field, wrong] of Object.entries(write.fields)) {
      const isListed = field.endsWith(']') // an item is there or not; it cannot be left out

      test(`with ${field} wrong in ${wrong.length} ways, or without it, is refused by that name`, async () => {
        await writesNothing(async () => {
          for (const value of wrong) {
            const answer = await served.ask('POST', path, withAt(write.body(id()), field, value))
            refusedFor(answer, [], [field], JSON.stringify(value)?.slice(0, 80))
          }
          for (const absent of isListed ? [] : [undefined, null]) {
            const answer = await served.ask('POST', path, withAt(write.body(id()), field, absent))
            refusedFor(answer, [field], [])
          }
        })
      })
    }

    test('with everything wrong is told everything, in order', async () => {
      const [single, items] = [Object.keys(write.fields), 'products']
      const fields = single.filter((field) => field !== items && field !== `${items}[0]`)
      await writesNothing(async () => {
        let wrong = write.body(id())
        for (const field of fields) wrong = withAt(wrong, field, {})
        refusedFor(await served.ask('POST', path, wrong), [], fields)

        let absent = write.body(id())
        for (const field of fields) absent = withAt(absent, field, undefined)
        refusedFor(await served.ask('POST', path, absent), fields, [])

        let both = write.body(id())
        for (const [n, field] of fields.entries())
          both = withAt(both, field, n % 2 === 0 ? undefined : {})
        refusedFor(
          await served.ask('POST', path, both),
          fields.filter((_, n) => n % 2 === 0),
          fields.filter((_, n) => n % 2 === 1),
        )
      })
    })

    test('whose body is no object is refused', async () => {
      await writesNothing(async () => {
        for (const body of [[], 'text', 5, true, null, [write.body(id())]])
          isProblem(await served.ask('POST', path, body), 400, 'BadRequest')
      })
    })

    test('at a place or to a place that is not known, or not tracked, is refused', async () => {
      await writesNothing(async () => {
        const nowhere = await served.ask('POST', write.path('nowhere', PRODUCT), write.body(id()))
        isProblem(nowhere, 404, 'LocationNotFound')
        const hall = await served.ask('POST', write.path('untracked', PRODUCT), write.body(id()))
        isProblem(hall, 400, 'LocationNotTracked')
        if (write.name !== 'move') return
        const lost = write.body(id(), { destination: 'nowhere' })
        isProblem(await served.ask('POST', path, lost), 404, 'LocationNotFound')
        const hidden = write.body(id(), { destination: 'untracked' })
        isProblem(await served.ask('POST', path, hidden), 400, 'LocationNotTracked')
      })
    })

    test('with ids in its path that are none is refused by their names', async () => {
      await writesNothing(async () => {
        for (const bad of ['%20', '%00', 'x'.repeat(241), encodeURIComponent('ü'.repeat(41))]) {
          const [there, what] = [write.path(bad, PRODUCT), write.path(PLACE, bad)]
          for (const wrong of there === what ? [there] : [there, what].filter((p) => p !== path)) {
            const answer = await served.ask('POST', wrong, write.body(id()))
            isProblem(answer, 400, 'BadRequest')
            assert.equal((at(answer.json, 'invalidValues') as string[]).length, 1, answer.text)
          }
        }
      })
    })

    test('under an id that was used for another is refused, and says what differs', async () => {
      const body = write.body(id())
      assert.equal((await served.ask('POST', path, body)).status, 201)
      await writesNothing(async () => {
        for (const field of Object.keys(write.fields)) {
          const other = OTHER[field.replace(/^.*\./, '')]
          if (other === undefined) continue
          const answer = await served.ask('POST', path, withAt(body, field, other))
          isProblem(answer, 409, 'IdempotencyContentMismatch')
          assert.ok(Array.isArray(at(answer.json, 'fields')), answer.text)
        }
        for (const another of WRITES)
          if (another !== write) {
            const same = another.body(body['requestId'] as string)
            const answer = await served.ask('POST', another.path(PLACE, PRODUCT), same)
            isProblem(answer, 409, 'IdempotencyContentMismatch')
          }
        const again = await served.ask('POST', path, body)
        assert.equal(again.status, 201)
        assert.equal(again.headers.get('idempotency-replayed'), 'true')
      })
    })

    test('that was refused may be sent again under its id, put right', async () => {
      const requestId = id()
      for (const field of Object.keys(write.fields))
        if (field !== 'requestId' && !field.endsWith(']'))
          await served.ask('POST', path, withAt(write.body(requestId), field, {}))
      const lookup = await served.ask('GET', `/requests/${requestId}`)
      assert.equal(lookup.status, 404)

      const answer = await served.ask('POST', path, write.body(requestId))
      assert.equal(answer.status, 201, answer.text)
      assert.equal(answer.headers.get('idempotency-replayed'), null)
    })
  })

/** Fields of a write that may be another one and still right. */
const OTHER: Readonly<Record<string, unknown>> = {
  quantity: 7,
  supplierId: 'another',
  supplierRef: 'another',
  soldAt: '2024-12-13T12:00:01Z',
  movedAt: '2024-12-13T12:00:01Z',
  countedAt: '2024-12-13T12:00:01Z',
  deliveredAt: '2024-12-13T12:00:01Z',
  productId: 'another',
  destinationLocationId: THIRD,
}

describe('a read', () => {
  const pot = `/locations/${PLACE}/products/${PRODUCT}`

  const QUERIES: readonly (readonly [path: string, field: string])[] = [
    [`${pot}?includeChildren=maybe`, 'includeChildren'],
    [`${pot}?asOf=noon`, 'asOf'],
    [`${pot}?asAt=2024-02-30T00:00:00Z`, 'asAt'],
    [`${pot}/history?order=random`, 'order'],
    [`${pot}/history?limit=0`, 'limit'],
    [`${pot}/history?limit=1001`, 'limit'],
    [`${pot}/history?limit=many`, 'limit'],
    [`${pot}/history?from=yesterday`, 'from'],
    [`${pot}/history?cursor=junk`, 'cursor'],
    [`${pot}/explain?between=1`, 'between'],
    [`${pot}/explain?between=5,99999`, 'between'],
    [`/locations/${PLACE}/products?limit=-1`, 'limit'],
    [`/locations/${PLACE}/children?depth=deep`, 'depth'],
    ['/events?after=-1', 'after'],
    ['/events?after=1.5', 'after'],
  ]

  for (const [path, field] of QUERIES)
    test(`of ${path} is refused for ${field}`, async () => {
      const answer = await served.ask('GET', path)
      isProblem(answer, 400, 'BadRequest')
      assert.deepEqual(at(answer.json, 'invalidValues'), [field], answer.text)
    })

  test('of what is not there is told so', async () => {
    const words: readonly (readonly [path: string, word: string])[] = [
      ['/locations/nowhere/products/beans', 'LocationNotFound'],
      ['/locations/nowhere', 'LocationNotFound'],
      ['/locations/nowhere/path', 'LocationNotFound'],
      ['/locations/nowhere/children', 'LocationNotFound'],
      ['/requests/nothing', 'RequestNotFound'],
      ['/moves/nothing', 'MoveNotFound'],
      ['/pots/nothing', 'PotNotFound'],
    ]
    for (const [path, word] of words) isProblem(await served.ask('GET', path), 404, word)
  })

  test('with headers that are wrong is refused by their names', async () => {
    for (const token of ['x', '-1', '1.5', '9'.repeat(20)]) {
      const answer = await served.ask('GET', pot, undefined, { 'consistency-token': token })
      isProblem(answer, 400, 'BadRequest')
      assert.deepEqual(at(answer.json, 'invalidValues'), ['Consistency-Token'])
    }
    for (const version of ['x', '1', '"-1"', 'W/"1"']) {
      const headers = { 'if-match': version }
      const sale = WRITES[1]!
      const answer = await served.ask('POST', sale.path(PLACE, PRODUCT), sale.body(id()), headers)
      isProblem(answer, 400, 'BadRequest')
      assert.deepEqual(at(answer.json, 'invalidValues'), ['If-Match'])
    }
  })
})

test('after all of it the server is well, and what it has kept is what it shows', async () => {
  const pot = `/locations/${PLACE}/products/${PRODUCT}`
  const [level, ready] = [await served.ask('GET', pot), await served.ask('GET', '/readyz')]
  assert.equal(ready.status, 200)
  assert.doesNotMatch(JSON.stringify(served.server.log), /"level":"(?:error|fatal)"/)
  await served.restart()
  assert.deepEqual((await served.ask('GET', pot)).json, level.json)
})

function id(): string {
  requests += 1
  return `bad-input-${requests}`
}

async function writesNothing(work: () => Promise<void>): Promise<void> {
  const earlier = await served.events()
  assert.ok(earlier > 0)
  await work()
  assert.equal(await served.events(), earlier, 'something was written')
}

function refusedFor(
  answer: Answer,
  missing: readonly string[],
  invalid: readonly string[],
  what = '',
): void {
  isProblem(answer, 400, 'BadRequest')
  assert.deepEqual(at(answer.json, 'missingFields') ?? [], missing, `${what} ${answer.text}`)
  assert.deepEqual(at(answer.json, 'invalidValues') ?? [], invalid, `${what} ${answer.text}`)
}

function isProblem(answer: Answer, status: number, word: string): void {
  assert.equal(answer.status, status, `${JSON.stringify(answer.sent).slice(0, 300)} ${answer.text}`)
  assert.equal(at(answer.json, 'status'), word, answer.text)
  assert.match(answer.headers.get('content-type') ?? '', /^application\/problem\+json/)
  for (const member of ['type', 'title', 'detail', 'code', 'traceId'])
    assert.equal(typeof at(answer.json, member), 'string', answer.text)
}
