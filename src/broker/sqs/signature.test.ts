import assert from 'node:assert/strict'
import { createHmac, hash } from 'node:crypto'
import { describe, test } from 'node:test'

import { HOST, jsonRequest, parseXml, sqs, type Sqs } from '../../../test/sqs/calls.ts'
import {
  KEY,
  refusesChanged,
  SIGNED_AT,
  vectors,
  type Signed,
} from '../../../test/sqs/signatures.ts'
import type { RawRequest } from '../../http/index.ts'
import { freshSeed } from '../../std/index.ts'
import { SqsError } from './errors.ts'
import { SQS_SKEW_MS_MAX } from './limits.ts'
import { claimOf, SigningKeys } from './signature.ts'

function kindOf(request: Signed, nowMs = SIGNED_AT, secret = KEY.secretAccessKey): string {
  try {
    const claim = claimOf(request)
    if (claim === undefined) return 'none'
    new SigningKeys().verify(request, claim, { secret, nowMs })
    return 'right'
  } catch (error) {
    if (error instanceof SqsError) return error.kind
    throw error
  }
}

/** By hand, for what no client would sign. */
function signedByHand(
  change: Partial<Record<'method' | 'url', string>> & {
    headers?: Record<string, string>
    body?: string
  } = {},
  {
    signedHeaders = 'host;x-amz-date;x-amz-target',
    scope = '20260101/local/sqs/aws4_request',
  } = {},
): Signed {
  const body = Buffer.from(change.body ?? '{}')
  const headers: Record<string, string> = {
    host: HOST,
    'x-amz-date': '20260101T000000Z',
    'x-amz-target': 'AmazonSQS.ListQueues',
    ...change.headers,
  }
  const { method = 'POST', url = '/' } = change
  const lines = signedHeaders.split(';').map((name) => `${name}:${headers[name] ?? ''}\n`)
  const canonical = `${method}\n${url}\n\n${lines.join('')}\n${signedHeaders}\n${hash('sha256', body)}`
  const time = headers['x-amz-date'] ?? ''
  const key = scope
    .split('/')
    .reduce<string | Buffer>(
      (before, part) => createHmac('sha256', before).update(part).digest(),
      `AWS4${KEY.secretAccessKey}`,
    )
  const signature = createHmac('sha256', key)
    .update(`AWS4-HMAC-SHA256\n${time}\n${scope}\n${hash('sha256', canonical)}`)
    .digest('hex')
  headers['authorization'] =
    `AWS4-HMAC-SHA256 Credential=${KEY.accessKeyId}/${scope}, SignedHeaders=${signedHeaders}, Signature=${signature}`
  return { method, url, headers, body }
}

async function ask(
  scene: Sqs,
  request: Partial<RawRequest>,
): Promise<readonly [number, string | undefined]> {
  const reply = await scene.send(request)
  const at = reply.head.indexOf('x-amzn-query-error')
  return [reply.status, at === -1 ? undefined : reply.head[at + 1]]
}

const signed = (action: string, input: object): Signed =>
  signedByHand({
    headers: { 'x-amz-target': `AmazonSQS.${action}` },
    body: JSON.stringify(input),
  })

const url = (name: string): string => `http://${HOST}/000000000000/${name}`

