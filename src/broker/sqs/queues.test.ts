import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import {
  ACCOUNT,
  arnOf,
  HOST,
  PROTOCOLS,
  settled,
  sqs,
  urlOf,
  type Answer,
  type Ask,
  type Sqs,
} from '../../../test/sqs/calls.ts'

const QueueUrl = urlOf('orders')
const NO_QUEUE = 'AWS.SimpleQueueService.NonExistentQueue'

function refusedWith(answer: Answer, code: string, message?: string | RegExp): void {
  assert.equal(answer.code, code, answer.text)
  if (typeof message === 'string') assert.equal(answer.message, message)
  else if (message !== undefined) assert.match(answer.message ?? '', message)
}

function inBoth(name: string, rule: (ask: Ask, scene: Sqs) => Promise<void>): void {
  for (const protocol of PROTOCOLS)
    test(`${name} (${protocol})`, async () => {
      await using scene = await sqs()
      await rule(scene.in(protocol), scene)
    })
}

async function attributes(
  ask: Ask,
  url: string,
  ...names: string[]
): Promise<Record<string, string>> {
  const { output } = await ask('GetQueueAttributes', { QueueUrl: url, AttributeNames: names })
  return output.Attributes ?? {}
}

async function setRedrive(ask: Ask, RedrivePolicy: string): Promise<Answer> {
  return ask('SetQueueAttributes', { QueueUrl, Attributes: { RedrivePolicy } })
}

const tags = (count: number): Record<string, string> =>
  Object.fromEntries(Array.from({ length: count }, (_, at) => [`k${at}`, 'v']))

async function withDeadLetters(ask: Ask, scene: Sqs, count: number): Promise<void> {
  await ask('CreateQueue', { QueueName: 'dead' })
  const RedrivePolicy = JSON.stringify({ deadLetterTargetArn: arnOf('dead'), maxReceiveCount: 1 })
  await ask('CreateQueue', { QueueName: 'orders', Attributes: { RedrivePolicy } })
  for (let at = 0; at < count; at++) await ask('SendMessage', { QueueUrl, MessageBody: `m${at}` })
  await ask('ReceiveMessage', { QueueUrl, MaxNumberOfMessages: 10, VisibilityTimeout: 1 })
  await scene.pass(1_000)
  assert.equal(
    (await attributes(ask, urlOf('dead'), 'All'))['ApproximateNumberOfMessages'],
    String(count),
  )
}

describe('CreateQueue', () => {
  inBoth('answers where the caller finds the queue', async (ask) => {
    const { status, output } = await ask('CreateQueue', { QueueName: 'orders' })
    assert.equal(status, 200)
    assert.deepEqual(output, { QueueUrl: `http://${HOST}/${ACCOUNT}/orders` })
  })

  inBoth(
    'again with what it has is the same queue, with something else is refused',
    async (ask) => {
      const Attributes = { VisibilityTimeout: '11', Policy: '{"Version":"2012-10-17"}' }
      await ask('CreateQueue', { QueueName: 'orders', Attributes })
      assert.equal((await ask('CreateQueue', { QueueName: 'orders', Attributes })).status, 200)
      assert.equal((await ask('CreateQueue', { QueueName: 'orders' })).status, 200)
      refusedWith(
        await ask('CreateQueue', { QueueName: 'orders', Attributes: { DelaySeconds: '1' } }),
        'QueueAlreadyExists',
        'A queue already exists with the same name and a different value for attribute DelaySeconds',
      )
    },
  )

  inBoth('refuses a name that is none', async (ask) => {
    const text =
      'Can only include alphanumeric characters, hyphens, or underscores. 1 to 80 in length'
    for (const QueueName of ['a b', 'a/b', '../x', 'ü', 'x'.repeat(81), 'x.fifo', '__proto__!'])
      refusedWith(await ask('CreateQueue', { QueueName }), 'InvalidParameterValue', text)
    assert.equal((await ask('CreateQueue', { QueueName: 'x'.repeat(80) })).status, 200)
    const fifo = { FifoQueue: 'true' }
    for (const QueueName of ['x', '.fifo', `${'x'.repeat(76)}.fifo`])
      refusedWith(
        await ask('CreateQueue', { QueueName, Attributes: fifo }),
        'InvalidParameterValue',
        /must end with \.fifo suffix/,
      )
    const longest = `${'x'.repeat(75)}.fifo`
    assert.equal((await ask('CreateQueue', { QueueName: longest, Attributes: fifo })).status, 200)
    refusedWith(
      await ask('CreateQueue'),
      'MissingParameter',
      'The request must contain the parameter QueueName.',
    )
  })

  inBoth('takes tags along', async (ask) => {
    await ask('CreateQueue', { QueueName: 'orders', tags: { team: 'a&b', empty: '' } })
    assert.deepEqual((await ask('ListQueueTags', { QueueUrl })).output.Tags, {
      team: 'a&b',
      empty: '',
    })
  })
})

