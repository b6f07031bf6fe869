import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import { HOST, jsonRequest, parseXml, queryRequest, sqs, urlOf } from '../../../test/sqs/calls.ts'
import type { RawHead, RawReply, RawRequest } from '../../http/index.ts'
import { fault } from '../../std/index.ts'
import { sqsActions } from './actions.ts'
import { SqsError, sqsErrors } from './errors.ts'
import { SQS_FIELD_NAME_CHARS_MAX, SQS_FIELDS_MAX } from './limits.ts'
import { QueryFields } from './query-fields.ts'
import { escaped, xmlAnswer, xmlError } from './xml.ts'

const FORM = 'application/x-www-form-urlencoded'

function headerOf({ head }: RawReply, name: string): string | undefined {
  const at = head.findIndex((one, index) => index % 2 === 0 && one === name)
  return at === -1 ? undefined : head[at + 1]
}

function form(body: string, more: Partial<RawRequest> = {}): Partial<RawRequest> {
  return { headers: { 'content-type': FORM }, body: Buffer.from(body), ...more }
}

const manyFields = (count: number): string =>
  Array.from({ length: count }, (_, at) => `f${at}=1`).join('&')

describe('the wire', () => {
  test('has all actions of SQS', () => {
    assert.equal(sqsActions.size, 23)
  })

  test('is for requests that are SQS’s, and leaves all others alone', async () => {
    await using scene = await sqs()
    const takes = (method: string, url: string, headers: RawHead['headers'] = {}): boolean =>
      scene.wire.accepts({ method, url, headers })
    const target = { 'x-amz-target': 'AmazonSQS.SendMessage' }
    assert.ok(takes('POST', '/', target))
    assert.ok(takes('POST', '/000000000000/orders', target))
    assert.ok(takes('POST', '/', { 'content-type': FORM }))
    assert.ok(takes('POST', '/42/orders', { 'content-type': `${FORM}; charset=utf-8` }))
    assert.ok(takes('GET', '/?Action=ListQueues'))
    assert.ok(takes('GET', '/42/orders?Version=1&Action=SendMessage'))
    assert.ok(!takes('GET', '/'))
    assert.ok(!takes('GET', '/42/orders'))
    assert.ok(!takes('GET', '/docs?Action=ListQueues'))
    assert.ok(!takes('POST', '/stock/moves', { 'content-type': FORM }))
    assert.ok(!takes('POST', '/stock/moves', { 'content-type': 'application/json' }))
    assert.ok(!takes('PUT', '/', target))
    assert.ok(!takes('POST', '/', { 'x-amz-target': 'DynamoDB_20120810.ListTables' }))
  })

  test('tells refusals of the server in the words of the protocol', async () => {
    await using scene = await sqs()
    const refuse = (headers: RawHead['headers'], code: string, status: number): RawReply =>
      scene.wire.refuse(
        { method: 'POST', url: '/', headers },
        fault('draining', code, {}) && { ...fault('internal', ''), code },
        status,
      )
    const json = refuse({ 'x-amz-target': 'AmazonSQS.SendMessage' }, 'draining', 503)
    assert.equal(json.status, 503)
    assert.equal(headerOf(json, 'x-amzn-query-error'), 'ServiceUnavailable;Receiver')
    const xml = refuse({}, 'body-too-large', 413)
    assert.equal(xml.status, 413)
    assert.equal(parseXml(xml.text).children[0]!.children[1]!.text, 'RequestEntityTooLarge')
    assert.equal(refuse({}, 'internal', 500).status, 500)
    assert.equal(refuse({}, 'header-too-large', 431).status, 400)
  })
})

