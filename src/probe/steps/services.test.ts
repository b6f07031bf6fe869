import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { describe, test } from 'node:test'

import { Accident } from '../../std/index.ts'
import { secret } from '../secrets/secret.ts'
import { secretHandlers } from './secret-service.ts'
import { serve, type EventCondition, type ServiceName } from './services.ts'
import { QUERY_CONDITIONS_MAX, SERVICE_SHAPES, STEP_WAIT_MS_MAX } from './shapes.ts'

/** Answers with what it was asked. */
function echo(input: unknown): Promise<never> {
  return Promise.resolve(input as never)
}

const ALL: Readonly<Record<ServiceName, (input: unknown) => Promise<never>>> = {
  topic: echo,
  'create-topic': echo,
  cluster: echo,
  schema: echo,
  produce: echo,
  position: echo,
  query: echo,
  'await-events': echo,
  'group-lag': echo,
  secret: echo,
  http: echo,
}

async function codeOf(name: string, input: unknown): Promise<string> {
  try {
    await serve(ALL).call(name, input)
    return 'served'
  } catch (error) {
    assert.ok(error instanceof Accident)
    return error.code
  }
}

describe('what steps ask for', () => {
  const waiting = { topic: 't', count: 1, is: 'at-least', withinMs: 5 }
  const condition: EventCondition = { of: 'value', path: '$.a', test: { type: 'exists' } }

  test('is served when it is what the contract says', async () => {
    const good: readonly (readonly [ServiceName, object])[] = [
      ['topic', { topic: 't' }],
      ['topic', { topic: 't', cluster: 'c' }],
      ['create-topic', { topic: 't', partitions: 1 }],
      ['cluster', { name: 'c' }],
      ['schema', { topic: 't', of: 'key', format: 'cloudevent' }],
      ['produce', { topic: 't', value: null, headers: { a: 'b' }, key: { any: 1 } }],
      ['position', {}],
      ['query', { topic: 't', where: [condition], after: 0, since: 0 }],
      ['query', { topic: 't', where: [{ ...condition, test: { type: 'equals', value: 1 } }] }],
      ['query', { topic: 't', where: [{ ...condition, test: { type: 'contains', text: '' } }] }],
      ['query', { topic: 't', where: [{ ...condition, test: { type: 'less', than: 1 } }] }],
      ['await-events', waiting],
      ['group-lag', { topic: 't', group: 'g' }],
      ['secret', { name: 's', field: 'password' }],
      ['http', { method: 'GET', url: 'http://a.test' }],
    ]
    for (const [name, input] of good) assert.equal(await codeOf(name, input), 'served', name)
  })

  test('is refused when it is anything else', async () => {
    const bad: readonly (readonly [ServiceName, unknown])[] = [
      ['topic', undefined],
      ['topic', 'text'],
      ['topic', []],
      ['topic', { topic: '' }],
      ['topic', { topic: 't', more: 1 }],
      ['create-topic', { topic: 't', partitions: 0 }],
      ['create-topic', { topic: 't', partitions: 1.5 }],
      ['schema', { topic: 't', of: 'header', format: 'avro' }],
      ['produce', { topic: 't', value: 1, headers: { a: 1 } }],
      ['produce', { topic: 't', value: 1, correlation: null }],
      ['produce', { topic: 't' }],
      ['position', { topic: 't' }],
      ['query', { topic: 't', where: {} }],
      ['query', { topic: 't', where: [{ ...condition, of: 'header' }] }],
      ['query', { topic: 't', where: [{ ...condition, test: { type: 'matches', pattern: 'a' } }] }],
      ['query', { topic: 't', where: [{ ...condition, test: { type: 'equals' } }] }],
      ['await-events', { ...waiting, is: 'about' }],
      ['await-events', { ...waiting, count: -1 }],
      ['http', { method: 'TRACE', url: 'http://a.test' }],
    ]
    for (const [name, input] of bad)
      assert.equal(await codeOf(name, input), 'bad-service-input', JSON.stringify([name, input]))
  })

  test('is refused in words that name the field, and what it has to be', async () => {
    for (const [name, input, words] of [
      ['produce', 'text', /^'produce' needs an object of fields$/],
      ['produce', { value: 1 }, /^'produce' needs the field topic$/],
      ['produce', { topic: 't', valeu: 1 }, /^'produce' has no field valeu; its fields are topic,/],
      ['position', { topic: 't' }, /^'position' has no field topic; it has none$/],
      ['await-events', { ...waiting, withinMs: '5' }, /^the field withinMs of 'await-events' has/],
      ['await-events', { ...waiting, is: 'about' }, /has to be one of at-least, exactly, at-most$/],
    ] as const)
      await assert.rejects(serve(ALL).call(name, input), { message: words })
    await assert.rejects(serve(ALL).call('prodce', {}), {
      message: /^steps cannot ask for 'prodce'.*topic, create-topic, .*http/,
    })
  })

  test('has the names and fields of docs/reference/steps.md', () => {
    const page = readFileSync('docs/reference/steps.md', 'utf8')
    const [, table = ''] = page.split('## What ask can be asked for')
    const inDocs = [...table.matchAll(/^\| `([^`]+)` \| ([^|]*) \|/gm)].map(
      ([, name, input = '']) => [name, [...input.matchAll(/`([^`]+)`/g)].map(([, field]) => field)],
    )
    const inCode = Object.entries(SERVICE_SHAPES).map(([name, shape]) => [
      name,
      Object.entries(shape).map(([field, { isOptional }]) => (isOptional ? `${field}?` : field)),
    ])
    assert.deepEqual(inDocs, inCode)
  })

  test('is bounded: how long to wait, and how many conditions', async () => {
    for (const [over, code] of [
      [0, 'served'],
      [1, 'bad-service-input'],
    ] as const) {
      const wait = { ...waiting, withinMs: STEP_WAIT_MS_MAX + over }
      assert.equal(await codeOf('await-events', wait), code)
      const where = Array.from({ length: QUERY_CONDITIONS_MAX + over }, () => condition)
      assert.equal(await codeOf('query', { topic: 't', where }), code)
    }
  })

  test('is refused by name where nobody serves it', async () => {
    for (const name of ['', 'nothing', 'toString', '__proto__'])
      assert.equal(await codeOf(name, {}), 'no-such-service')
    await assert.rejects(serve({}).call('secret', { name: 's' }), { code: 'no-such-service' })
  })
})

describe('secrets for steps', () => {
  test('are those the directive names, and masked from then on', async () => {
    const known: string[] = []
    const services = serve(
      secretHandlers({
        secrets: new Map([['db', new Map([['password', secret('db', 'p-1')]])]]),
        mask: { add: (value) => void known.push(value), text: (text) => text },
      }),
    )
    assert.equal(await services.call('secret', { name: 'db', field: 'password' }), 'p-1')
    assert.deepEqual(known, ['p-1'])
    await assert.rejects(services.call('secret', { name: 'other', field: 'password' }), {
      code: 'secret-denied',
      message: /steps may not have the secret other.*under secrets in the directive/,
    })
    await assert.rejects(services.call('secret', { name: 'db' }), {
      code: 'secret-denied',
      message: /the secret db has no field value.*its fields: password/,
    })
  })
})