describe('queue attributes', () => {
  inBoth('are those of SQS, with their initial values', async (ask, scene) => {
    await ask('CreateQueue', { QueueName: 'orders' })
    const now = String(Math.floor(scene.clock.now() / 1_000))
    assert.deepEqual(await attributes(ask, QueueUrl, 'All'), {
      QueueArn: arnOf('orders'),
      ApproximateNumberOfMessages: '0',
      ApproximateNumberOfMessagesNotVisible: '0',
      ApproximateNumberOfMessagesDelayed: '0',
      CreatedTimestamp: now,
      LastModifiedTimestamp: now,
      VisibilityTimeout: '30',
      DelaySeconds: '0',
      MaximumMessageSize: '1048576',
      MessageRetentionPeriod: '345600',
      ReceiveMessageWaitTimeSeconds: '0',
      SqsManagedSseEnabled: 'true',
    })
  })

  inBoth('are given by name, and none without one', async (ask) => {
    await ask('CreateQueue', { QueueName: 'orders' })
    assert.deepEqual(await attributes(ask, QueueUrl, 'QueueArn', 'Policy'), {
      QueueArn: arnOf('orders'),
    })
    assert.deepEqual((await ask('GetQueueAttributes', { QueueUrl })).output, {})
    refusedWith(
      await ask('GetQueueAttributes', { QueueUrl, AttributeNames: ['Colour'] }),
      'InvalidAttributeName',
      'Unknown Attribute Colour.',
    )
    refusedWith(await ask('GetQueueAttributes', { QueueUrl: urlOf('none') }), NO_QUEUE)
  })

  inBoth('count messages by what they are doing', async (ask) => {
    await ask('CreateQueue', { QueueName: 'orders' })
    for (const DelaySeconds of [0, 0, 9])
      await ask('SendMessage', { QueueUrl, MessageBody: 'x', DelaySeconds })
    await ask('ReceiveMessage', { QueueUrl })
    const found = await attributes(ask, QueueUrl, 'All')
    assert.equal(found['ApproximateNumberOfMessages'], '1')
    assert.equal(found['ApproximateNumberOfMessagesNotVisible'], '1')
    assert.equal(found['ApproximateNumberOfMessagesDelayed'], '1')
  })

  const bounds: Readonly<Record<string, readonly [min: number, max: number]>> = {
    VisibilityTimeout: [0, 43_200],
    DelaySeconds: [0, 900],
    MaximumMessageSize: [1_024, 1_048_576],
    MessageRetentionPeriod: [60, 1_209_600],
    ReceiveMessageWaitTimeSeconds: [0, 20],
    KmsDataKeyReusePeriodSeconds: [60, 86_400],
  }

  inBoth('have bounds', async (ask) => {
    await ask('CreateQueue', { QueueName: 'orders' })
    for (const [name, [min, max]] of Object.entries(bounds)) {
      const set = (value: number | string): Promise<Answer> =>
        ask('SetQueueAttributes', { QueueUrl, Attributes: { [name]: String(value) } })
      for (const value of [min, max]) {
        assert.equal((await set(value)).status, 200, `${name} ${value}`)
        assert.deepEqual(await attributes(ask, QueueUrl, name), { [name]: String(value) })
      }
      for (const value of [min - 1, max + 1, 'x', '1.5', '-1'])
        refusedWith(
          await set(value),
          'InvalidAttributeValue',
          `Invalid value for the parameter ${name}.`,
        )
    }
  })

  inBoth('that have words, have these words', async (ask) => {
    await ask('CreateQueue', { QueueName: 'lanes.fifo', Attributes: { FifoQueue: 'true' } })
    const url = urlOf('lanes.fifo')
    const words = {
      ContentBasedDeduplication: ['true', 'false'],
      DeduplicationScope: ['messageGroup', 'queue'],
      FifoThroughputLimit: ['perMessageGroupId', 'perQueue'],
      SqsManagedSseEnabled: ['true', 'false'],
    }
    for (const [name, values] of Object.entries(words)) {
      for (const value of values) {
        const Attributes = { [name]: value }
        assert.equal((await ask('SetQueueAttributes', { QueueUrl: url, Attributes })).status, 200)
        assert.deepEqual(await attributes(ask, url, name), Attributes)
      }
      refusedWith(
        await ask('SetQueueAttributes', { QueueUrl: url, Attributes: { [name]: 'maybe' } }),
        'InvalidAttributeValue',
      )
    }
    const all = await attributes(ask, url, 'All')
    assert.equal(all['FifoQueue'], 'true')
    refusedWith(
      await ask('SetQueueAttributes', { QueueUrl: url, Attributes: { FifoQueue: 'false' } }),
      'InvalidAttributeValue',
      'Invalid value for the parameter FifoQueue. Reason: Modifying queue type is not supported.',
    )
  })

  inBoth('that are for FIFO queues are unknown to others, as are computed ones', async (ask) => {
    await ask('CreateQueue', { QueueName: 'orders' })
    for (const name of [
      'FifoQueue',
      'ContentBasedDeduplication',
      'DeduplicationScope',
      'FifoThroughputLimit',
      'QueueArn',
      'All',
    ])
      refusedWith(
        await ask('SetQueueAttributes', { QueueUrl, Attributes: { [name]: 'true' } }),
        'InvalidAttributeName',
        `Unknown Attribute ${name}.`,
      )
    refusedWith(await ask('SetQueueAttributes', { QueueUrl }), 'MissingParameter')
    refusedWith(
      await ask('SetQueueAttributes', {
        QueueUrl: urlOf('none'),
        Attributes: { DelaySeconds: '1' },
      }),
      NO_QUEUE,
    )
  })

  inBoth('encrypt one way or the other', async (ask) => {
    await ask('CreateQueue', { QueueName: 'orders' })
    await ask('SetQueueAttributes', { QueueUrl, Attributes: { KmsMasterKeyId: 'alias/k' } })
    assert.deepEqual(await attributes(ask, QueueUrl, 'KmsMasterKeyId', 'SqsManagedSseEnabled'), {
      KmsMasterKeyId: 'alias/k',
      SqsManagedSseEnabled: 'false',
    })
    refusedWith(
      await ask('SetQueueAttributes', { QueueUrl, Attributes: { SqsManagedSseEnabled: 'true' } }),
      'InvalidAttributeName',
      /one type of server-side encryption/,
    )
  })

  test('set at once by several are all set', async () => {
    await using scene = await sqs()
    const ask = scene.in('json')
    await ask('CreateQueue', { QueueName: 'orders' })
    const Policy = '{"Version":"2012-10-17","Statement":[]}'
    await Promise.all([
      ask('SetQueueAttributes', { QueueUrl, Attributes: { Policy } }),
      ask('SetQueueAttributes', { QueueUrl, Attributes: { KmsMasterKeyId: 'k' } }),
      ask('AddPermission', { QueueUrl, Label: 'l', AWSAccountIds: [ACCOUNT], Actions: ['*'] }),
    ])
    const found = await attributes(ask, QueueUrl, 'All')
    assert.equal(found['KmsMasterKeyId'], 'k')
    assert.equal(JSON.parse(found['Policy']!).Statement.length, 1)
  })
})

