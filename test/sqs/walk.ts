/**
 * Everything that SQS can be asked, by one client, each answer held against what must be so. What was proven is
 * noted as it is proven: an action that a client does not have leaves its place empty.
 */
import assert from 'node:assert/strict'
import { hash } from 'node:crypto'

import { until } from '../acceptance/until.ts'
import type { Client } from './clients.ts'

export type Walked = Readonly<{
  client: Client
  /** What the names of its queues begin with. */
  prefix: string
  endpoint: string
  region: string
  proven: Set<string>
}>

type Given = Readonly<Record<string, unknown>>

const ACCOUNT = '000000000000'
/** What nothing takes that is not stuck. */
const SETTLED_MS_MAX = 60_000
/** What XML, forms and JSON each have to write in their own way. */
const BODY = 'größe & <b>"x"</b> \']]>\' \t\n\r\n 100 % + \\ 💥'
const ATTRIBUTES = {
  colour: { DataType: 'String', StringValue: 'blau & grün' },
  weight: { DataType: 'Number.float', StringValue: '1.50' },
  thumb: {
    DataType: 'Binary',
    BinaryValue: { $bytes: Buffer.from([0, 255, 128, 10]).toString('base64') },
  },
}

export async function walk(walked: Walked): Promise<void> {
  await queues(walked)
  await messages(walked)
  await batches(walked)
  await fifo(walked)
  await deadLetters(walked)
  await ends(walked)
}

/** Asks, and is given what was answered; an error is none of what is expected here. */
export async function ask({ client }: Walked, action: string, input: Given): Promise<Answer> {
  const { output, error } = await client.ask(action, input)
  assert.equal(error, undefined, `${action}: ${JSON.stringify(error)}`)
  return output
}

// oxlint-disable-next-line typescript/no-explicit-any -- tests know what they asked for
type Answer = any

export function urlIn({ endpoint, prefix }: Walked, name: string): string {
  return `${endpoint}/${ACCOUNT}/${prefix}${name}`
}

function arnIn({ region, prefix }: Walked, name: string): string {
  return `arn:aws:sqs:${region}:${ACCOUNT}:${prefix}${name}`
}

async function queues(walked: Walked): Promise<void> {
  const { prefix, proven } = walked
  const QueueUrl = urlIn(walked, 'jobs')
  const wanted = {
    QueueName: `${prefix}jobs`,
    Attributes: { VisibilityTimeout: '45', Policy: '' },
    tags: { team: 'a & b', stage: 'test' },
  }
  assert.deepEqual(await ask(walked, 'CreateQueue', wanted), { QueueUrl })
  assert.deepEqual(await ask(walked, 'CreateQueue', wanted), { QueueUrl })
  proven.add('CreateQueue')

  assert.deepEqual(await ask(walked, 'GetQueueUrl', { QueueName: `${prefix}jobs` }), { QueueUrl })
  proven.add('GetQueueUrl')

  await ask(walked, 'CreateQueue', { QueueName: `${prefix}jobs-2` })
  const first = await ask(walked, 'ListQueues', { QueueNamePrefix: prefix, MaxResults: 1 })
  assert.deepEqual(first.QueueUrls, [QueueUrl])
  const rest = await ask(walked, 'ListQueues', {
    QueueNamePrefix: prefix,
    MaxResults: 1,
    NextToken: first.NextToken,
  })
  assert.deepEqual(rest.QueueUrls, [urlIn(walked, 'jobs-2')])
  proven.add('ListQueues')

  const told = await ask(walked, 'GetQueueAttributes', { QueueUrl, AttributeNames: ['All'] })
  assert.equal(told.Attributes.VisibilityTimeout, '45')
  assert.equal(told.Attributes.QueueArn, arnIn(walked, 'jobs'))
  assert.equal(told.Attributes.ApproximateNumberOfMessages, '0')
  proven.add('GetQueueAttributes')

  await ask(walked, 'SetQueueAttributes', { QueueUrl, Attributes: { VisibilityTimeout: '50' } })
  const some = await ask(walked, 'GetQueueAttributes', {
    QueueUrl,
    AttributeNames: ['VisibilityTimeout', 'DelaySeconds'],
  })
  assert.deepEqual(some.Attributes, { VisibilityTimeout: '50', DelaySeconds: '0' })
  proven.add('SetQueueAttributes')

  await ask(walked, 'TagQueue', { QueueUrl, Tags: { owner: 'ada <x>', stage: 'live' } })
  const tags = { team: 'a & b', stage: 'live', owner: 'ada <x>' }
  assert.deepEqual((await ask(walked, 'ListQueueTags', { QueueUrl })).Tags, tags)
  await ask(walked, 'UntagQueue', { QueueUrl, TagKeys: ['team', 'owner'] })
  assert.deepEqual((await ask(walked, 'ListQueueTags', { QueueUrl })).Tags, { stage: 'live' })
  for (const action of ['TagQueue', 'ListQueueTags', 'UntagQueue']) proven.add(action)

  await ask(walked, 'AddPermission', {
    QueueUrl,
    Label: 'readers',
    AWSAccountIds: ['111111111111'],
    Actions: ['ReceiveMessage', 'DeleteMessage'],
  })
  const { Policy } = (
    await ask(walked, 'GetQueueAttributes', { QueueUrl, AttributeNames: ['Policy'] })
  ).Attributes
  assert.equal(JSON.parse(Policy).Statement[0].Sid, 'readers')
  proven.add('AddPermission')
  await ask(walked, 'RemovePermission', { QueueUrl, Label: 'readers' })
  const after = await ask(walked, 'GetQueueAttributes', { QueueUrl, AttributeNames: ['Policy'] })
  assert.ok(!JSON.stringify(after).includes('readers'))
  proven.add('RemovePermission')
}

