import assert from 'node:assert/strict'
import { hash } from 'node:crypto'
import { describe, test } from 'node:test'

import {
  ACCOUNT,
  arnOf,
  jsonRequest,
  PROTOCOLS,
  settled,
  sqs,
  urlOf,
  type Answer,
  type Ask,
  type Sqs,
} from '../../../test/sqs/calls.ts'

const QueueUrl = urlOf('orders')

function refusedWith(answer: Answer, code: string, message?: string | RegExp): void {
  assert.equal(answer.code, code, answer.text)
  if (typeof message === 'string') assert.equal(answer.message, message)
  else if (message !== undefined) assert.match(answer.message ?? '', message)
}

/** Both protocols, each with a queue of its own. */
function inBoth(name: string, rule: (ask: Ask, scene: Sqs) => Promise<void>): void {
  for (const protocol of PROTOCOLS)
    test(`${name} (${protocol})`, async () => {
      await using scene = await sqs()
      const ask = scene.in(protocol)
      await ask('CreateQueue', { QueueName: 'orders' })
      await rule(ask, scene)
    })
}

async function fifoQueue(ask: Ask, attributes: Record<string, string> = {}): Promise<string> {
  const Attributes = { FifoQueue: 'true', ...attributes }
  const { output } = await ask('CreateQueue', { QueueName: 'lanes.fifo', Attributes })
  return output.QueueUrl
}

const entries = (count: number): object[] =>
  Array.from({ length: count }, (_, at) => ({ Id: `i${at}`, MessageBody: 'x' }))

const entry = (Id: string, MessageBody: string): object => ({ Id, MessageBody })