describe('RedrivePolicy', () => {
  inBoth('is set, shown and taken away', async (ask) => {
    for (const QueueName of ['orders', 'dead']) await ask('CreateQueue', { QueueName })
    const deadLetterTargetArn = arnOf('dead')
    for (const maxReceiveCount of [1, 1_000, '5']) {
      await setRedrive(ask, JSON.stringify({ deadLetterTargetArn, maxReceiveCount }))
      const { RedrivePolicy } = await attributes(ask, QueueUrl, 'RedrivePolicy')
      assert.deepEqual(JSON.parse(RedrivePolicy!), {
        deadLetterTargetArn,
        maxReceiveCount: Number(maxReceiveCount),
      })
    }
    const sources = await ask('ListDeadLetterSourceQueues', { QueueUrl: urlOf('dead') })
    assert.deepEqual(sources.output.queueUrls, [QueueUrl])
    await setRedrive(ask, '')
    assert.deepEqual(await attributes(ask, QueueUrl, 'RedrivePolicy'), {})
    const none = await ask('ListDeadLetterSourceQueues', { QueueUrl: urlOf('dead') })
    assert.deepEqual(none.output.queueUrls ?? [], [])
  })

  inBoth('is refused with a reason', async (ask) => {
    for (const QueueName of ['orders', 'dead']) await ask('CreateQueue', { QueueName })
    await ask('CreateQueue', { QueueName: 'dead.fifo', Attributes: { FifoQueue: 'true' } })
    const target = arnOf('dead')
    const cases: readonly (readonly [policy: unknown, reason: string])[] = [
      ['x', 'Redrive policy is not a valid JSON map.'],
      [
        { maxReceiveCount: 1 },
        'Redrive policy does not contain mandatory attribute: deadLetterTargetArn.',
      ],
      [
        { deadLetterTargetArn: target },
        'Redrive policy does not contain mandatory attribute: maxReceiveCount.',
      ],
      [
        { deadLetterTargetArn: 'dummy', maxReceiveCount: 42 },
        'Invalid value for deadLetterTargetArn.',
      ],
      [
        { deadLetterTargetArn: arnOf('none'), maxReceiveCount: 1 },
        'Dead letter target does not exist.',
      ],
      [
        { deadLetterTargetArn: arnOf('dead.fifo'), maxReceiveCount: 1 },
        'Dead-letter queue must be same type of queue as the source.',
      ],
      [
        { deadLetterTargetArn: target.replace('local', 'other'), maxReceiveCount: 1 },
        'Dead letter target owner should be same as the source.',
      ],
      [
        { deadLetterTargetArn: target, maxReceiveCount: 0 },
        'Invalid value for maxReceiveCount: 0, valid values are from 1 to 1000 both inclusive.',
      ],
      [
        { deadLetterTargetArn: target, maxReceiveCount: 1_001 },
        'Invalid value for maxReceiveCount: 1001, valid values are from 1 to 1000 both inclusive.',
      ],
    ]
    for (const [policy, reason] of cases) {
      const text = typeof policy === 'string' ? policy : JSON.stringify(policy)
      refusedWith(
        await setRedrive(ask, text),
        'InvalidParameterValue',
        `Value ${text} for parameter RedrivePolicy is invalid. Reason: ${reason}`,
      )
    }
  })

  inBoth('heeds what the target allows', async (ask) => {
    for (const QueueName of ['orders', 'dead']) await ask('CreateQueue', { QueueName })
    const policy = JSON.stringify({ deadLetterTargetArn: arnOf('dead'), maxReceiveCount: 1 })
    const allow = (value: unknown): Promise<Answer> =>
      ask('SetQueueAttributes', {
        QueueUrl: urlOf('dead'),
        Attributes: { RedriveAllowPolicy: JSON.stringify(value) },
      })
    await allow({ redrivePermission: 'denyAll' })
    refusedWith(await setRedrive(ask, policy), 'InvalidParameterValue')
    await allow({ redrivePermission: 'byQueue', sourceQueueArns: [arnOf('others')] })
    refusedWith(await setRedrive(ask, policy), 'InvalidParameterValue')
    await allow({ redrivePermission: 'byQueue', sourceQueueArns: [arnOf('orders')] })
    assert.equal((await setRedrive(ask, policy)).status, 200)
    const arns = Array.from({ length: 11 }, (_, at) => arnOf(`q${at}`))
    for (const wrong of [
      'x',
      {},
      { redrivePermission: 'some' },
      { redrivePermission: 'allowAll', sourceQueueArns: [] },
      { redrivePermission: 'byQueue' },
      { redrivePermission: 'byQueue', sourceQueueArns: ['x'] },
      { redrivePermission: 'byQueue', sourceQueueArns: arns },
    ])
      refusedWith(await allow(wrong), 'InvalidAttributeValue')
    const ten = await allow({ redrivePermission: 'byQueue', sourceQueueArns: arns.slice(1) })
    assert.equal(ten.status, 200)
  })
})

