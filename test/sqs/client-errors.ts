/**
 * What is refused is an error of the class that a program catches, with the code and the status that it looks at, in
 * each client and both protocols. Runs behind a walk, among the queues that it has left.
 */
import assert from 'node:assert/strict'

import { sqsErrors, type SqsErrorName } from '../../src/broker/sqs/errors.ts'
import { clientOf, type Answered, type Wanted } from './clients.ts'
import { ask, urlIn, type Walked } from './walk.ts'

type Case = Readonly<{
  error: SqsErrorName
  action: string
  input: Readonly<Record<string, unknown>>
  says?: RegExp
}>

/** What is not of SQS alone has no class in any of them, and this one not in all. */
const CLASSLESS: ReadonlySet<SqsErrorName> = new Set([
  'InvalidParameterValue',
  'MissingParameter',
  'InvalidAttributeValue',
  'MissingAuthenticationToken',
  'InvalidClientTokenId',
  'SignatureDoesNotMatch',
])

export async function holdsErrors(walked: Walked, wanted: Wanted): Promise<void> {
  for (const { error, action, input, says } of await cases(walked)) {
    const answered = await walked.client.ask(action, input)
    isRefused(answered, error, { wanted, action })
    if (says !== undefined) assert.match(answered.error!.message, says)
  }
}

/** Whoever has no key, another one, or a wrong secret. */
export async function turnsAway(wanted: Wanted): Promise<void> {
  const strangers: readonly (readonly [SqsErrorName, Wanted])[] = [
    ['MissingAuthenticationToken', { ...wanted, signing: 'unsigned' }],
    ['InvalidClientTokenId', { ...wanted, accessKeyId: 'AKIDOTHER' }],
    ['SignatureDoesNotMatch', { ...wanted, secretAccessKey: 'another' }],
  ]
  for (const [error, stranger] of strangers) {
    await using client = await clientOf(stranger)
    isRefused(await client.ask('ListQueues'), error, { wanted, action: 'ListQueues' })
  }
}

function isRefused(
  { error, output }: Answered,
  name: SqsErrorName,
  { wanted, action }: Readonly<{ wanted: Wanted; action: string }>,
): void {
  const what = `${name} by ${action}: ${JSON.stringify(error ?? output)}`
  const { code, status } = sqsErrors[name]
  assert.deepEqual([error?.code, error?.status], [code, status], what)
  assert.ok(error !== undefined && classesOf(name, wanted).includes(error.name), what)
}

/** Which got a class when the protocol became AWS JSON. */
function later(name: SqsErrorName): readonly string[] {
  return name === 'InvalidAttributeValue' ? [name] : []
}

/** In the old SDK an action has only the errors that its list had then; any other is named by its code. */
function classesOf(name: SqsErrorName, { maker, protocol }: Wanted): readonly string[] {
  const { code } = sqsErrors[name]
  if (CLASSLESS.has(name)) return maker === 'js' ? [code] : ['ClientError', ...later(name)]
  const isBare = maker === 'js' && protocol === 'query' && name === 'QueueDoesNotExist'
  return isBare ? [name, code] : [name]
}

async function cases(walked: Walked): Promise<readonly Case[]> {
  const { prefix } = walked
  const QueueUrl = urlIn(walked, 'jobs')
  const gone = { QueueUrl: urlIn(walked, 'never-was') }
  await ask(walked, 'SendMessage', { QueueUrl, MessageBody: 'once' })
  const { Messages } = await ask(walked, 'ReceiveMessage', { QueueUrl })
  const { ReceiptHandle } = Messages[0]
  await ask(walked, 'ChangeMessageVisibility', { QueueUrl, ReceiptHandle, VisibilityTimeout: 0 })
  await ask(walked, 'PurgeQueue', { QueueUrl: urlIn(walked, 'dead') })
  const all: readonly Case[] = [
    {
      error: 'QueueDoesNotExist',
      action: 'SendMessage',
      input: { ...gone, MessageBody: 'x' },
      says: /^The specified queue does not exist(?: for this wsdl version)?\.$/,
    },
    { error: 'QueueDoesNotExist', action: 'ReceiveMessage', input: gone },
    {
      error: 'QueueDoesNotExist',
      action: 'GetQueueUrl',
      input: { QueueName: `${prefix}never-was` },
    },
    {
      error: 'QueueNameExists',
      action: 'CreateQueue',
      input: { QueueName: `${prefix}jobs`, Attributes: { VisibilityTimeout: '7' } },
    },
    {
      error: 'PurgeQueueInProgress',
      action: 'PurgeQueue',
      input: { QueueUrl: urlIn(walked, 'dead') },
    },
    { error: 'EmptyBatchRequest', action: 'SendMessageBatch', input: { QueueUrl, Entries: [] } },
    {
      error: 'TooManyEntriesInBatchRequest',
      action: 'SendMessageBatch',
      input: { QueueUrl, Entries: Array.from({ length: 11 }, (_, at) => entry(`e${at}`)) },
    },
    {
      error: 'BatchEntryIdsNotDistinct',
      action: 'SendMessageBatch',
      input: { QueueUrl, Entries: [entry('a'), entry('a')] },
    },
    {
      error: 'InvalidBatchEntryId',
      action: 'SendMessageBatch',
      input: { QueueUrl, Entries: [entry('a b')] },
    },
    {
      error: 'BatchRequestTooLong',
      action: 'SendMessageBatch',
      input: {
        QueueUrl,
        Entries: ['a', 'b'].map((Id) => ({ Id, MessageBody: 'x'.repeat(600_000) })),
      },
    },
    {
      error: 'MessageNotInflight',
      action: 'ChangeMessageVisibility',
      input: { QueueUrl, ReceiptHandle, VisibilityTimeout: 5 },
    },
    {
      error: 'ReceiptHandleIsInvalid',
      action: 'DeleteMessage',
      input: { QueueUrl, ReceiptHandle: 'made up' },
    },
    {
      error: 'InvalidMessageContents',
      action: 'SendMessage',
      input: { QueueUrl, MessageBody: 'not \u0001 sayable' },
    },
    {
      error: 'InvalidAttributeName',
      action: 'SetQueueAttributes',
      input: { QueueUrl, Attributes: { Colour: 'blue' } },
    },
    {
      error: 'InvalidAttributeValue',
      action: 'SetQueueAttributes',
      input: { QueueUrl, Attributes: { VisibilityTimeout: 'long' } },
    },
    {
      error: 'InvalidParameterValue',
      action: 'ReceiveMessage',
      input: { QueueUrl, MaxNumberOfMessages: 11 },
      says: /^Value 11 for parameter MaxNumberOfMessages is invalid\. Reason: Must be between 1 and 10, if provided\.$/,
    },
    {
      error: 'MissingParameter',
      action: 'SendMessage',
      input: { QueueUrl: urlIn(walked, 'line.fifo'), MessageBody: 'x' },
      says: /MessageGroupId/,
    },
    {
      error: 'ResourceNotFoundException',
      action: 'ListMessageMoveTasks',
      input: { SourceArn: `arn:aws:sqs:${walked.region}:000000000000:never-was` },
    },
  ]
  return all.filter(({ action }) => walked.client.actions.has(action))
}

function entry(Id: string): object {
  return { Id, MessageBody: 'x' }
}