describe('a signature', () => {
  for (const { name, ...request } of vectors)
    test(`of the SDK is right: ${name}`, () => {
      assert.equal(kindOf(request), 'right')
      assert.equal(kindOf(request, SIGNED_AT, 'another'), 'SignatureDoesNotMatch')
    })

  test('made by hand is right, so that what follows is wrong for one reason', () => {
    assert.equal(kindOf(signedByHand()), 'right')
  })

  test('is good for a quarter of an hour either way, and no longer', () => {
    const request = signedByHand()
    for (const way of [1, -1]) {
      assert.equal(kindOf(request, SIGNED_AT + way * SQS_SKEW_MS_MAX), 'right')
      assert.equal(
        kindOf(request, SIGNED_AT + way * (SQS_SKEW_MS_MAX + 1)),
        'SignatureDoesNotMatch',
      )
    }
  })

  test('of a link is good for as long as the link says', () => {
    const { name: _, ...link } = vectors.find(({ name }) => name === 'a link')!
    assert.equal(kindOf(link, SIGNED_AT + 3_600_000), 'right')
    assert.equal(kindOf(link, SIGNED_AT + 3_600_001), 'RequestExpired')
    assert.equal(kindOf(link, SIGNED_AT - SQS_SKEW_MS_MAX - 1), 'SignatureDoesNotMatch')
    const longer = { ...link, url: link.url.replace('X-Amz-Expires=3600', 'X-Amz-Expires=7200') }
    assert.equal(kindOf(longer), 'SignatureDoesNotMatch')
    for (const seconds of ['0', '604801', '-1', 'x', ''])
      assert.equal(
        kindOf({ ...link, url: link.url.replace('=3600', `=${seconds}`) }),
        'IncompleteSignature',
      )
  })

  test('knows its times: a leap day, the end of a century, the end of a year', () => {
    for (const [time, ms] of [
      ['19700101T000000Z', 0],
      ['20240229T120000Z', 1_709_208_000_000],
      ['20991231T235959Z', 4_102_444_799_000],
      ['21000301T000000Z', 4_107_542_400_000],
    ] as const) {
      const request = signedByHand(
        { headers: { 'x-amz-date': time } },
        { scope: `${time.slice(0, 8)}/local/sqs/aws4_request` },
      )
      assert.equal(kindOf(request, ms + SQS_SKEW_MS_MAX), 'right', time)
      assert.equal(kindOf(request, ms + SQS_SKEW_MS_MAX + 1), 'SignatureDoesNotMatch', time)
    }
  })

  test('covers the host and everything that Amazon’s headers say', () => {
    const without = (signedHeaders: string): string => kindOf(signedByHand({}, { signedHeaders }))
    assert.equal(without('x-amz-date;x-amz-target'), 'SignatureDoesNotMatch')
    assert.equal(without('host;x-amz-date'), 'SignatureDoesNotMatch')
    const more = signedByHand({ headers: { 'x-amz-security-token': 't' } })
    assert.equal(kindOf(more), 'SignatureDoesNotMatch')
  })

  test('names a header that is there', () => {
    const request = signedByHand({}, { signedHeaders: 'host;x-amz-date;x-amz-target;x-other' })
    assert.equal(kindOf(request), 'SignatureDoesNotMatch')
  })

  test('that cannot be read is said to be incomplete', () => {
    const { headers, ...rest } = signedByHand()
    const authorization = headers['authorization']!
    const cases: readonly (readonly [from: string | RegExp, to: string])[] = [
      ['AWS4-HMAC-SHA256', 'AWS4-HMAC-SHA512'],
      ['AWS4-HMAC-SHA256', 'Bearer'],
      [/, SignedHeaders=[^,]*/, ''],
      ['/sqs/', '/sns/'],
      ['aws4_request', 'aws4'],
      ['20260101', '20260102'],
      ['SignedHeaders=host', 'SignedHeaders=HOST'],
    ]
    for (const [from, to] of cases) {
      const changed = authorization.replace(from, to)
      assert.notEqual(changed, authorization)
      assert.equal(
        kindOf({ ...rest, headers: { ...headers, authorization: changed } }),
        'IncompleteSignature',
        changed,
      )
    }
    const { 'x-amz-date': __, ...undated } = headers
    assert.equal(kindOf({ ...rest, headers: undated }), 'IncompleteSignature')
  })

  test('that was changed anywhere is refused, 20 000 times', (t) => {
    const seed = freshSeed()
    t.diagnostic(`seed ${seed}`)
    const reasons = refusesChanged(seed, 20_000)
    for (const reason of ['SignatureDoesNotMatch', 'IncompleteSignature', 'InvalidClientTokenId'])
      assert.ok((reasons.get(reason) ?? 0) > 100, reason)
  })
})