describe('SendMessage', () => {
  inBoth('answers with an id and the MD5 of the body', async (ask) => {
    const { status, output } = await ask('SendMessage', {
      QueueUrl,
      MessageBody: 'grüße <&> "\r\n',
    })
    assert.equal(status, 200)
    assert.match(output.MessageId, /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/)
    assert.deepEqual(output, {
      MessageId: output.MessageId,
      MD5OfMessageBody: hash('md5', 'grüße <&> "\r\n'),
    })
  })

  inBoth('answers with the MD5s of attributes, and gives them back', async (ask) => {
    const MessageAttributes = {
      Author: { DataType: 'String', StringValue: 'Ann' },
      Size: { DataType: 'Number.int', StringValue: '12' },
      Raw: { DataType: 'Binary', BinaryValue: 'AAEC/w==' },
    }
    const MessageSystemAttributes = {
      AWSTraceHeader: {
        DataType: 'String',
        StringValue: 'Root=1-5759e988-bd862e3fe1be46a994272793',
      },
    }
    const sent = await ask('SendMessage', {
      QueueUrl,
      MessageBody: 'x',
      MessageAttributes,
      MessageSystemAttributes,
    })
    assert.match(sent.output.MD5OfMessageSystemAttributes, /^[0-9a-f]{32}$/)
    const { output } = await ask('ReceiveMessage', {
      QueueUrl,
      MessageAttributeNames: ['All'],
      MessageSystemAttributeNames: ['AWSTraceHeader'],
    })
    const [message] = output.Messages
    assert.deepEqual(message.MessageAttributes, MessageAttributes)
    assert.equal(message.MD5OfMessageAttributes, sent.output.MD5OfMessageAttributes)
    assert.deepEqual(message.Attributes, {
      AWSTraceHeader: 'Root=1-5759e988-bd862e3fe1be46a994272793',
    })
  })

  inBoth('refuses what is no message', async (ask) => {
    const cases: readonly (readonly [input: object, code: string, message?: string | RegExp])[] = [
      [{}, 'MissingParameter', 'The request must contain the parameter MessageBody.'],
      [
        { MessageBody: '' },
        'MissingParameter',
        'The request must contain the parameter MessageBody.',
      ],
      [{ MessageBody: 'a\u0001b' }, 'InvalidMessageContents', /^Invalid characters found/],
      [{ MessageBody: '\ufffe' }, 'InvalidMessageContents'],
      [
        { MessageBody: 'x', DelaySeconds: 901 },
        'InvalidParameterValue',
        'Value 901 for parameter DelaySeconds is invalid. Reason: DelaySeconds must be >= 0 and <= 900.',
      ],
      [{ MessageBody: 'x', DelaySeconds: -1 }, 'InvalidParameterValue'],
      [
        { MessageBody: 'x', MessageDeduplicationId: 'd' },
        'InvalidParameterValue',
        'Value d for parameter MessageDeduplicationId is invalid. Reason: The request includes a parameter that is not valid for this queue type.',
      ],
      [
        { MessageBody: 'x', MessageGroupId: 'a b' },
        'InvalidParameterValue',
        /alphanumeric and punctuation/,
      ],
      [{ MessageBody: 'x', MessageGroupId: 'g'.repeat(129) }, 'InvalidParameterValue'],
    ]
    for (const [input, code, message] of cases)
      refusedWith(await ask('SendMessage', { QueueUrl, ...input }), code, message)
    const elsewhere = await ask('SendMessage', { QueueUrl: urlOf('none'), MessageBody: 'x' })
    refusedWith(elsewhere, 'AWS.SimpleQueueService.NonExistentQueue')
    refusedWith(
      await ask('SendMessage', { QueueUrl: 'orders', MessageBody: 'x' }),
      'InvalidAddress',
      'The address orders is not valid for this endpoint.',
    )
  })

  inBoth('takes the largest body and the longest delay, and nothing beyond', async (ask) => {
    const largest = 'x'.repeat(1_048_576)
    assert.equal((await ask('SendMessage', { QueueUrl, MessageBody: largest })).status, 200)
    refusedWith(
      await ask('SendMessage', { QueueUrl, MessageBody: `${largest}x` }),
      'InvalidParameterValue',
      'One or more parameters are invalid. Reason: Message must be shorter than 1048576 bytes.',
    )
    const late = await ask('SendMessage', { QueueUrl, MessageBody: 'x', DelaySeconds: 900 })
    assert.equal(late.status, 200)
    const group = await ask('SendMessage', {
      QueueUrl,
      MessageBody: 'x',
      MessageGroupId: 'g'.repeat(128),
    })
    assert.equal(group.status, 200)
  })

  inBoth('counts attributes as part of the size', async (ask) => {
    await ask('SetQueueAttributes', { QueueUrl, Attributes: { MaximumMessageSize: '1024' } })
    // name 1, type 6, value 1
    const MessageAttributes = { a: { DataType: 'String', StringValue: 'b' } }
    const input = { QueueUrl, MessageAttributes }
    assert.equal(
      (await ask('SendMessage', { ...input, MessageBody: 'x'.repeat(1_016) })).status,
      200,
    )
    refusedWith(
      await ask('SendMessage', { ...input, MessageBody: 'x'.repeat(1_017) }),
      'InvalidParameterValue',
      /shorter than 1024 bytes/,
    )
  })

  inBoth('hides a message for as long as it says', async (ask, scene) => {
    await ask('SendMessage', { QueueUrl, MessageBody: 'x', DelaySeconds: 5 })
    await scene.pass(4_999)
    assert.deepEqual((await ask('ReceiveMessage', { QueueUrl })).output, {})
    await scene.pass(1)
    assert.equal((await ask('ReceiveMessage', { QueueUrl })).output.Messages.length, 1)
  })

  inBoth('orders by the attribute for priority', async (ask) => {
    const send = (MessageBody: string, priority?: string, DataType = 'Number'): Promise<Answer> =>
      ask('SendMessage', {
        QueueUrl,
        MessageBody,
        ...(priority !== undefined && {
          MessageAttributes: { Priority: { DataType, StringValue: priority } },
        }),
      })
    await send('none')
    await send('1', '1')
    await send('255', '255')
    await send('too much', '256')
    await send('a word', 'high', 'String')
    const { output } = await ask('ReceiveMessage', { QueueUrl, MaxNumberOfMessages: 10 })
    const bodies = output.Messages.map(({ Body }: { Body: string }) => Body)
    assert.deepEqual(bodies, ['255', '1', 'none', 'too much', 'a word'])
  })

  inBoth('takes another attribute for priority by a tag of the queue', async (ask) => {
    await ask('TagQueue', { QueueUrl, Tags: { 'broker:priority-attribute': 'Rank' } })
    for (const name of ['Priority', 'Rank'])
      await ask('SendMessage', {
        QueueUrl,
        MessageBody: name,
        MessageAttributes: { [name]: { DataType: 'Number', StringValue: '9' } },
      })
    const { output } = await ask('ReceiveMessage', { QueueUrl })
    assert.equal(output.Messages[0].Body, 'Rank')
  })
})