async function messages(walked: Walked): Promise<void> {
  const { proven } = walked
  const QueueUrl = urlIn(walked, 'jobs')
  const sent = await ask(walked, 'SendMessage', {
    QueueUrl,
    MessageBody: BODY,
    MessageAttributes: ATTRIBUTES,
    MessageSystemAttributes: { AWSTraceHeader: { DataType: 'String', StringValue: 'Root=1-2-3' } },
  })
  assert.equal(sent.MD5OfMessageBody, hash('md5', BODY))
  assert.match(sent.MD5OfMessageAttributes, /^[0-9a-f]{32}$/)
  assert.match(sent.MessageId, /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/)

  const receive = async (): Promise<Answer> => {
    const { Messages } = await ask(walked, 'ReceiveMessage', {
      QueueUrl,
      WaitTimeSeconds: 5,
      AttributeNames: ['All'],
      MessageAttributeNames: ['All'],
    })
    assert.equal(Messages.length, 1)
    return Messages[0]
  }
  const got = await receive()
  assert.equal(got.MessageId, sent.MessageId)
  assert.equal(got.Body, BODY)
  assert.equal(got.MD5OfBody, sent.MD5OfMessageBody)
  assert.deepEqual(got.MessageAttributes, ATTRIBUTES)
  assert.equal(got.MD5OfMessageAttributes, sent.MD5OfMessageAttributes)
  assert.equal(got.Attributes.ApproximateReceiveCount, '1')
  assert.equal(got.Attributes.AWSTraceHeader, 'Root=1-2-3')
  proven.add('SendMessage').add('ReceiveMessage')

  const { ReceiptHandle } = got
  await ask(walked, 'ChangeMessageVisibility', { QueueUrl, ReceiptHandle, VisibilityTimeout: 0 })
  const again = await receive()
  assert.equal(again.Attributes.ApproximateReceiveCount, '2')
  proven.add('ChangeMessageVisibility')

  await ask(walked, 'DeleteMessage', { QueueUrl, ReceiptHandle: again.ReceiptHandle })
  assert.deepEqual(await countsIn(walked, 'jobs'), [0, 0])
  proven.add('DeleteMessage')
  assert.deepEqual(await ask(walked, 'ReceiveMessage', { QueueUrl }), {})
}

