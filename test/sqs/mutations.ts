/**
 * Requests of SQS that are almost right: one of any action as it should be, with one or two things about it changed.
 * All of it by chance, so that a seed tells it again.
 *
 * What is done to messages and what is done to queues goes to queues of their own, so that whoever sends these knows
 * from the answers what must be there afterwards.
 */
import { sqsActions } from '../../src/broker/sqs/actions.ts'
import type { Random } from '../../src/std/index.ts'
import { jsonRequest, PROTOCOLS, queryRequest, type Protocol } from './calls.ts'

export type Mutated = Readonly<{
  action: string
  protocol: Protocol
  method: string
  path: string
  headers: Readonly<Record<string, string>>
  body: Buffer
  /** Nothing was changed. */
  isRight: boolean
  /** What says that it is for SQS was not changed. */
  isForSqs: boolean
  /** Which queue it is about, if it was not changed, and which message, if it is about one. */
  queue: string
  handle: string
}>

/** Where messages come and go, in order, with dead letters, and where nothing is kept. */
export const QUEUES = ['fuzz-main', 'fuzz-line.fifo', 'fuzz-dead', 'fuzz-frail'] as const
const CONFIGURED = 'fuzz-conf'
const WASTED = 'fuzz-waste'

type Input = Record<string, unknown>

export type Surroundings = Readonly<{
  draw: Random
  origin: string
  /** A handle that nobody has used, if there is one. */
  takeHandle(): Handle | undefined
}>

export type Handle = Readonly<{ handle: string; queue: string }>

export function drawn({ draw, origin, takeHandle }: Surroundings): Mutated {
  const action = draw.pick(ACTIONS)
  const protocol = draw.pick(PROTOCOLS)
  const taken = NEEDS_HANDLE.test(action) ? takeHandle() : undefined
  const { queue, handle } = taken ?? { queue: draw.pick(QUEUES), handle: 'made up' }
  const input = inputOf(action, { draw, origin, handle, name: queue })
  const isRight = draw.below(OFTEN_RIGHT.has(action) ? 2 : 10) === 0
  const what = isRight ? 'nothing' : draw.pick(CHANGES)
  if (what === 'input' || what === 'both') changeInput(input, draw)
  let { headers, body } =
    protocol === 'json' ? jsonRequest(action, input) : queryRequest(action, input)
  if (protocol === 'json' && draw.below(4) === 0)
    headers = { ...headers, 'x-amzn-query-mode': 'true' }
  if (what === 'bytes' || what === 'both') body = changedBytes(body, draw)
  if (what === 'fields') body = changedFields(body, protocol, draw)
  const plain = { action, protocol, method: 'POST', path: '/', headers, body, isRight }
  return {
    ...plain,
    isForSqs: what !== 'head',
    ...(what === 'head' && changedHead(plain, draw)),
    queue,
    handle,
  }
}

const ACTIONS = [
  ...sqsActions.keys(),
  // What changes most is asked most.
  'SendMessage',
  'SendMessageBatch',
  'ReceiveMessage',
  'ReceiveMessage',
  'DeleteMessage',
]
/** So that there is something to lose. */
const OFTEN_RIGHT = new Set(['ReceiveMessage', 'DeleteMessage'])
const NEEDS_HANDLE = /^(?:Delete|Change)Message/
const CHANGES = ['input', 'input', 'input', 'bytes', 'bytes', 'both', 'fields', 'head'] as const