describe('GetQueueUrl', () => {
  inBoth('finds a queue by name and owner', async (ask) => {
    await ask('CreateQueue', { QueueName: 'orders' })
    assert.deepEqual((await ask('GetQueueUrl', { QueueName: 'orders' })).output, { QueueUrl })
    const own = { QueueName: 'orders', QueueOwnerAWSAccountId: ACCOUNT }
    assert.deepEqual((await ask('GetQueueUrl', own)).output, { QueueUrl })
    refusedWith(
      await ask('GetQueueUrl', { QueueName: 'orders', QueueOwnerAWSAccountId: '1' }),
      NO_QUEUE,
    )
    refusedWith(await ask('GetQueueUrl', {}), 'MissingParameter')
  })

  test('says that there is none in the words of each protocol', async () => {
    await using scene = await sqs()
    const said = async (protocol: 'json' | 'query'): Promise<string | undefined> =>
      (await scene.in(protocol)('GetQueueUrl', { QueueName: 'none' })).message
    assert.equal(await said('json'), 'The specified queue does not exist.')
    assert.equal(await said('query'), 'The specified queue does not exist for this wsdl version.')
  })
})

describe('ListQueues', () => {
  inBoth('lists by prefix, page by page', async (ask) => {
    assert.deepEqual((await ask('ListQueues')).output, {})
    for (const QueueName of ['b', 'a-2', 'a-1', 'a-3']) await ask('CreateQueue', { QueueName })
    const all = await ask('ListQueues', { QueueNamePrefix: 'a' })
    assert.deepEqual(all.output.QueueUrls, ['a-1', 'a-2', 'a-3'].map(urlOf))
    const page = await ask('ListQueues', { QueueNamePrefix: 'a', MaxResults: 2 })
    assert.deepEqual(page.output.QueueUrls, ['a-1', 'a-2'].map(urlOf))
    const { NextToken } = page.output
    const rest = await ask('ListQueues', { QueueNamePrefix: 'a', MaxResults: 2, NextToken })
    assert.deepEqual(rest.output, { QueueUrls: [urlOf('a-3')] })
  })

  inBoth('lists a thousand at once, and no more', async (ask) => {
    for (const MaxResults of [0, 1_001, -1])
      refusedWith(
        await ask('ListQueues', { MaxResults }),
        'InvalidParameterValue',
        `Value ${MaxResults} for parameter MaxResults is invalid. Reason: MaxResults must be an integer between 1 and 1000, if provided.`,
      )
    assert.equal((await ask('ListQueues', { MaxResults: 1_000 })).status, 200)
    refusedWith(await ask('ListQueues', { NextToken: '*' }), 'InvalidParameterValue')
  })
})

