/**
 * sqs-producer and sqs-consumer as they are, at a server process with its data on disk. Both are given nothing but
 * the URL of a queue and a region: where to ask is in the environment, as it is for all of Amazon's SDKs.
 */
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { describe, test, type TestContext } from 'node:test'

import {
  CreateQueueCommand,
  GetQueueAttributesCommand,
  ReceiveMessageCommand,
  SQSClient,
  type Message,
} from '@aws-sdk/client-sqs'
import { Consumer, type ConsumerOptions } from 'sqs-consumer'
import { Producer } from 'sqs-producer'

import { systemClock } from '../../src/std/index.ts'
import { passing, until } from '../acceptance/until.ts'
import { freshFolder, serving } from '../server/processes.ts'

const REGION = 'us-east-1'
const SETTLED_MS_MAX = 120_000
/** Of what a machine that has much else to do may spoil. */
const TRIES = 5

// Without keys at the server, whatever signs does.
process.env['AWS_ACCESS_KEY_ID'] = 'anything'
process.env['AWS_SECRET_ACCESS_KEY'] = 'anything'

type Shop = Readonly<{
  sqs: SQSClient
  create(name: string, attributes?: Record<string, string>): Promise<string>
  /** Ready, and in flight. */
  counts(queueUrl: string): Promise<readonly [number, number]>
  /** Runs until the test ends. */
  consume(options: ConsumerOptions): Consumer
}>

async function shop(t: TestContext): Promise<Shop> {
  const endpoint = await serving(t, '--data', join(freshFolder(t), 'data'), '--port', '0').url()
  process.env['AWS_ENDPOINT_URL'] = endpoint
  const sqs = new SQSClient({ region: REGION })
  t.after(() => sqs.destroy())
  return {
    sqs,
    async create(QueueName, Attributes = {}) {
      const { QueueUrl } = await sqs.send(new CreateQueueCommand({ QueueName, Attributes }))
      return QueueUrl!
    },
    async counts(QueueUrl) {
      const { Attributes = {} } = await sqs.send(
        new GetQueueAttributesCommand({ QueueUrl, AttributeNames: ['All'] }),
      )
      return [
        Number(Attributes['ApproximateNumberOfMessages']),
        Number(Attributes['ApproximateNumberOfMessagesNotVisible']),
      ]
    },
    consume(options) {
      const consumer = Consumer.create({ region: REGION, batchSize: 10, ...options })
      consumer.on('error', (error) => t.diagnostic(String(error)))
      consumer.start()
      t.after(() => consumer.stop({ abort: true }))
      return consumer
    },
  }
}

function produce(queueUrl: string, count: number): Promise<unknown> {
  const messages = Array.from({ length: count }, (_, at) => ({ id: `m${at}`, body: String(at) }))
  return Producer.create({ queueUrl, region: REGION, batchSize: 10 }).send(messages)
}

function bodiesOf(messages: readonly Message[]): string[] {
  return messages.map(({ Body = '' }) => Body)
}