describe('SendMessageBatch', () => {
  inBoth('answers for each, in what it did and what it did not', async (ask) => {
    const { output } = await ask('SendMessageBatch', {
      QueueUrl,
      Entries: [
        { Id: 'a', MessageBody: 'one' },
        { Id: 'b', MessageBody: 'two\u0000' },
        { Id: 'c', MessageBody: 'x', DelaySeconds: 901 },
      ],
    })
    assert.deepEqual(
      output.Successful.map(({ Id, MD5OfMessageBody }: Record<string, string>) => [
        Id,
        MD5OfMessageBody,
      ]),
      [['a', hash('md5', 'one')]],
    )
    assert.deepEqual(
      output.Failed.map(({ Id, SenderFault, Code }: Record<string, unknown>) => [
        Id,
        SenderFault,
        Code,
      ]),
      [
        ['b', true, 'InvalidMessageContents'],
        ['c', true, 'InvalidParameterValue'],
      ],
    )
  })

  inBoth('leaves out a list that is empty', async (ask) => {
    const good = await ask('SendMessageBatch', {
      QueueUrl,
      Entries: [{ Id: 'a', MessageBody: 'x' }],
    })
    assert.deepEqual(Object.keys(good.output), ['Successful'])
    const bad = await ask('SendMessageBatch', {
      QueueUrl,
      Entries: [{ Id: 'a', MessageBody: '\u0001' }],
    })
    assert.deepEqual(Object.keys(bad.output), ['Failed'])
  })

  inBoth('is refused as a whole where its entries do not make a batch', async (ask) => {
    const cases: readonly (readonly [Entries: object[], code: string, message?: string])[] = [
      [
        [],
        'EmptyBatchRequest',
        'There should be at least one SendMessageBatchRequestEntry in the request.',
      ],
      [
        entries(11),
        'TooManyEntriesInBatchRequest',
        'Maximum number of entries per request are 10. You have sent 11.',
      ],
      [[...entries(1), ...entries(1)], 'BatchEntryIdsNotDistinct', 'Id i0 repeated.'],
      [[{ Id: 'a.b', MessageBody: 'x' }], 'InvalidBatchEntryId'],
      [[{ Id: '', MessageBody: 'x' }], 'InvalidBatchEntryId'],
      [[{ Id: 'i'.repeat(81), MessageBody: 'x' }], 'InvalidBatchEntryId'],
    ]
    for (const [Entries, code, message] of cases)
      refusedWith(
        await ask('SendMessageBatch', { QueueUrl, Entries }),
        `AWS.SimpleQueueService.${code}`,
        message,
      )
    assert.equal((await ask('SendMessageBatch', { QueueUrl, Entries: entries(10) })).status, 200)
    const long = [{ Id: 'i'.repeat(80), MessageBody: 'x' }]
    assert.equal((await ask('SendMessageBatch', { QueueUrl, Entries: long })).status, 200)
    refusedWith(
      await ask('SendMessageBatch', { QueueUrl, Entries: [{ MessageBody: 'x' }] }),
      'MissingParameter',
    )
  })

  inBoth('has a megabyte of messages at most', async (ask) => {
    const half = 'x'.repeat(524_288)
    const full = await ask('SendMessageBatch', {
      QueueUrl,
      Entries: [entry('a', half), entry('b', half)],
    })
    assert.equal(full.status, 200)
    refusedWith(
      await ask('SendMessageBatch', {
        QueueUrl,
        Entries: [entry('a', half), entry('b', `${half}x`)],
      }),
      'AWS.SimpleQueueService.BatchRequestTooLong',
      'Batch requests cannot be longer than 1048576 bytes. You have sent 1048577 bytes.',
    )
  })
})