describe('ListDeadLetterSourceQueues', () => {
  inBoth('lists page by page', async (ask) => {
    await ask('CreateQueue', { QueueName: 'dead' })
    const RedrivePolicy = JSON.stringify({ deadLetterTargetArn: arnOf('dead'), maxReceiveCount: 1 })
    for (const QueueName of ['c', 'a', 'b'])
      await ask('CreateQueue', { QueueName, Attributes: { RedrivePolicy } })
    const page = await ask('ListDeadLetterSourceQueues', { QueueUrl: urlOf('dead'), MaxResults: 2 })
    assert.deepEqual(page.output.queueUrls, [urlOf('a'), urlOf('b')])
    const { NextToken } = page.output
    const rest = await ask('ListDeadLetterSourceQueues', { QueueUrl: urlOf('dead'), NextToken })
    assert.deepEqual(rest.output, { queueUrls: [urlOf('c')] })
    refusedWith(await ask('ListDeadLetterSourceQueues', { QueueUrl: urlOf('none') }), NO_QUEUE)
  })
})

describe('DeleteQueue', () => {
  inBoth('deletes the queue, and its name is free', async (ask) => {
    await ask('CreateQueue', { QueueName: 'orders' })
    await ask('SendMessage', { QueueUrl, MessageBody: 'x' })
    const waiting = ask('ReceiveMessage', { QueueUrl, VisibilityTimeout: 0 })
    await waiting
    assert.equal((await ask('DeleteQueue', { QueueUrl })).status, 200)
    refusedWith(await ask('DeleteQueue', { QueueUrl }), NO_QUEUE)
    refusedWith(await ask('SendMessage', { QueueUrl, MessageBody: 'x' }), NO_QUEUE)
    await ask('CreateQueue', { QueueName: 'orders' })
    assert.deepEqual((await ask('ReceiveMessage', { QueueUrl })).output, {})
  })

  inBoth('tells those who wait', async (ask) => {
    await ask('CreateQueue', { QueueName: 'orders' })
    const waiting = ask('ReceiveMessage', { QueueUrl, WaitTimeSeconds: 20 })
    await settled()
    await ask('DeleteQueue', { QueueUrl })
    refusedWith(await waiting, NO_QUEUE)
  })
})

describe('PurgeQueue', () => {
  inBoth('takes everything, once a minute', async (ask, scene) => {
    await ask('CreateQueue', { QueueName: 'orders' })
    for (let time = 0; time < 3; time++) await ask('SendMessage', { QueueUrl, MessageBody: 'x' })
    await ask('ReceiveMessage', { QueueUrl })
    assert.equal((await ask('PurgeQueue', { QueueUrl })).status, 200)
    const found = await attributes(ask, QueueUrl, 'All')
    assert.equal(found['ApproximateNumberOfMessages'], '0')
    assert.equal(found['ApproximateNumberOfMessagesNotVisible'], '0')
    const again = await ask('PurgeQueue', { QueueUrl })
    assert.equal(again.status, 403)
    refusedWith(
      again,
      'AWS.SimpleQueueService.PurgeQueueInProgress',
      'Only one PurgeQueue operation on orders is allowed every 60 seconds.',
    )
    await scene.pass(60_000)
    assert.equal((await ask('PurgeQueue', { QueueUrl })).status, 200)
    refusedWith(await ask('PurgeQueue', { QueueUrl: urlOf('none') }), NO_QUEUE)
  })
})