async function batches(walked: Walked): Promise<void> {
  const { proven } = walked
  const QueueUrl = urlIn(walked, 'jobs')
  const ids = ['a', 'b-2', 'c_3']
  const sent = await ask(walked, 'SendMessageBatch', {
    QueueUrl,
    Entries: [
      ...ids.map((Id) => ({ Id, MessageBody: `body of ${Id}`, MessageAttributes: ATTRIBUTES })),
      { Id: 'bad', MessageBody: 'not \u0001 sayable' },
    ],
  })
  assert.deepEqual(idsOf(sent.Successful), ids)
  assert.deepEqual(
    sent.Failed.map(({ Id, SenderFault, Code }: Answer) => [Id, SenderFault, Code]),
    [['bad', true, 'InvalidMessageContents']],
  )
  proven.add('SendMessageBatch')

  const handles = async (): Promise<readonly string[]> => {
    const asked = { QueueUrl, MaxNumberOfMessages: 10, WaitTimeSeconds: 5 }
    const { Messages } = await ask(walked, 'ReceiveMessage', asked)
    assert.deepEqual(
      Messages.map(({ Body }: Answer) => Body).toSorted(),
      ids.map((id) => `body of ${id}`),
    )
    return Messages.map(({ ReceiptHandle }: Answer) => ReceiptHandle)
  }
  const entries = (from: readonly string[], more: Given = {}): readonly Given[] => [
    ...from.map((ReceiptHandle, at) => ({ Id: ids[at], ReceiptHandle, ...more })),
    { Id: 'bad', ReceiptHandle: 'made up', ...more },
  ]
  const holds = (answer: Answer): void => {
    assert.deepEqual(idsOf(answer.Successful), ids)
    assert.deepEqual(
      answer.Failed.map(({ Id, Code }: Answer) => [Id, Code]),
      [['bad', 'ReceiptHandleIsInvalid']],
    )
  }
  holds(
    await ask(walked, 'ChangeMessageVisibilityBatch', {
      QueueUrl,
      Entries: entries(await handles(), { VisibilityTimeout: 0 }),
    }),
  )
  proven.add('ChangeMessageVisibilityBatch')
  holds(await ask(walked, 'DeleteMessageBatch', { QueueUrl, Entries: entries(await handles()) }))
  assert.deepEqual(await countsIn(walked, 'jobs'), [0, 0])
  proven.add('DeleteMessageBatch')
}

/** Order within a group, and duplicates that are none. */
async function fifo(walked: Walked): Promise<void> {
  const { prefix } = walked
  const { QueueUrl } = await ask(walked, 'CreateQueue', {
    QueueName: `${prefix}line.fifo`,
    Attributes: { FifoQueue: 'true', ContentBasedDeduplication: 'true' },
  })
  const send = (MessageBody: string): Promise<Answer> =>
    ask(walked, 'SendMessage', { QueueUrl, MessageBody, MessageGroupId: 'g' })
  const sequence = [await send('one'), await send('two'), await send('one')].map(
    (sent) => sent.SequenceNumber,
  )
  for (const one of sequence) assert.match(one, /^\d{20}$/)
  assert.ok(sequence[0] < sequence[1])
  assert.equal(sequence[2], sequence[0])
  const { Messages } = await ask(walked, 'ReceiveMessage', { QueueUrl, MaxNumberOfMessages: 10 })
  assert.deepEqual(
    Messages.map(({ Body }: Answer) => Body),
    ['one', 'two'],
  )
}