describe('sqs-producer and sqs-consumer', () => {
  test('hand over 1 000 messages, each once, among several consumers', async (t) => {
    const { create, counts, consume } = await shop(t)
    const queueUrl = await create('orders')
    const handled: string[] = []
    await produce(queueUrl, 1_000)
    assert.equal(await Producer.create({ queueUrl, region: REGION }).queueSize(), 1_000)
    const consumers = Array.from({ length: 4 }, (_, at) =>
      consume(
        at % 2 === 0
          ? { queueUrl, handleMessage: async (one) => (handled.push(...bodiesOf([one])), one) }
          : { queueUrl, handleMessageBatch: async (all) => (handled.push(...bodiesOf(all)), all) },
      ),
    )
    await until('nothing is left', SETTLED_MS_MAX, async () =>
      (await counts(queueUrl)).join() === '0,0' ? true : undefined,
    )
    assert.equal(handled.length, 1_000)
    assert.equal(new Set(handled).size, 1_000)
    assert.ok(consumers.every((one) => one.status.isRunning))
  })

  test('hear of a message at once that is sent while they wait', async (t) => {
    const { create, consume } = await shop(t)
    const queueUrl = await create('orders')
    let heard = Promise.withResolvers<number>()
    const idle = Promise.withResolvers<void>()
    const consumer = consume({
      queueUrl,
      waitTimeSeconds: 20,
      handleMessage: async (one) => (heard.resolve(systemClock.monotonic()), one),
      preReceiveMessageCallback: async () => idle.resolve(),
    })
    await idle.promise
    for (let tries = 1; ; tries++) {
      heard = Promise.withResolvers()
      await passing(300)
      const sentMs = systemClock.monotonic()
      await produce(queueUrl, 1)
      const tookMs = (await heard.promise) - sentMs
      t.diagnostic(`heard after ${tookMs.toFixed(0)} ms`)
      if (tookMs < 5_000) break
      assert.ok(tries < TRIES, `heard after ${tookMs} ms`)
    }
    consumer.stop({ abort: true })
  })

  test('keep a message for as long as it is worked on, by their heartbeat', async (t) => {
    const { sqs, create, counts, consume } = await shop(t)
    for (let tries = 1; ; tries++) {
      const queueUrl = await create(`slow-${tries}`)
      await produce(queueUrl, 1)
      let deliveries = 0
      const done = Promise.withResolvers<void>()
      const consumer = consume({
        queueUrl,
        visibilityTimeout: 2,
        heartbeatInterval: 1,
        async handleMessage(one) {
          deliveries += 1
          await passing(4_500)
          done.resolve()
          return one
        },
      })
      await until('it is in flight', SETTLED_MS_MAX, () => deliveries > 0 || undefined)
      const { Messages: others = [] } = await sqs.send(
        new ReceiveMessageCommand({ QueueUrl: queueUrl, WaitTimeSeconds: 3 }),
      )
      await done.promise
      await until('it is deleted', SETTLED_MS_MAX, async () =>
        others.length > 0 || (await counts(queueUrl)).join() === '0,0' ? true : undefined,
      )
      t.diagnostic(`${deliveries} times to its consumer, ${others.length} times to another`)
      // A heartbeat that comes a second late, because the machine stood still, keeps nothing.
      if (deliveries === 1 && others.length === 0) break
      assert.ok(tries < TRIES, 'it was handed out while it was worked on')
      consumer.stop({ abort: true })
    }
  })

  test('meet a message again whose handler failed, until it is a dead letter', async (t) => {
    const { sqs, create, counts, consume } = await shop(t)
    const dead = await create('dead')
    const queueUrl = await create('frail', {
      RedrivePolicy: JSON.stringify({
        deadLetterTargetArn: `arn:aws:sqs:${REGION}:000000000000:dead`,
        maxReceiveCount: 3,
      }),
    })
    await produce(queueUrl, 100)
    const deliveries = new Map<string, number>()
    const handled: string[] = []
    const failures: string[] = []
    const consumer = consume({
      queueUrl,
      terminateVisibilityTimeout: true,
      async handleMessage(one) {
        const { Body = '' } = one
        deliveries.set(Body, (deliveries.get(Body) ?? 0) + 1)
        if (Number(Body) % 10 === 0) throw new Error(`${Body} cannot be digested`)
        if (Number(Body) % 10 === 1 && deliveries.get(Body) === 1) throw new Error('not yet')
        handled.push(Body)
        return one
      },
    })
    consumer.on('processing_error', (error) => failures.push(error.message))
    await until('ten are dead and the rest is done', SETTLED_MS_MAX, async () =>
      (await counts(queueUrl)).join() === '0,0' && (await counts(dead))[0] === 10
        ? true
        : undefined,
    )
    assert.equal(handled.length, 90)
    assert.equal(failures.length, 10 * 3 + 10)
    for (let at = 0; at < 100; at++)
      assert.equal(deliveries.get(String(at)), at % 10 === 0 ? 3 : at % 10 === 1 ? 2 : 1)
    const { Messages = [] } = await sqs.send(
      new ReceiveMessageCommand({
        QueueUrl: dead,
        MaxNumberOfMessages: 10,
        MessageSystemAttributeNames: ['All'],
      }),
    )
    assert.ok(bodiesOf(Messages).every((body) => Number(body) % 10 === 0))
    for (const { Attributes } of Messages)
      assert.equal(Attributes?.DeadLetterQueueSourceArn, `arn:aws:sqs:${REGION}:000000000000:frail`)
  })
})