describe('tags', () => {
  inBoth('are set, listed and taken away', async (ask) => {
    await ask('CreateQueue', { QueueName: 'orders' })
    assert.deepEqual((await ask('ListQueueTags', { QueueUrl })).output, {})
    await ask('TagQueue', { QueueUrl, Tags: { a: '1', b: '2' } })
    await ask('TagQueue', { QueueUrl, Tags: { b: '3' } })
    assert.deepEqual((await ask('ListQueueTags', { QueueUrl })).output.Tags, { a: '1', b: '3' })
    await ask('UntagQueue', { QueueUrl, TagKeys: ['a', 'none'] })
    assert.deepEqual((await ask('ListQueueTags', { QueueUrl })).output.Tags, { b: '3' })
  })

  inBoth('have bounds', async (ask) => {
    await ask('CreateQueue', { QueueName: 'orders' })
    const most = { ['k'.repeat(128)]: 'v'.repeat(256) }
    assert.equal((await ask('TagQueue', { QueueUrl, Tags: most })).status, 200)
    for (const Tags of [{ ['k'.repeat(129)]: 'v' }, { k: 'v'.repeat(257) }, tags(50)])
      refusedWith(await ask('TagQueue', { QueueUrl, Tags }), 'InvalidParameterValue')
    assert.equal((await ask('TagQueue', { QueueUrl, Tags: tags(49) })).status, 200)
    refusedWith(await ask('TagQueue', { QueueUrl }), 'MissingParameter')
    refusedWith(await ask('UntagQueue', { QueueUrl }), 'MissingParameter')
    for (const action of ['TagQueue', 'UntagQueue', 'ListQueueTags'])
      refusedWith(
        await ask(action, { QueueUrl: urlOf('none'), Tags: { a: 'b' }, TagKeys: ['a'] }),
        NO_QUEUE,
      )
  })
})

describe('permissions', () => {
  inBoth('are statements of the policy', async (ask) => {
    await ask('CreateQueue', { QueueName: 'orders' })
    const grant = {
      QueueUrl,
      Label: 'one',
      AWSAccountIds: ['111111111111'],
      Actions: ['ReceiveMessage'],
    }
    assert.equal((await ask('AddPermission', grant)).status, 200)
    const { Policy } = await attributes(ask, QueueUrl, 'Policy')
    assert.deepEqual(JSON.parse(Policy!), {
      Version: '2008-10-17',
      Id: `${arnOf('orders')}/SQSDefaultPolicy`,
      Statement: [
        {
          Sid: 'one',
          Effect: 'Allow',
          Principal: { AWS: 'arn:aws:iam::111111111111:root' },
          Action: 'SQS:ReceiveMessage',
          Resource: arnOf('orders'),
        },
      ],
    })
    refusedWith(
      await ask('AddPermission', grant),
      'InvalidParameterValue',
      'Value one for parameter Label is invalid. Reason: Already exists.',
    )
    await ask('AddPermission', {
      ...grant,
      Label: 'two',
      AWSAccountIds: ['1', '2'],
      Actions: ['*', 'SendMessage'],
    })
    await ask('RemovePermission', { QueueUrl, Label: 'one' })
    const left = JSON.parse((await attributes(ask, QueueUrl, 'Policy'))['Policy']!).Statement
    assert.deepEqual(
      left.map(({ Sid, Action }: Record<string, unknown>) => [Sid, Action]),
      [['two', ['SQS:*', 'SQS:SendMessage']]],
    )
    await ask('RemovePermission', { QueueUrl, Label: 'two' })
    assert.deepEqual(await attributes(ask, QueueUrl, 'Policy'), {})
    refusedWith(
      await ask('RemovePermission', { QueueUrl, Label: 'two' }),
      'InvalidParameterValue',
      "Value two for parameter Label is invalid. Reason: can't find label.",
    )
  })

  inBoth('are refused where they cannot be', async (ask) => {
    await ask('CreateQueue', { QueueName: 'orders' })
    const grant = { QueueUrl, Label: 'one', AWSAccountIds: ['1'], Actions: ['SendMessage'] }
    const cases: readonly (readonly [change: object, code: string, message?: string | RegExp])[] = [
      [{ Label: undefined }, 'MissingParameter'],
      [{ Label: 'a b' }, 'InvalidParameterValue'],
      [{ Label: 'l'.repeat(81) }, 'InvalidParameterValue'],
      [{ AWSAccountIds: undefined }, 'MissingParameter'],
      [{ AWSAccountIds: ['x'] }, 'InvalidParameterValue', /Unable to verify/],
      [{ Actions: undefined }, 'MissingParameter'],
      [
        { Actions: ['DeleteQueue'] },
        'InvalidParameterValue',
        'Value SQS:DeleteQueue for parameter ActionName is invalid. Reason: Only the queue owner is allowed to invoke this action.',
      ],
      [{ Actions: Array.from({ length: 8 }, () => 'SendMessage') }, 'OverLimit'],
      [{ QueueUrl: urlOf('none') }, NO_QUEUE],
    ]
    for (const [change, code, message] of cases)
      refusedWith(await ask('AddPermission', { ...grant, ...change }), code, message)
    const seven = Array.from({ length: 7 }, () => 'SendMessage')
    const most = { ...grant, Label: 'l'.repeat(80), Actions: seven }
    assert.equal((await ask('AddPermission', most)).status, 200)
    await ask('SetQueueAttributes', { QueueUrl, Attributes: { Policy: '' } })
    assert.deepEqual(await attributes(ask, QueueUrl, 'Policy'), {})
    refusedWith(
      await ask('SetQueueAttributes', { QueueUrl, Attributes: { Policy: '[]' } }),
      'InvalidAttributeValue',
    )
  })
})