describe('ReceiveMessage', () => {
  inBoth('gives what is asked for and leaves out what there is none of', async (ask, scene) => {
    assert.deepEqual((await ask('ReceiveMessage', { QueueUrl })).output, {})
    const { output: sent } = await ask('SendMessage', { QueueUrl, MessageBody: 'x' })
    await scene.pass(10)
    const { output } = await ask('ReceiveMessage', { QueueUrl, AttributeNames: ['All'] })
    const [message] = output.Messages
    assert.equal(message.MessageId, sent.MessageId)
    assert.equal(message.MD5OfBody, sent.MD5OfMessageBody)
    assert.deepEqual(message.Attributes, {
      SenderId: ACCOUNT,
      SentTimestamp: String(scene.clock.now() - 10),
      ApproximateReceiveCount: '1',
      ApproximateFirstReceiveTimestamp: String(scene.clock.now()),
    })
    assert.ok(!('MessageAttributes' in message))
  })

  inBoth('refuses numbers beyond what there is, in Amazon’s words', async (ask) => {
    const cases: readonly (readonly [input: object, message: string])[] = [
      [
        { MaxNumberOfMessages: 11 },
        'Value 11 for parameter MaxNumberOfMessages is invalid. Reason: Must be between 1 and 10, if provided.',
      ],
      [
        { MaxNumberOfMessages: 0 },
        'Value 0 for parameter MaxNumberOfMessages is invalid. Reason: Must be between 1 and 10, if provided.',
      ],
      [
        { WaitTimeSeconds: 21 },
        'Value 21 for parameter WaitTimeSeconds is invalid. Reason: Must be >= 0 and <= 20, if provided.',
      ],
      [
        { WaitTimeSeconds: -1 },
        'Value -1 for parameter WaitTimeSeconds is invalid. Reason: Must be >= 0 and <= 20, if provided.',
      ],
      [
        { VisibilityTimeout: 43_201 },
        'Value 43201 for parameter VisibilityTimeout is invalid. Reason: Must be >= 0 and <= 43200, if provided.',
      ],
      [
        { ReceiveRequestAttemptId: 'a' },
        'Value a for parameter ReceiveRequestAttemptId is invalid. Reason: The request includes a parameter that is not valid for this queue type.',
      ],
    ]
    for (const [input, message] of cases)
      refusedWith(
        await ask('ReceiveMessage', { QueueUrl, ...input }),
        'InvalidParameterValue',
        message,
      )
    refusedWith(
      await ask('ReceiveMessage', { QueueUrl, AttributeNames: ['Colour'] }),
      'InvalidAttributeName',
      'Unknown Attribute Colour.',
    )
    refusedWith(
      await ask('ReceiveMessage', { QueueUrl: urlOf('none') }),
      'AWS.SimpleQueueService.NonExistentQueue',
    )
    await ask('SendMessage', { QueueUrl, MessageBody: 'x' })
    const most = { MaxNumberOfMessages: 10, WaitTimeSeconds: 20, VisibilityTimeout: 43_200 }
    assert.equal((await ask('ReceiveMessage', { QueueUrl, ...most })).output.Messages.length, 1)
  })

  inBoth('waits for a message, and ends without one in time', async (ask, scene) => {
    const waiting = ask('ReceiveMessage', { QueueUrl, WaitTimeSeconds: 20 })
    await scene.pass(19_000)
    await ask('SendMessage', { QueueUrl, MessageBody: 'x' })
    assert.equal((await waiting).output.Messages.length, 1)
    const inVain = ask('ReceiveMessage', { QueueUrl, WaitTimeSeconds: 20 })
    await scene.pass(20_000)
    assert.deepEqual((await inVain).output, {})
  })

  inBoth('waits as long as the queue says, if it says nothing', async (ask, scene) => {
    await ask('SetQueueAttributes', {
      QueueUrl,
      Attributes: { ReceiveMessageWaitTimeSeconds: '20' },
    })
    const waiting = ask('ReceiveMessage', { QueueUrl })
    await scene.pass(19_999)
    await ask('SendMessage', { QueueUrl, MessageBody: 'x' })
    assert.equal((await waiting).output.Messages.length, 1)
  })

  test('that was left gives its message to the next', async () => {
    await using scene = await sqs()
    const ask = scene.in('json')
    await ask('CreateQueue', { QueueName: 'orders' })
    const leaving = new AbortController()
    const request = jsonRequest('ReceiveMessage', { QueueUrl, WaitTimeSeconds: 20 })
    const left = scene.send({ ...request, signal: leaving.signal })
    await settled()
    leaving.abort()
    assert.equal((await left).text, '{}')
    await ask('SendMessage', { QueueUrl, MessageBody: 'x' })
    const { output } = await ask('ReceiveMessage', {
      QueueUrl,
      AttributeNames: ['ApproximateReceiveCount'],
    })
    assert.equal(output.Messages[0].Attributes.ApproximateReceiveCount, '1')
  })

  inBoth('gives attributes by name, by beginning, and all', async (ask, scene) => {
    const value = { DataType: 'String', StringValue: 'v' }
    await ask('SendMessage', {
      QueueUrl,
      MessageBody: 'x',
      MessageAttributes: { foo: value, 'foo.bar': value, other: value },
    })
    const names = async (wanted: string[]): Promise<string[]> => {
      const { output } = await ask('ReceiveMessage', {
        QueueUrl,
        VisibilityTimeout: 0,
        MessageAttributeNames: wanted,
      })
      await scene.pass(1)
      return Object.keys(output.Messages[0].MessageAttributes ?? {})
    }
    assert.deepEqual(await names(['All']), ['foo', 'foo.bar', 'other'])
    assert.deepEqual(await names(['.*']), ['foo', 'foo.bar', 'other'])
    assert.deepEqual(await names(['foo.*']), ['foo', 'foo.bar'])
    assert.deepEqual(await names(['other', 'none']), ['other'])
    assert.deepEqual(await names([]), [])
  })
})