function inputOf(
  action: string,
  {
    draw,
    origin,
    handle,
    name,
  }: Readonly<{ draw: Random; origin: string; handle: string; name: string }>,
): Input {
  const url = (of: string): string => `${origin}/000000000000/${of}`
  const QueueUrl = url(name)
  const conf = { QueueUrl: url(CONFIGURED) }
  const ids = name.endsWith('.fifo')
    ? { MessageGroupId: `g${draw.below(5)}`, MessageDeduplicationId: `d${draw.below(2 ** 32)}` }
    : {}
  const message = (): Input => ({
    MessageBody: draw.pick(TEXTS) || 'x',
    MessageAttributes: {
      'a.b': { DataType: 'String', StringValue: 'v' },
      Priority: { DataType: 'Number', StringValue: String(draw.below(300)) },
      bytes: { DataType: 'Binary', BinaryValue: 'AAEC' },
    },
    ...ids,
  })
  switch (action) {
    case 'AddPermission':
      return { ...conf, Label: `l${draw.below(8)}`, AWSAccountIds: ['1'], Actions: ['*'] }
    case 'RemovePermission':
      return { ...conf, Label: `l${draw.below(8)}` }
    case 'CancelMessageMoveTask':
      return { TaskHandle: Buffer.from('{"taskId":"x"}').toString('base64') }
    case 'StartMessageMoveTask':
      return { SourceArn: arn('fuzz-dead'), MaxNumberOfMessagesPerSecond: 1 + draw.below(500) }
    case 'ListMessageMoveTasks':
      return { SourceArn: arn('fuzz-dead'), MaxResults: 3 }
    case 'ChangeMessageVisibility':
      return { QueueUrl, ReceiptHandle: handle, VisibilityTimeout: 43_200 }
    case 'ChangeMessageVisibilityBatch':
      return { QueueUrl, Entries: [{ Id: 'a', ReceiptHandle: handle, VisibilityTimeout: 43_200 }] }
    case 'CreateQueue':
      return {
        QueueName: `fuzz-new-${draw.below(20)}`,
        Attributes: { VisibilityTimeout: '30', DelaySeconds: '5' },
        tags: { a: 'b' },
      }
    case 'DeleteMessage':
      return { QueueUrl, ReceiptHandle: handle }
    case 'DeleteMessageBatch':
      return { QueueUrl, Entries: [{ Id: 'a', ReceiptHandle: handle }] }
    case 'DeleteQueue':
    case 'PurgeQueue':
      return { QueueUrl: url(WASTED) }
    case 'GetQueueAttributes':
      return { QueueUrl, AttributeNames: ['All', 'QueueArn'] }
    case 'GetQueueUrl':
      return { QueueName: name, QueueOwnerAWSAccountId: '000000000000' }
    case 'ListDeadLetterSourceQueues':
      return { QueueUrl: url('fuzz-dead'), MaxResults: 5 }
    case 'ListQueues':
      return { QueueNamePrefix: 'fuzz-', MaxResults: 5 }
    case 'ReceiveMessage':
      return {
        QueueUrl,
        MaxNumberOfMessages: 1 + draw.below(10),
        VisibilityTimeout: 43_200,
        AttributeNames: ['All'],
        MessageAttributeNames: ['a.*', 'All'],
      }
    case 'SendMessage':
      return { QueueUrl, ...message() }
    case 'SendMessageBatch':
      return { QueueUrl, Entries: ['a', 'b', 'c'].map((Id) => ({ Id, ...message() })) }
    case 'SetQueueAttributes':
      return { ...conf, Attributes: { VisibilityTimeout: '7', Policy: '{"a":[1]}' } }
    case 'TagQueue':
      return { ...conf, Tags: { [`t${draw.below(60)}`]: 'v' } }
    case 'UntagQueue':
      return { ...conf, TagKeys: [`t${draw.below(60)}`] }
    default: // ListQueueTags
      return conf
  }
}

function arn(name: string): string {
  return `arn:aws:sqs:local:000000000000:${name}`
}

const TEXTS = [
  '',
  ' ',
  'x',
  '0',
  '-1',
  '1e999',
  '99999999999999999999',
  'NaN',
  'null',
  'größe 💥 \u202e\u0000',
  '\ud800',
  '\uffff\u0001',
  '<x>&amp;]]>',
  '%00%zz',
  '../../etc/passwd',
  '__proto__',
  'constructor',
  'toString',
  'AWS.x',
  'a'.repeat(300),
  'ü'.repeat(5_000),
  '{"a":',
  '{"redrivePermission":1}',
  'arn:aws:sqs:local:000000000000:fuzz-main',
] as const

const OTHERS: readonly unknown[] = [
  null,
  true,
  false,
  0,
  -1,
  0.5,
  1e300,
  -(2 ** 53),
  2 ** 31,
  43_201,
  [],
  {},
  [[]],
  [null],
  { a: { b: { c: 1 } } },
  [1, 'x', null],
  { __proto__x: 1, toString: 'x', '': '' },
]

/** One field of it, at any depth, is something else, is gone, or has company. */
function changeInput(input: Input, draw: Random): void {
  let at: Input | unknown[] = input
  for (;;) {
    const keys = Object.keys(at)
    if (keys.length === 0) break
    const key = draw.pick(keys)
    const inner: unknown = Reflect.get(at, key)
    if (typeof inner === 'object' && inner !== null && draw.below(3) > 0) {
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- an object of ours
      at = inner as Input | unknown[]
      continue
    }
    const way = draw.below(8)
    if (way === 0) Reflect.deleteProperty(at, key)
    else if (way === 1) Reflect.set(at, draw.pick(TEXTS), draw.pick(OTHERS))
    else if (way === 2) Reflect.set(at, key, nested(draw))
    else if (way === 3)
      Reflect.set(
        at,
        key,
        Array.from({ length: 1 + draw.below(30) }, () => inner),
      )
    else Reflect.set(at, key, draw.below(2) === 0 ? draw.pick(TEXTS) : draw.pick(OTHERS))
    return
  }
}

function nested(draw: Random): unknown {
  let value: unknown = draw.pick(TEXTS)
  const depth = draw.pick([2, 10, 31, 32, 33, 64, 500])
  const isList = draw.below(2) === 0
  for (let level = 0; level < depth; level++) value = isList ? [value] : { a: value }
  return value
}

const BITS = [
  '{',
  '}',
  '[',
  ']',
  '"',
  '\\',
  ',',
  ':',
  '&',
  '=',
  '%',
  '+',
  '\u0000',
  '\u00ff',
  '.1.',
] as const