describe('move tasks', () => {
  inBoth('take dead letters back to where they died', async (ask, scene) => {
    await withDeadLetters(ask, scene, 3)
    const SourceArn = arnOf('dead')
    const started = await ask('StartMessageMoveTask', { SourceArn })
    assert.equal(started.status, 200)
    const handle = JSON.parse(Buffer.from(started.output.TaskHandle, 'base64').toString())
    assert.equal(handle.sourceArn, SourceArn)
    await settled()
    const { output } = await ask('ListMessageMoveTasks', { SourceArn })
    assert.deepEqual(output.Results, [
      {
        Status: 'COMPLETED',
        SourceArn,
        ApproximateNumberOfMessagesMoved: 3,
        ApproximateNumberOfMessagesToMove: 3,
        StartedTimestamp: scene.clock.now(),
      },
    ])
    const back = await ask('ReceiveMessage', { QueueUrl, MaxNumberOfMessages: 10 })
    assert.equal(back.output.Messages.length, 3)
    refusedWith(
      await ask('CancelMessageMoveTask', { TaskHandle: started.output.TaskHandle }),
      'AWS.SimpleQueueService.UnsupportedOperation',
      'Only active tasks can be cancelled.',
    )
  })

  inBoth(
    'go slowly if they are told to, one at a time, and can be cancelled',
    async (ask, scene) => {
      await withDeadLetters(ask, scene, 5)
      await ask('CreateQueue', { QueueName: 'others' })
      const [SourceArn, DestinationArn] = [arnOf('dead'), arnOf('others')]
      const start = { SourceArn, DestinationArn, MaxNumberOfMessagesPerSecond: 1 }
      const { output } = await ask('StartMessageMoveTask', start)
      refusedWith(
        await ask('StartMessageMoveTask', start),
        'InvalidParameterValue',
        'There is already a task running. Only one active task is allowed for a source queue arn at a given time.',
      )
      const running = await ask('ListMessageMoveTasks', { SourceArn })
      assert.equal(running.output.Results[0].Status, 'RUNNING')
      assert.equal(running.output.Results[0].TaskHandle, output.TaskHandle)
      assert.equal(running.output.Results[0].DestinationArn, DestinationArn)
      assert.equal(running.output.Results[0].MaxNumberOfMessagesPerSecond, 1)
      const cancelled = await ask('CancelMessageMoveTask', { TaskHandle: output.TaskHandle })
      assert.ok(cancelled.output.ApproximateNumberOfMessagesMoved < 5)
      await scene.pass(1_000)
      const after = await ask('ListMessageMoveTasks', { SourceArn, MaxResults: 10 })
      assert.deepEqual(
        after.output.Results.map(({ Status }: { Status: string }) => Status),
        ['CANCELLED'],
      )
    },
  )

  inBoth('are refused where they cannot be', async (ask, scene) => {
    await withDeadLetters(ask, scene, 1)
    const SourceArn = arnOf('dead')
    const noTask = Buffer.from(JSON.stringify({ taskId: 'x', sourceArn: SourceArn })).toString(
      'base64',
    )
    const noQueue = Buffer.from(JSON.stringify({ taskId: 'x', sourceArn: arnOf('none') })).toString(
      'base64',
    )
    const cases: readonly (readonly [
      action: string,
      input: Readonly<Record<string, unknown>>,
      code: string,
      message?: string | RegExp,
    ])[] = [
      ['StartMessageMoveTask', {}, 'MissingParameter'],
      [
        'StartMessageMoveTask',
        { SourceArn: 'x' },
        'InvalidParameterValue',
        /^You must use this format to specify the SourceArn/,
      ],
      [
        'StartMessageMoveTask',
        { SourceArn: arnOf('none') },
        'ResourceNotFoundException',
        "The resource that you specified for the SourceArn parameter doesn't exist.",
      ],
      [
        'StartMessageMoveTask',
        { SourceArn: arnOf('orders') },
        'InvalidParameterValue',
        'Source queue must be configured as a Dead Letter Queue.',
      ],
      [
        'StartMessageMoveTask',
        { SourceArn, DestinationArn: arnOf('none') },
        'ResourceNotFoundException',
        "The resource that you specified for the DestinationArn parameter doesn't exist.",
      ],
      ['StartMessageMoveTask', { SourceArn, DestinationArn: SourceArn }, 'InvalidParameterValue'],
      [
        'StartMessageMoveTask',
        { SourceArn, MaxNumberOfMessagesPerSecond: 0 },
        'InvalidParameterValue',
      ],
      [
        'StartMessageMoveTask',
        { SourceArn, MaxNumberOfMessagesPerSecond: 501 },
        'InvalidParameterValue',
      ],
      ['ListMessageMoveTasks', { SourceArn: arnOf('none') }, 'ResourceNotFoundException'],
      ['ListMessageMoveTasks', { SourceArn, MaxResults: 0 }, 'InvalidParameterValue'],
      ['ListMessageMoveTasks', { SourceArn, MaxResults: 11 }, 'InvalidParameterValue'],
      ['CancelMessageMoveTask', {}, 'MissingParameter'],
      [
        'CancelMessageMoveTask',
        { TaskHandle: 'x' },
        'InvalidParameterValue',
        'Value for parameter TaskHandle is invalid.',
      ],
      [
        'CancelMessageMoveTask',
        { TaskHandle: noQueue },
        'ResourceNotFoundException',
        "The resource that you specified for the SourceArn parameter doesn't exist.",
      ],
      [
        'CancelMessageMoveTask',
        { TaskHandle: noTask },
        'ResourceNotFoundException',
        'Task does not exist.',
      ],
    ]
    for (const [action, input, code, message] of cases) {
      const answer = await ask(action, input)
      refusedWith(answer, code, message)
      assert.equal(answer.status, code === 'ResourceNotFoundException' ? 404 : 400)
    }
    assert.deepEqual((await ask('ListMessageMoveTasks', { SourceArn })).output, {})
    const fast = { SourceArn, MaxNumberOfMessagesPerSecond: 500 }
    assert.equal((await ask('StartMessageMoveTask', fast)).status, 200)
  })
})

