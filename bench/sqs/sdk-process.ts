/**
 * Amazon's own client, in a process of its own: what it can do against a server that does nothing is the limit of what
 * it can do against ours. A task comes as a message and is answered with a message.
 */
import { drive } from '../durable/load.ts'
import { ACCOUNT, BODY, KEY, QUEUE, REGION } from './servers.ts'

export type SdkKind = 'send' | 'batch' | 'receive'
/** `count` is a number of messages; a queue is created once. */
export type SdkTask = Readonly<{ origin: string; kind: SdkKind | 'create'; count: number }>
/** In milliseconds since the epoch, with fractions: clocks of two processes are compared. */
export type SdkDone = Readonly<{ startedAt: number; endedAt: number }> | Readonly<{ error: string }>

// In a variable, since the compiler does not know what is installed for the benchmarks alone.
const SDK: string = '@aws-sdk/client-sqs'
const IN_FLIGHT = 32
const BATCH = 10

type Client = Readonly<{ send(command: unknown): Promise<Answer> }>
type Answer = Readonly<{
  QueueUrl?: string
  MessageId?: string
  Successful?: readonly unknown[]
  Messages?: readonly Readonly<{ ReceiptHandle: string }>[]
}>

const sdk = await import(SDK)
const clients = new Map<string, Client>()

process.on('message', (task: SdkTask) => void serve(task))

async function serve(task: SdkTask): Promise<void> {
  const done = await work(task).catch((error: unknown) => ({ error: String(error) }))
  process.send!(done)
}

async function work({ origin, kind, count }: SdkTask): Promise<SdkDone> {
  const client = clientOf(origin)
  const QueueUrl = `${origin}/${ACCOUNT}/${QUEUE}`
  const issue = {
    send: () => sendOne(client, QueueUrl),
    batch: () => sendTen(client, QueueUrl),
    receive: () => receiveTen(client, QueueUrl),
    create: () => create(client),
  }[kind]
  const startedAt = performance.timeOrigin + performance.now()
  await drive({
    count: kind === 'batch' || kind === 'receive' ? count / BATCH : count,
    inFlight: IN_FLIGHT,
    issue,
    good: Boolean,
  })
  return { startedAt, endedAt: performance.timeOrigin + performance.now() }
}

/** One for each server, with its connections; all of them are used. */
function clientOf(origin: string): Client {
  const known = clients.get(origin)
  if (known !== undefined) return known
  const config = { region: REGION, endpoint: origin, credentials: KEY, maxAttempts: 1 }
  const client: Client = new sdk.SQSClient(config)
  clients.set(origin, client)
  return client
}

async function create(client: Client): Promise<boolean> {
  const answer = await client.send(new sdk.CreateQueueCommand({ QueueName: QUEUE }))
  return answer.QueueUrl !== undefined
}

async function sendOne(client: Client, QueueUrl: string): Promise<boolean> {
  const answer = await client.send(new sdk.SendMessageCommand({ QueueUrl, MessageBody: BODY }))
  return answer.MessageId !== undefined
}

async function sendTen(client: Client, QueueUrl: string): Promise<boolean> {
  const Entries = Array.from({ length: BATCH }, (_, index) => ({
    Id: String(index),
    MessageBody: BODY,
  }))
  const answer = await client.send(new sdk.SendMessageBatchCommand({ QueueUrl, Entries }))
  return answer.Successful?.length === BATCH
}

/** And deletes them. */
async function receiveTen(client: Client, QueueUrl: string): Promise<boolean> {
  const { Messages = [] } = await client.send(
    new sdk.ReceiveMessageCommand({ QueueUrl, MaxNumberOfMessages: BATCH }),
  )
  const Entries = Messages.map(({ ReceiptHandle }, index) => ({ Id: String(index), ReceiptHandle }))
  if (Entries.length !== BATCH) return false
  const answer = await client.send(new sdk.DeleteMessageBatchCommand({ QueueUrl, Entries }))
  return answer.Successful?.length === BATCH
}