function changedBytes(body: Buffer, draw: Random): Buffer {
  const at = draw.below(body.length + 1)
  const to = Math.min(body.length, at + 1 + draw.below(20))
  const [before, slice, rest] = [body.subarray(0, at), body.subarray(at, to), body.subarray(to)]
  switch (draw.below(8)) {
    case 0:
      return before
    case 1:
      return Buffer.concat([before, rest])
    case 2:
      return Buffer.concat([before, slice, slice, rest])
    case 3:
      return Buffer.concat([before, Buffer.from([draw.below(256), draw.below(256)]), slice, rest])
    case 4:
      return Buffer.concat([before, Buffer.from(draw.pick(BITS), 'latin1'), slice, rest])
    case 5:
      return Buffer.concat([Buffer.from('\ufeff'), body])
    case 6:
      return Buffer.from(body.toString('utf8').replace(/\d+/, '1'.repeat(1 + draw.below(400))))
    default: {
      const changed = Buffer.from(body)
      if (changed.length > 0) changed[draw.below(changed.length)] = draw.below(256)
      return changed
    }
  }
}

/** Something is said twice, in another order, or far too often. */
function changedFields(body: Buffer, protocol: Protocol, draw: Random): Buffer {
  const text = body.toString('utf8')
  if (protocol === 'json') {
    const twice = /"(\w+)":("[^"]*"|\d+)/.exec(text)?.[1] ?? 'QueueUrl'
    const other = JSON.stringify(draw.pick([...OTHERS, ...TEXTS]))
    const pair = `"${twice}":${other}`
    return Buffer.from(
      draw.below(2) === 0 ? text.replace('{', `{${pair},`) : text.replace(/\}$/, `,${pair}}`),
    )
  }
  const fields = text.split('&')
  const one = draw.pick(fields)
  const name = one.split('=')[0]!
  switch (draw.below(5)) {
    case 0:
      return Buffer.from(
        [...fields, `${name}=${encodeURIComponent(draw.pick(TEXTS).toWellFormed())}`].join('&'),
      )
    case 1:
      return Buffer.from([`${name}=again`, ...fields].join('&'))
    case 2:
      return Buffer.from(fields.toReversed().join('&'))
    case 3:
      return Buffer.from(
        text.replaceAll(/\.(\d+)/g, `.${draw.pick(['0', '-1', '99999999999', '1.1', ''])}`),
      )
    default:
      return Buffer.from(`${text}${`&${name}.7=x`.repeat(1 + draw.below(500))}`)
  }
}

type Head = Pick<Mutated, 'method' | 'path' | 'headers'>

function changedHead(
  { action, protocol, headers, method, path }: Head & Pick<Mutated, 'action' | 'protocol'>,
  draw: Random,
): Head {
  const same = { method, path, headers }
  const junk = draw.pick([
    '',
    'x',
    '\u00ff\u00fe',
    'a'.repeat(2_000),
    '{}',
    ';;;',
    '../..',
    'AmazonSQS.',
  ])
  switch (draw.below(8)) {
    case 0:
      return { ...same, method: draw.pick(['GET', 'PUT', 'DELETE', 'PATCH', 'HEAD', 'OPTIONS']) }
    case 1:
      return {
        ...same,
        path: draw.pick([
          '//',
          '/a/b/c',
          '/%2e%2e/x',
          '/000000000000/fuzz-main',
          '/000000000000/',
          '/?Action=ListQueues&Action=x',
          `/?Action=${junk ? encodeURIComponent(junk) : ''}`,
          '/?X-Amz-Signature=1',
        ]),
      }
    case 2:
      return { ...same, headers: { ...headers, 'content-type': junk } }
    case 3:
      return {
        ...same,
        headers: {
          ...headers,
          'x-amz-target': draw.pick([
            junk,
            `amazonsqs.${action}`,
            `AmazonSQS.${action}x`,
            `AmazonSQS.${action}, AmazonSQS.${action}`,
            'AmazonSQS',
            'DynamoDB_20120810.ListTables',
          ]),
        },
      }
    case 4:
      return {
        ...same,
        headers: {
          ...headers,
          // Of no region that there could be, so that no queue is made elsewhere.
          authorization: draw.pick([
            junk,
            'AWS4-HMAC-SHA256',
            'AWS4-HMAC-SHA256 Credential=a/b/../sqs/aws4_request',
            'Basic Og==',
            'Bearer x.y.z',
          ]),
        },
      }
    case 5:
      return {
        ...same,
        headers: {
          ...headers,
          host: draw.pick(['localhost', 'example.org', '127.0.0.1.example.org', 'x'.repeat(300)]),
        },
      }
    case 6: {
      const { 'x-amz-target': _, 'content-type': __, ...rest } = headers
      return {
        ...same,
        headers: { ...rest, ...(protocol === 'json' && { 'content-type': 'application/json' }) },
      }
    }
    default:
      return {
        ...same,
        headers: {
          ...headers,
          'x-amz-date': junk,
          'x-forwarded-proto': junk,
          'x-amz-content-sha256': junk,
          origin: draw.pick(['null', 'https://example.org']),
        },
      }
  }
}