async function received(ask: Ask, url = QueueUrl): Promise<string> {
  await ask('SendMessage', {
    QueueUrl: url,
    MessageBody: 'x',
    ...(url.endsWith('.fifo') && { MessageGroupId: 'g', MessageDeduplicationId: 'd' }),
  })
  const { output } = await ask('ReceiveMessage', { QueueUrl: url })
  return output.Messages[0].ReceiptHandle
}

describe('DeleteMessage', () => {
  inBoth('deletes, and once more is the same', async (ask, scene) => {
    const ReceiptHandle = await received(ask)
    for (let time = 0; time < 2; time++) {
      const { status, output } = await ask('DeleteMessage', { QueueUrl, ReceiptHandle })
      assert.equal(status, 200)
      assert.deepEqual(output, {})
    }
    await scene.pass(60_000)
    assert.deepEqual((await ask('ReceiveMessage', { QueueUrl })).output, {})
  })

  inBoth('refuses what is no handle of this queue', async (ask) => {
    const ReceiptHandle = await received(ask)
    refusedWith(
      await ask('DeleteMessage', { QueueUrl, ReceiptHandle: 'garbage' }),
      'ReceiptHandleIsInvalid',
      'The input receipt handle "garbage" is not a valid receipt handle.',
    )
    refusedWith(await ask('DeleteMessage', { QueueUrl }), 'MissingParameter')
    await ask('CreateQueue', { QueueName: 'others' })
    refusedWith(
      await ask('DeleteMessage', { QueueUrl: urlOf('others'), ReceiptHandle }),
      'ReceiptHandleIsInvalid',
    )
    refusedWith(
      await ask('DeleteMessage', { QueueUrl: urlOf('none'), ReceiptHandle }),
      'AWS.SimpleQueueService.NonExistentQueue',
    )
  })

  inBoth('by an old handle deletes only what nobody holds', async (ask, scene) => {
    const old = await received(ask)
    await scene.pass(30_000)
    const { output } = await ask('ReceiveMessage', { QueueUrl })
    assert.equal((await ask('DeleteMessage', { QueueUrl, ReceiptHandle: old })).status, 200)
    await scene.pass(30_000)
    assert.equal((await ask('ReceiveMessage', { QueueUrl })).output.Messages.length, 1)
    await scene.pass(30_000)
    const { ReceiptHandle } = output.Messages[0]
    assert.equal((await ask('DeleteMessage', { QueueUrl, ReceiptHandle })).status, 200)
    assert.deepEqual((await ask('ReceiveMessage', { QueueUrl })).output, {})
  })

  inBoth('of a FIFO queue is refused once its time is over', async (ask, scene) => {
    const url = await fifoQueue(ask)
    const ReceiptHandle = await received(ask, url)
    await scene.pass(30_000)
    refusedWith(
      await ask('DeleteMessage', { QueueUrl: url, ReceiptHandle }),
      'InvalidParameterValue',
      `Value ${ReceiptHandle} for parameter ReceiptHandle is invalid. Reason: The receipt handle has expired.`,
    )
  })
})

