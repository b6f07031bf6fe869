/** What was answered. */
import assert from 'node:assert/strict'

import { Then } from '@cucumber/cucumber'

import { at, type Answer } from '../../client.ts'
import type { StockWorld } from './world.ts'

type Node = Readonly<{
  locationId: string
  quantity?: number
  pendingAdjustment?: number
  totalQuantity?: number
  childLocations?: readonly Node[]
}>

Then(
  /^the answer is (\d{3})(?: "(\w+)")?$/,
  function (this: StockWorld, status: string, word: string | null) {
    judge(this.last, status, word)
    if (Number(status) >= 400) isProblem(this.last)
  },
)

Then(
  /^every answer is (\d{3})(?: "(\w+)")?(?: within (\d+) s)?$/,
  function (this: StockWorld, status: string, word: string | null, limitS: string | null) {
    assert.ok(this.answers.length > 0)
    for (const answer of this.answers) {
      judge(answer, status, word)
      if (limitS !== null) assert.ok(answer.tookMs < Number(limitS) * 1000, `${answer.tookMs} ms`)
    }
    this.judged = this.answers
    this.answers = []
  },
)

Then(
  /^(\d+) answers? (?:is|are) (\d{3}) and (\d+) (?:is|are) (\d{3}) "(\w+)"$/,
  function (
    this: StockWorld,
    count: string,
    status: string,
    others: string,
    other: string,
    word: string,
  ) {
    const granted = this.answers.filter((answer) => answer.status === Number(status))
    const refused = this.answers.filter((answer) => answer.status !== Number(status))
    assert.deepEqual([granted.length, refused.length], [Number(count), Number(others)])
    for (const answer of refused) judge(answer, other, word)
  },
)

Then('the answer says:', function (this: StockWorld, table: { raw(): string[][] }) {
  for (const [path, value] of table.raw())
    assert.deepEqual(
      brief(at(this.last.json, path!)),
      meant(this, value!),
      `${path} in ${this.last.text}`,
    )
})

Then('the missing fields are {string}', function (this: StockWorld, fields: string) {
  assert.deepEqual(at(this.last.json, 'missingFields'), fields.split(', '), this.last.text)
})

Then('the invalid values are {string}', function (this: StockWorld, fields: string) {
  assert.deepEqual(at(this.last.json, 'invalidValues'), fields.split(', '), this.last.text)
})

Then(/^the answer is (not )?a replay$/, function (this: StockWorld, not: string | null) {
  const replayed = this.last.headers.get('idempotency-replayed')
  assert.equal(replayed, not === null ? 'true' : null)
})

Then('both answers are the same to the letter', function (this: StockWorld) {
  const [first, second] = this.answers.slice(-2)
  assert.deepEqual([second?.status, second?.text], [first?.status, first?.text])
})

Then('all answers are the same to the letter', function (this: StockWorld) {
  assert.ok(this.judged.length > 0)
  assert.equal(new Set(this.judged.map(({ text }) => text)).size, 1)
})

Then('both answers are the same but for their traces', function (this: StockWorld) {
  const [first, second] = this.answers.slice(-2).map(({ status, json }) => {
    const { traceId, ...body } = json as Record<string, unknown>
    assert.match(String(traceId), /^[0-9a-f]{32}$/)
    return { status, body }
  })
  assert.deepEqual(second, first)
})

Then(
  'the answer points to the same request at {string}',
  function (this: StockWorld, place: string) {
    const { path } = this.last.sent
    const elsewhere = path.replace(
      /^\/locations\/[^/]+/,
      `/locations/${encodeURIComponent(this.place(place))}`,
    )
    const pointed = this.last.headers.get('location')
    assert.ok(pointed !== null, 'no Location')
    assert.equal(new URL(pointed, 'http://here').pathname, elsewhere)
  },
)

Then('the answer has no header {string}', function (this: StockWorld, name: string) {
  assert.equal(this.last.headers.get(name), null)
})

Then('the journal has not grown', async function (this: StockWorld) {
  assert.equal(await this.position(), this.positionBefore)
})

Then(
  'inside {string} the answer has {string} with {float} of {float} and {float} pending',
  function (
    this: StockWorld,
    around: string,
    place: string,
    quantity: number,
    total: number,
    pending: number,
  ) {
    const node = nodeOf(this.last.json as Node, this.place(around))
    const child = node?.childLocations?.find(({ locationId }) => locationId === this.place(place))
    assert.ok(child !== undefined, this.last.text)
    assert.equal(child.quantity, quantity)
    assert.equal(child.totalQuantity, total)
    assert.equal(child.pendingAdjustment, pending === 0 ? undefined : pending)
  },
)

Then('the checks are all {string}', function (this: StockWorld, status: string) {
  const checks = at(this.last.json, 'checks') as readonly Readonly<{ status: string }>[]
  assert.ok(checks.length > 0)
  for (const check of checks) assert.equal(check.status, status)
})

Then('the check {string} is {string}', function (this: StockWorld, name: string, status: string) {
  const checks = at(this.last.json, 'checks') as readonly Readonly<{
    name: string
    status: string
  }>[]
  assert.equal(checks.find((check) => check.name === name)?.status, status, this.last.text)
})

Then('the counters of requests are noted', async function (this: StockWorld) {
  this.noted = { ...(await this.metrics()) }
})

Then(
  'the counter {string} has grown by {int}',
  async function (this: StockWorld, name: string, by: number) {
    const metrics = await this.metrics()
    const key = Object.keys(metrics).find((each) => each.includes(name))
    assert.ok(key !== undefined, `no ${name} among ${Object.keys(metrics).join(', ')}`)
    assert.equal(metrics[key]! - (this.noted[key] ?? 0), by)
  },
)

/** Every refusal is a problem as RFC 9457 has it, and never shows what is behind it. */
export function isProblem({ headers, json, text }: Answer): void {
  assert.match(headers.get('content-type') ?? '', /^application\/problem\+json/, text)
  for (const member of ['type', 'title', 'detail', 'traceId'])
    assert.equal(typeof at(json, member), 'string', `${member} in ${text}`)
  assert.doesNotMatch(text, /node_modules|\.ts:\d/)
}

function judge(answer: Answer, status: string, word: string | null): void {
  assert.equal(answer.status, Number(status), answer.text)
  if (word !== null) assert.equal(at(answer.json, 'status'), word, answer.text)
}

function nodeOf(node: Node, id: string): Node | undefined {
  if (node.locationId === id) return node
  for (const child of node.childLocations ?? []) {
    const found = nodeOf(child, id)
    if (found !== undefined) return found
  }
  return undefined
}

/** A moment is the same with and without its milliseconds, if there are none. */
function brief(value: unknown): unknown {
  return typeof value === 'string' ? value.replace(/(:\d\d)\.0+Z$/, '$1Z') : value
}

function meant(world: StockWorld, value: string): unknown {
  if (value === 'nothing') return undefined
  const name = /^(request|place|product) (.+)$/.exec(value)
  if (name?.[1] === 'request') return world.request(name[2]!)
  if (name?.[1] === 'place') return world.place(name[2]!)
  if (name?.[1] === 'product') return world.product(name[2]!)
  return /^-?\d+(?:\.\d+)?$/.test(value) ? Number(value) : value
}