describe('AWS JSON', () => {
  test('answers with its type, a request id and a body', async () => {
    await using scene = await sqs()
    const reply = await scene.send(jsonRequest('CreateQueue', { QueueName: 'orders' }))
    assert.equal(headerOf(reply, 'content-type'), 'application/x-amz-json-1.0')
    assert.match(headerOf(reply, 'x-amzn-RequestId') ?? '', /^[0-9a-f-]{36}$/)
    const empty = await scene.send(jsonRequest('DeleteQueue', { QueueUrl: urlOf('orders') }))
    assert.equal(empty.text, '{}')
    assert.equal(empty.label, 'sqs DeleteQueue')
  })

  test('names an error by type and by code', async () => {
    await using scene = await sqs()
    const reply = await scene.send(jsonRequest('DeleteQueue', { QueueUrl: urlOf('none') }))
    assert.equal(reply.status, 400)
    assert.deepEqual(JSON.parse(reply.text), {
      __type: 'com.amazonaws.sqs#QueueDoesNotExist',
      message: 'The specified queue does not exist.',
    })
    assert.equal(
      headerOf(reply, 'x-amzn-query-error'),
      'AWS.SimpleQueueService.NonExistentQueue;Sender',
    )
  })

  test('refuses what it cannot read, and never fails', async () => {
    await using scene = await sqs()
    await scene.send(jsonRequest('CreateQueue', { QueueName: 'orders' }))
    const { headers } = jsonRequest('SendMessage', {})
    const bodies: readonly (readonly [body: string | Buffer, message: RegExp])[] = [
      ['{', /not JSON/],
      ['[]', /Start of list/],
      ['"x"', /STRING_VALUE can not be converted to a structure or map/],
      ['1', /NUMBER_VALUE/],
      [Buffer.from([0xff, 0xfe]), /UTF-8/],
      ['['.repeat(200), /nested/],
      ['{"__proto__":{}}', /prototype/],
      ['{"QueueUrl":1}', /NUMBER_VALUE can not be converted to a String/],
      ['{"QueueUrl":{}}', /Start of structure or map/],
      ['{"QueueUrl":[]}', /Start of list/],
      ['{"QueueUrl":true}', /TRUE_VALUE/],
      ['{"DelaySeconds":"1"}', /STRING_VALUE can not be converted to an Integer/],
      ['{"DelaySeconds":1.5}', /DECIMAL_VALUE can not be converted to an Integer/],
      ['{"MessageAttributes":[]}', /Start of list/],
      ['{"MessageAttributes":{"a":"b"}}', /STRING_VALUE/],
      ['{"MessageAttributes":{"a":{"StringValue":1}}}', /NUMBER_VALUE/],
    ]
    for (const [body, message] of bodies) {
      const reply = await scene.send({ headers, body: Buffer.from(body) })
      assert.equal(reply.status, 400, String(body))
      const said = JSON.parse(reply.text)
      assert.equal(said['__type'], 'com.amazon.coral.service#SerializationException')
      assert.match(said.message, message)
    }
    const nothing = await scene.send({ headers, body: Buffer.alloc(0) })
    assert.equal(headerOf(nothing, 'x-amzn-query-error'), 'MissingParameter;Sender')
    const nulls = {
      QueueUrl: urlOf('orders'),
      MessageBody: 'x',
      DelaySeconds: null,
      MessageAttributes: null,
    }
    assert.equal((await scene.send(jsonRequest('SendMessage', nulls))).status, 200)
  })

  test('refuses an action that there is not', async () => {
    await using scene = await sqs()
    for (const target of [
      'AmazonSQS.Nothing',
      'AmazonSQS',
      'AmazonSQS.',
      'AmazonSQS.constructor',
      'AmazonSQSx.SendMessage',
    ]) {
      const reply = await scene.send({ headers: { 'x-amz-target': target } })
      assert.equal(reply.status, 400)
      assert.equal(headerOf(reply, 'x-amzn-query-error'), 'InvalidAction;Sender')
      assert.equal(reply.label, 'sqs none')
    }
  })
})