describe('DeleteMessageBatch', () => {
  inBoth('answers for each', async (ask) => {
    const ReceiptHandle = await received(ask)
    const { output } = await ask('DeleteMessageBatch', {
      QueueUrl,
      Entries: [
        { Id: 'a', ReceiptHandle },
        { Id: 'b', ReceiptHandle: 'garbage' },
      ],
    })
    assert.deepEqual(output.Successful, [{ Id: 'a' }])
    assert.deepEqual(output.Failed, [
      {
        Id: 'b',
        SenderFault: true,
        Code: 'ReceiptHandleIsInvalid',
        Message: 'The input receipt handle "garbage" is not a valid receipt handle.',
      },
    ])
    refusedWith(
      await ask('DeleteMessageBatch', { QueueUrl }),
      'AWS.SimpleQueueService.EmptyBatchRequest',
      'There should be at least one DeleteMessageBatchRequestEntry in the request.',
    )
    refusedWith(
      await ask('DeleteMessageBatch', {
        QueueUrl: urlOf('none'),
        Entries: [{ Id: 'a', ReceiptHandle }],
      }),
      'AWS.SimpleQueueService.NonExistentQueue',
    )
  })
})

describe('ChangeMessageVisibility', () => {
  inBoth('counts from this moment on, and 0 gives it back at once', async (ask, scene) => {
    const ReceiptHandle = await received(ask)
    await scene.pass(20_000)
    const change = { QueueUrl, ReceiptHandle, VisibilityTimeout: 43_180 }
    assert.equal((await ask('ChangeMessageVisibility', change)).status, 200)
    refusedWith(
      await ask('ChangeMessageVisibility', { ...change, VisibilityTimeout: 43_181 }),
      'InvalidParameterValue',
      'Value 43181 for parameter VisibilityTimeout is invalid. Reason: Total VisibilityTimeout for the message is beyond the limit [43200 seconds].',
    )
    await scene.pass(43_179_000)
    assert.deepEqual((await ask('ReceiveMessage', { QueueUrl })).output, {})
    await ask('ChangeMessageVisibility', { ...change, VisibilityTimeout: 0 })
    assert.equal((await ask('ReceiveMessage', { QueueUrl })).output.Messages.length, 1)
  })

  inBoth('refuses what is not in flight, not a handle, or too long', async (ask, scene) => {
    const ReceiptHandle = await received(ask)
    const change = { QueueUrl, ReceiptHandle, VisibilityTimeout: 10 }
    refusedWith(
      await ask('ChangeMessageVisibility', { ...change, VisibilityTimeout: 43_201 }),
      'InvalidParameterValue',
      'Value 43201 for parameter VisibilityTimeout is invalid. Reason: Must be between 0 and 43200, if provided.',
    )
    refusedWith(
      await ask('ChangeMessageVisibility', { QueueUrl, ReceiptHandle }),
      'MissingParameter',
      'The request must contain the parameter VisibilityTimeout.',
    )
    refusedWith(
      await ask('ChangeMessageVisibility', { ...change, ReceiptHandle: 'x' }),
      'ReceiptHandleIsInvalid',
    )
    await scene.pass(30_000)
    refusedWith(
      await ask('ChangeMessageVisibility', change),
      'AWS.SimpleQueueService.MessageNotInflight',
      /Message does not exist or is not available for visibility timeout change\.$/,
    )
  })
})

describe('ChangeMessageVisibilityBatch', () => {
  inBoth('answers for each', async (ask) => {
    const ReceiptHandle = await received(ask)
    const { output } = await ask('ChangeMessageVisibilityBatch', {
      QueueUrl,
      Entries: [
        { Id: 'a', ReceiptHandle, VisibilityTimeout: 0 },
        { Id: 'b', ReceiptHandle, VisibilityTimeout: 43_201 },
        { Id: 'c', ReceiptHandle: 'garbage', VisibilityTimeout: 1 },
      ],
    })
    assert.deepEqual(output.Successful, [{ Id: 'a' }])
    const codes = output.Failed.map(({ Id, Code }: Record<string, string>) => [Id, Code])
    assert.deepEqual(codes, [
      ['b', 'InvalidParameterValue'],
      ['c', 'ReceiptHandleIsInvalid'],
    ])
    assert.equal((await ask('ReceiveMessage', { QueueUrl })).output.Messages.length, 1)
    refusedWith(
      await ask('ChangeMessageVisibilityBatch', { QueueUrl, Entries: [] }),
      'AWS.SimpleQueueService.EmptyBatchRequest',
    )
  })
})