describe('keys', () => {
  test('let in who has one, in the region of the signature', async () => {
    await using scene = await sqs({ keys: [KEY] })
    await scene.broker.create({ account: '000000000000', region: 'eu-central-1', name: 'orders' })
    const reply = await scene.send(vectors[0]!)
    assert.deepEqual(JSON.parse(reply.text), { QueueUrls: [`http://${HOST}/000000000000/orders`] })
    const other = await scene.send(vectors.find(({ name }) => name === 'the query protocol')!)
    assert.equal(other.status, 200)
    assert.ok(!other.text.includes('orders'))
    assert.equal((await scene.send(vectors.find(({ name }) => name === 'a link')!)).status, 200)
  })

  test('turn away who has none, another, or a wrong signature', async () => {
    await using scene = await sqs({ keys: [{ ...KEY, accessKeyId: 'OTHER' }] })
    assert.deepEqual(await ask(scene, jsonRequest('ListQueues', {})), [
      403,
      'MissingAuthenticationToken;Sender',
    ])
    assert.deepEqual(await ask(scene, vectors[0]!), [403, 'InvalidClientTokenId;Sender'])
    await using right = await sqs({ keys: [KEY] })
    assert.deepEqual(await ask(right, { ...vectors[0]!, body: Buffer.from('{ }') }), [
      403,
      'SignatureDoesNotMatch;Sender',
    ])
    right.clock.advance(SQS_SKEW_MS_MAX + 1)
    assert.deepEqual(await ask(right, vectors[0]!), [403, 'SignatureDoesNotMatch;Sender'])
  })

  test('are asked for in the query protocol as well', async () => {
    await using scene = await sqs({ keys: [KEY] })
    const reply = await scene.send({
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      body: Buffer.from('Action=ListQueues'),
    })
    assert.equal(reply.status, 403)
    assert.equal(parseXml(reply.text).children[0]?.children[1]?.text, 'MissingAuthenticationToken')
  })

  test('may do what their rules allow and none denies', async () => {
    const policy = [
      { effect: 'allow', actions: ['Send*', 'sqs:ListQueues'], queues: ['*'] },
      { effect: 'deny', actions: ['*'], queues: ['secret-*'] },
    ] as const
    await using scene = await sqs({ keys: [{ ...KEY, policy }] })
    for (const name of ['orders', 'secret-1'])
      await scene.broker.create({ account: '000000000000', region: 'local', name })
    const cases: readonly (readonly [action: string, input: object, status: number])[] = [
      ['SendMessage', { QueueUrl: url('orders'), MessageBody: 'x' }, 200],
      [
        'SendMessageBatch',
        { QueueUrl: url('orders'), Entries: [{ Id: 'a', MessageBody: 'x' }] },
        200,
      ],
      ['ListQueues', {}, 200],
      ['ReceiveMessage', { QueueUrl: url('orders') }, 403],
      ['SendMessage', { QueueUrl: url('secret-1'), MessageBody: 'x' }, 403],
      ['CreateQueue', { QueueName: 'more' }, 403],
      ['StartMessageMoveTask', { SourceArn: 'arn:aws:sqs:local:000000000000:orders' }, 403],
    ]
    for (const [action, input, status] of cases) {
      const [got, code] = await ask(scene, signed(action, input))
      assert.equal(got, status, action)
      if (status === 403) assert.equal(code, 'AccessDenied;Sender')
    }
  })

  test('of an account are for its queues, and name who has sent', async () => {
    await using scene = await sqs({ keys: [{ ...KEY, account: '111111111111' }] })
    const made = await scene.send(signed('CreateQueue', { QueueName: 'orders' }))
    const QueueUrl = `http://${HOST}/111111111111/orders`
    assert.deepEqual(JSON.parse(made.text), { QueueUrl })
    await scene.send(signed('SendMessage', { QueueUrl, MessageBody: 'x' }))
    const got = await scene.send(
      signed('ReceiveMessage', { QueueUrl, AttributeNames: ['SenderId'] }),
    )
    assert.deepEqual(JSON.parse(got.text).Messages[0].Attributes, { SenderId: KEY.accessKeyId })
    const elsewhere = { QueueUrl: `http://${HOST}/000000000000/orders` }
    assert.deepEqual(await ask(scene, signed('DeleteQueue', elsewhere)), [
      403,
      'AccessDenied;Sender',
    ])
  })
})

describe('without keys', () => {
  test('a page of another site is turned away', async () => {
    await using scene = await sqs()
    const request = jsonRequest('ListQueues', {})
    const statusWith = async (headers: Record<string, string>): Promise<number> =>
      (await scene.send({ ...request, headers: { ...request.headers, ...headers } })).status
    assert.equal(await statusWith({}), 200)
    assert.equal(await statusWith({ origin: `http://${HOST}` }), 200)
    assert.equal(await statusWith({ 'sec-fetch-site': 'none' }), 200)
    assert.equal(await statusWith({ host: '127.0.0.1:9324' }), 200)
    assert.equal(await statusWith({ host: 'sqs.eu-west-1.localhost' }), 200)
    assert.equal(await statusWith({ origin: 'https://example.org' }), 403)
    assert.equal(await statusWith({ 'sec-fetch-site': 'cross-site' }), 403)
    assert.equal(await statusWith({ host: 'example.org' }), 403)
    assert.equal(await statusWith({ host: 'localhost.example.org' }), 403)
  })

  test('the region is the one a client signs for, whatever its key', async () => {
    await using scene = await sqs()
    const { headers } = vectors[0]!
    const east = scene.in('json', { authorization: headers['authorization']! })
    await east('CreateQueue', { QueueName: 'orders' })
    assert.deepEqual((await scene.in('json')('ListQueues')).output, {})
    assert.equal((await east('ListQueues')).output.QueueUrls.length, 1)
  })
})