async function deadLetters(walked: Walked): Promise<void> {
  const { prefix, proven, client } = walked
  const dead = await ask(walked, 'CreateQueue', { QueueName: `${prefix}dead` })
  const { QueueUrl } = await ask(walked, 'CreateQueue', {
    QueueName: `${prefix}frail`,
    Attributes: {
      RedrivePolicy: JSON.stringify({
        deadLetterTargetArn: arnIn(walked, 'dead'),
        maxReceiveCount: 1,
      }),
    },
  })
  assert.deepEqual((await ask(walked, 'ListDeadLetterSourceQueues', dead)).queueUrls, [QueueUrl])
  proven.add('ListDeadLetterSourceQueues')

  for (const MessageBody of ['one', 'two', 'three'])
    await ask(walked, 'SendMessage', { QueueUrl, MessageBody })
  const { Messages } = await ask(walked, 'ReceiveMessage', { QueueUrl, MaxNumberOfMessages: 10 })
  for (const { ReceiptHandle } of Messages)
    await ask(walked, 'ChangeMessageVisibility', { QueueUrl, ReceiptHandle, VisibilityTimeout: 0 })
  await until('they are dead letters', SETTLED_MS_MAX, async () =>
    (await countsIn(walked, 'dead'))[0] === 3 ? true : undefined,
  )
  if (client.actions.has('StartMessageMoveTask')) await moves(walked)
}

async function moves(walked: Walked): Promise<void> {
  const { proven } = walked
  const SourceArn = arnIn(walked, 'dead')
  const { TaskHandle } = await ask(walked, 'StartMessageMoveTask', {
    SourceArn,
    DestinationArn: arnIn(walked, 'frail'),
    MaxNumberOfMessagesPerSecond: 1,
  })
  assert.equal(JSON.parse(Buffer.from(TaskHandle, 'base64').toString()).sourceArn, SourceArn)
  const first = await latest(walked, SourceArn)
  assert.equal(first.Status, 'RUNNING')
  assert.equal(first.TaskHandle, TaskHandle)
  assert.equal(first.MaxNumberOfMessagesPerSecond, 1)
  assert.equal(first.ApproximateNumberOfMessagesToMove, 3)
  const cancelled = await ask(walked, 'CancelMessageMoveTask', { TaskHandle })
  assert.ok(cancelled.ApproximateNumberOfMessagesMoved < 3)
  await until('it is cancelled', SETTLED_MS_MAX, async () =>
    (await latest(walked, SourceArn)).Status === 'CANCELLED' ? true : undefined,
  )
  proven.add('CancelMessageMoveTask')

  await ask(walked, 'StartMessageMoveTask', { SourceArn })
  const last = await until('it is done', SETTLED_MS_MAX, async () => {
    const task = await latest(walked, SourceArn)
    return task.Status === 'COMPLETED' ? task : undefined
  })
  assert.equal(typeof last.StartedTimestamp, 'number')
  assert.deepEqual(await countsIn(walked, 'dead'), [0, 0])
  assert.deepEqual(await countsIn(walked, 'frail'), [3, 0])
  proven.add('StartMessageMoveTask').add('ListMessageMoveTasks')
}

async function latest(walked: Walked, SourceArn: string): Promise<Answer> {
  return (await ask(walked, 'ListMessageMoveTasks', { SourceArn })).Results[0]
}

async function ends(walked: Walked): Promise<void> {
  const { client, prefix, proven } = walked
  const QueueUrl = urlIn(walked, 'jobs-2')
  await ask(walked, 'SendMessage', { QueueUrl, MessageBody: 'x' })
  await ask(walked, 'PurgeQueue', { QueueUrl })
  assert.deepEqual(await countsIn(walked, 'jobs-2'), [0, 0])
  proven.add('PurgeQueue')

  await ask(walked, 'DeleteQueue', { QueueUrl })
  const { error } = await client.ask('GetQueueUrl', { QueueName: `${prefix}jobs-2` })
  assert.equal(error?.name, 'QueueDoesNotExist')
  proven.add('DeleteQueue')
}

async function countsIn(walked: Walked, name: string): Promise<readonly [number, number]> {
  const ready = 'ApproximateNumberOfMessages'
  const leased = 'ApproximateNumberOfMessagesNotVisible'
  const { Attributes } = await ask(walked, 'GetQueueAttributes', {
    QueueUrl: urlIn(walked, name),
    AttributeNames: [ready, leased],
  })
  return [Number(Attributes[ready]), Number(Attributes[leased])]
}

function idsOf(entries: readonly Answer[]): readonly string[] {
  return entries.map(({ Id }): string => Id).toSorted()
}