describe('a FIFO queue', () => {
  inBoth('numbers its messages, and tells one that was sent before', async (ask, scene) => {
    const url = await fifoQueue(ask)
    const message = {
      QueueUrl: url,
      MessageBody: 'x',
      MessageGroupId: 'g',
      MessageDeduplicationId: 'd',
    }
    const first = await ask('SendMessage', message)
    assert.match(first.output.SequenceNumber, /^\d{20}$/)
    await scene.pass(299_999)
    const again = await ask('SendMessage', { ...message, MessageBody: 'other' })
    assert.equal(again.output.MessageId, first.output.MessageId)
    assert.equal(again.output.SequenceNumber, first.output.SequenceNumber)
    await scene.pass(1)
    const later = await ask('SendMessage', message)
    assert.ok(later.output.SequenceNumber > first.output.SequenceNumber)
    const { output } = await ask('ReceiveMessage', { QueueUrl: url, AttributeNames: ['All'] })
    assert.equal(output.Messages[0].Attributes.MessageGroupId, 'g')
    assert.equal(output.Messages[0].Attributes.MessageDeduplicationId, 'd')
    assert.equal(output.Messages[0].Attributes.SequenceNumber, first.output.SequenceNumber)
  })

  inBoth('knows content by its hash, if it is told to', async (ask) => {
    const url = await fifoQueue(ask, { ContentBasedDeduplication: 'true' })
    const send = (MessageBody: string): Promise<Answer> =>
      ask('SendMessage', { QueueUrl: url, MessageBody, MessageGroupId: 'g' })
    const [one, two, three] = [await send('x'), await send('x'), await send('y')]
    assert.equal(one.output.MessageId, two.output.MessageId)
    assert.notEqual(one.output.MessageId, three.output.MessageId)
    const { output } = await ask('ReceiveMessage', { QueueUrl: url, AttributeNames: ['All'] })
    assert.equal(output.Messages[0].Attributes.MessageDeduplicationId, hash('sha256', 'x'))
  })

  inBoth('tells ids apart by group, if it is told to', async (ask) => {
    const url = await fifoQueue(ask, { DeduplicationScope: 'messageGroup' })
    const send = (MessageGroupId: string): Promise<Answer> =>
      ask('SendMessage', {
        QueueUrl: url,
        MessageBody: 'x',
        MessageGroupId,
        MessageDeduplicationId: 'd',
      })
    const [one, other, again] = [await send('a'), await send('b'), await send('a')]
    assert.notEqual(one.output.MessageId, other.output.MessageId)
    assert.equal(one.output.MessageId, again.output.MessageId)
  })

  inBoth('holds a group while one of its messages is in flight', async (ask) => {
    const url = await fifoQueue(ask, { ContentBasedDeduplication: 'true' })
    for (const [MessageGroupId, MessageBody] of [
      ['a', '1'],
      ['a', '2'],
      ['b', '3'],
    ] as const)
      await ask('SendMessage', { QueueUrl: url, MessageBody, MessageGroupId })
    const next = async (): Promise<string | undefined> =>
      (await ask('ReceiveMessage', { QueueUrl: url })).output.Messages?.[0].Body
    assert.deepEqual([await next(), await next(), await next()], ['1', '3', undefined])
  })

  inBoth('gives the same messages again to the same attempt', async (ask) => {
    const url = await fifoQueue(ask, { ContentBasedDeduplication: 'true' })
    await ask('SendMessage', { QueueUrl: url, MessageBody: 'x', MessageGroupId: 'g' })
    const attempt = { QueueUrl: url, ReceiveRequestAttemptId: 'a'.repeat(128) }
    const [one, two] = [await ask('ReceiveMessage', attempt), await ask('ReceiveMessage', attempt)]
    assert.equal(one.output.Messages[0].MessageId, two.output.Messages[0].MessageId)
  })

  inBoth('refuses a message without a group, without an id, and with a delay', async (ask) => {
    const url = await fifoQueue(ask)
    const whole = {
      QueueUrl: url,
      MessageBody: 'x',
      MessageGroupId: 'g',
      MessageDeduplicationId: 'd',
    }
    const { MessageGroupId: _, ...noGroup } = whole
    const { MessageDeduplicationId: __, ...noId } = whole
    refusedWith(
      await ask('SendMessage', noGroup),
      'MissingParameter',
      'The request must contain the parameter MessageGroupId.',
    )
    refusedWith(
      await ask('SendMessage', noId),
      'InvalidParameterValue',
      'The queue should either have ContentBasedDeduplication enabled or MessageDeduplicationId provided explicitly',
    )
    refusedWith(
      await ask('SendMessage', { ...whole, DelaySeconds: 1 }),
      'InvalidParameterValue',
      'Value 1 for parameter DelaySeconds is invalid. Reason: The request include parameter that is not valid for this queue type.',
    )
    refusedWith(
      await ask('SendMessageBatch', {
        QueueUrl: url,
        Entries: [{ Id: 'a', MessageBody: 'x', MessageDeduplicationId: 'd' }],
      }),
      'MissingParameter',
    )
  })

  inBoth('does not look at priorities', async (ask) => {
    const url = await fifoQueue(ask, { ContentBasedDeduplication: 'true' })
    await ask('SendMessage', { QueueUrl: url, MessageBody: 'first', MessageGroupId: 'g' })
    await ask('SendMessage', {
      QueueUrl: url,
      MessageBody: 'second',
      MessageGroupId: 'g',
      MessageAttributes: { Priority: { DataType: 'Number', StringValue: '255' } },
    })
    const { output } = await ask('ReceiveMessage', { QueueUrl: url })
    assert.equal(output.Messages[0].Body, 'first')
  })
})