describe('the query protocol', () => {
  test('answers with XML that has a result, or none', async () => {
    await using scene = await sqs()
    const made = await scene.send(queryRequest('CreateQueue', { QueueName: 'orders' }))
    assert.equal(headerOf(made, 'content-type'), 'text/xml')
    const id = headerOf(made, 'x-amzn-RequestId')
    assert.equal(
      made.text,
      '<?xml version="1.0"?><CreateQueueResponse xmlns="http://queue.amazonaws.com/doc/2012-11-05/">' +
        `<CreateQueueResult><QueueUrl>http://${HOST}/000000000000/orders</QueueUrl></CreateQueueResult>` +
        `<ResponseMetadata><RequestId>${id}</RequestId></ResponseMetadata></CreateQueueResponse>`,
    )
    const gone = await scene.send(queryRequest('DeleteQueue', { QueueUrl: urlOf('orders') }))
    assert.ok(!gone.text.includes('Result'))
  })

  test('takes the queue from the path, and the action from the query', async () => {
    await using scene = await sqs()
    await scene.send(form('Action=CreateQueue&QueueName=orders'))
    const path = '/000000000000/orders'
    assert.equal(
      (await scene.send(form('Action=SendMessage&MessageBody=a+b%2B', { url: path }))).status,
      200,
    )
    const url = `${path}?Action=ReceiveMessage&Version=2012-11-05`
    const got = await scene.send({ method: 'GET', url })
    assert.match(got.text, /<Body>a b\+<\/Body>/)
    const nowhere = await scene.send({ method: 'GET', url: '/?Action=ReceiveMessage' })
    assert.match(nowhere.text, /<Code>MissingParameter<\/Code>.*QueueUrl/)
  })

  test('refuses what it cannot read, and never fails', async () => {
    await using scene = await sqs()
    const cases: readonly (readonly [body: string, code: string])[] = [
      ['', 'MissingAction'],
      ['Action=', 'MissingAction'],
      ['Action=Nothing', 'InvalidAction'],
      ['Action=__proto__', 'InvalidAction'],
      ['Action=ListQueues&x=%', 'MalformedInput'],
      ['Action=ListQueues&x=%ff', 'MalformedInput'],
      ['Action=ListQueues&MaxResults=ten', 'InvalidParameterValue'],
      ['Action=ListQueues&MaxResults=1e3', 'InvalidParameterValue'],
      ['Action=CreateQueue&QueueName=a&Attribute.1.Name=DelaySeconds', 'MalformedInput'],
      ['Action=CreateQueue&QueueName=a&Attribute.1.Value=1', 'MalformedInput'],
      ['Action=SendMessage&QueueUrl=x', 'InvalidAddress'],
    ]
    for (const [body, code] of cases) {
      const reply = await scene.send(form(body))
      const [error] = parseXml(reply.text).children
      assert.equal(error!.children[1]!.text, code, body)
      assert.equal(error!.children[0]!.text, 'Sender')
      assert.ok(reply.status >= 400 && reply.status < 500)
    }
  })

  test('has so many fields, with names so long, and no more', () => {
    new QueryFields().add(manyFields(SQS_FIELDS_MAX))
    assert.throws(() => new QueryFields().add(manyFields(SQS_FIELDS_MAX + 1)), SqsError)
    new QueryFields().add(`${'n'.repeat(SQS_FIELD_NAME_CHARS_MAX)}=1`)
    assert.throws(
      () => new QueryFields().add(`${'n'.repeat(SQS_FIELD_NAME_CHARS_MAX + 1)}=1`),
      SqsError,
    )
  })

  test('counts a list from one, and ends where one is missing', () => {
    const fields = new QueryFields()
    fields.add('A.1=a&A.2.B=b&A.4=d&A.0=z&x&=y&A.1=again')
    assert.deepEqual([...fields.indexes('A')], ['A.1', 'A.2'])
    assert.equal(fields.get('A.1'), 'a')
    assert.equal(fields.get('x'), '')
  })
})

describe('XML', () => {
  test('escapes what would be something else', () => {
    assert.equal(
      escaped(`<a b="c" d='e'>&\r\n\t`),
      '&lt;a b=&quot;c&quot; d=&apos;e&apos;&gt;&amp;&#xD;\n\t',
    )
    assert.equal(escaped('\u0000\ud800\uffff\u001f'), '\ufffd'.repeat(4))
    assert.equal(escaped('grüße 🚀'), 'grüße 🚀')
  })

  // The SDK for JavaScript of before AWS JSON reads no other, and then finds that the MD5 of a body is wrong.
  test('writes a carriage return as the entity that old clients know', () => {
    assert.equal(escaped('a\r\nb'), 'a&#xD;\nb')
  })

  test('is well-formed, whatever is in it', () => {
    const body = ']]><!--&#0;</Body>"\u0001'
    const answer = xmlAnswer(
      'ReceiveMessage',
      { Messages: [{ Body: body, Attributes: { [body]: body }, Missing: undefined }] },
      'id',
    )
    const message = parseXml(answer).children[0]!.children[0]!
    assert.equal(message.name, 'Message')
    assert.equal(message.children[0]!.text, body.replace('\u0001', '\ufffd'))
    assert.equal(message.children[1]!.children[0]!.text, body.replace('\u0001', '\ufffd'))
    parseXml(xmlError(new SqsError('InvalidAction', body), 'id'))
  })
})

describe('errors', () => {
  test('have a name that says whose they are, a code, a status and a text', () => {
    for (const [name, { type, code, status, text }] of Object.entries(sqsErrors)) {
      assert.match(type, /^com\.amazon(?:aws\.sqs|\.coral\.service)#\w+$/, name)
      assert.match(code, /^(?:AWS\.SimpleQueueService\.)?\w+$/)
      assert.ok(status >= 400 && status < 600)
      assert.ok(text.length > 0)
    }
  })
})