describe('accounts and regions', () => {
  test('have nothing to do with each other', async () => {
    await using scene = await sqs()
    const west = scene.in('json', {
      authorization:
        'AWS4-HMAC-SHA256 Credential=x/20260101/us-west-2/sqs/aws4_request, SignedHeaders=host, Signature=0',
    })
    await scene.in('json')('CreateQueue', { QueueName: 'orders' })
    refusedWith(await west('GetQueueUrl', { QueueName: 'orders' }), NO_QUEUE)
    await west('CreateQueue', { QueueName: 'orders' })
    await west('SendMessage', { QueueUrl, MessageBody: 'x' })
    assert.deepEqual((await scene.in('json')('ReceiveMessage', { QueueUrl })).output, {})
    const arn = (await west('GetQueueAttributes', { QueueUrl, AttributeNames: ['QueueArn'] }))
      .output
    assert.equal(arn.Attributes.QueueArn, `arn:aws:sqs:us-west-2:${ACCOUNT}:orders`)
    const other = `http://${HOST}/123456789012/orders`
    refusedWith(
      await scene.in('json')('SendMessage', { QueueUrl: other, MessageBody: 'x' }),
      NO_QUEUE,
    )
  })

  test('are what the wire was told', async () => {
    await using scene = await sqs({ account: '42', region: 'home' })
    const ask = scene.in('json')
    const { output } = await ask('CreateQueue', { QueueName: 'orders' })
    assert.equal(output.QueueUrl, `http://${HOST}/42/orders`)
    const arn = await attributes(ask, output.QueueUrl, 'QueueArn')
    assert.equal(arn['QueueArn'], 'arn:aws:sqs:home:42:orders')
  })
})