describe('dead letters', () => {
  inBoth('keep their id and say where they died', async (ask, scene) => {
    await ask('CreateQueue', { QueueName: 'dead' })
    const RedrivePolicy = JSON.stringify({ deadLetterTargetArn: arnOf('dead'), maxReceiveCount: 2 })
    await ask('SetQueueAttributes', { QueueUrl, Attributes: { RedrivePolicy } })
    const sent = await ask('SendMessage', { QueueUrl, MessageBody: 'x' })
    for (let time = 0; time < 2; time++) {
      assert.equal((await ask('ReceiveMessage', { QueueUrl })).output.Messages.length, 1)
      await scene.pass(30_000)
    }
    await settled()
    assert.deepEqual((await ask('ReceiveMessage', { QueueUrl })).output, {})
    const { output } = await ask('ReceiveMessage', {
      QueueUrl: urlOf('dead'),
      AttributeNames: ['All'],
    })
    assert.equal(output.Messages[0].MessageId, sent.output.MessageId)
    assert.equal(output.Messages[0].Attributes.DeadLetterQueueSourceArn, arnOf('orders'))
  })

  inBoth('are none without a policy', async (ask, scene) => {
    await ask('SendMessage', { QueueUrl, MessageBody: 'x' })
    for (let time = 0; time < 10; time++) {
      assert.equal((await ask('ReceiveMessage', { QueueUrl })).output.Messages?.length, 1)
      await scene.pass(30_000)
    }
  })
})

describe('relaxed limits', () => {
  test('allow what the broker can do', async () => {
    await using scene = await sqs({ limits: 'relaxed' })
    const ask = scene.in('json')
    await ask('CreateQueue', { QueueName: 'orders' })
    const Entries = Array.from({ length: 1_000 }, (_, at) => ({ Id: `i${at}`, MessageBody: 'x' }))
    assert.equal(
      (await ask('SendMessageBatch', { QueueUrl, Entries })).output.Successful.length,
      1_000,
    )
    const { output } = await ask('ReceiveMessage', { QueueUrl, MaxNumberOfMessages: 1_000 })
    assert.equal(output.Messages.length, 1_000)
    refusedWith(
      await ask('ReceiveMessage', { QueueUrl, MaxNumberOfMessages: 1_001 }),
      'InvalidParameterValue',
    )
    refusedWith(
      await ask('ReceiveMessage', { QueueUrl, WaitTimeSeconds: 61 }),
      'InvalidParameterValue',
    )
    const more = [...Entries, { Id: 'more', MessageBody: 'x' }]
    refusedWith(
      await ask('SendMessageBatch', { QueueUrl, Entries: more }),
      'AWS.SimpleQueueService.TooManyEntriesInBatchRequest',
    )
    const long = { QueueUrl, MessageBody: 'x', DelaySeconds: 2_592_000 }
    assert.equal((await ask('SendMessage', long)).status, 200)
    refusedWith(
      await ask('SendMessage', { ...long, DelaySeconds: 2_592_001 }),
      'InvalidParameterValue',
    )
  })
})
