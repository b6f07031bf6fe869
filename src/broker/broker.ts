/**
 * The broker: queues by name.
 *
 * Every queue is an actor; this is the door through which the wires, the command line and programs reach it.
 * What is sent, deleted or moved is durable before the answer leaves; what is received is not.
 */
import type { Fault } from '../std/index.ts'
import type { QueueConfig } from './config.ts'

/** Queues of two accounts or two regions have nothing to do with each other. */
export type QueueName = Readonly<{ account: string; region: string; name: string }>

export type QueueInfo = Readonly<{
  name: QueueName
  config: QueueConfig
  tags: Readonly<Record<string, string>>
  createdAt: number
  modifiedAt: number
  paused: Readonly<{ receive: boolean; send: boolean }>
}>

/** Text, or bytes as base64. `type` is SQS's data type: String, Number, Binary, each with a suffix maybe. */
export type MessageAttribute = Readonly<{ type: string } & ({ text: string } | { base64: string })>

export type NewMessage = Readonly<{
  body: string
  attributes?: Readonly<Record<string, MessageAttribute>>
  /** 0 to 255, higher first. */
  priority?: number
  delayMs?: number
  /** How old it may become, if that is less than the queue allows. */
  ttlMs?: number
  /** FIFO: order within it. Standard: groups take turns. */
  group?: string
  dedupId?: string
  trace?: string
  sender?: string
}>

export type Sent = Readonly<{
  ok: true
  messageId: string
  /** Grows with every message of the broker. */
  seq: number
  /** It had been sent before, and this is that message. */
  duplicate: boolean
}>

/** Names one delivery. A wire makes a text of it that nobody can guess. */
export type Receipt = Readonly<{
  queueId: number
  slot: number
  gen: number
  seq: number
  token: number
}>

export type Failure = Readonly<{ at: number; reason: string; consumer?: string }>

export type Message = Readonly<{
  messageId: string
  seq: number
  body: string
  attributes: Readonly<Record<string, MessageAttribute>>
  priority: number
  receives: number
  sentAt: number
  firstReceivedAt?: number
  group?: string
  dedupId?: string
  trace?: string
  sender?: string
  /** Where it died, for a dead letter. */
  deadLetterOf?: QueueName
  failures: readonly Failure[]
}>

export type Delivery = Message & Readonly<{ receipt: Receipt; visibleAt: number }>

export type MessageState = 'ready' | 'delayed' | 'leased'
export type Browsed = Message & Readonly<{ state: MessageState; dueAt?: number }>

export type Settlement = Readonly<{ receipt: Receipt; consumer?: string }> &
  (
    | Readonly<{ type: 'delete' }>
    /** It failed: again after the back-off, or after `delayMs`, or to the dead letters. */
    | Readonly<{ type: 'nack'; delayMs?: number; reason?: string }>
    /** It was not looked at: back to its place, and the delivery does not count. */
    | Readonly<{ type: 'release' }>
    /** Hidden for so long from now on. */
    | Readonly<{ type: 'extend'; visibilityMs: number }>
    /** To the dead letters at once. */
    | Readonly<{ type: 'reject'; reason?: string }>
  )

export type Settled = Readonly<{
  ok: true
  /** False where the delivery had ended and nothing was left to do. */
  effective: boolean
}>

/** What has happened, to one queue since it woke or to all of them since the broker began. */
export type QueueCounts = Readonly<{
  sent: number
  received: number
  deleted: number
  nacked: number
  expired: number
  deadLettered: number
  dropped: number
  duplicates: number
  purged: number
  /** By a redrive, to another queue. */
  moved: number
  leasesEnded: number
}>

export type QueueStats = Readonly<{
  ready: number
  delayed: number
  leased: number
  bytes: number
  oldestAgeMs: number
  waiting: number
}> &
  QueueCounts

/** Over all queues, since the broker began. */
export type BrokerMetrics = Readonly<{
  queues: number
  /** Queues whose messages are in memory; the others have none, or are about to be read. */
  awakeQueues: number
  /** In those that are awake. */
  ready: number
  delayed: number
  leased: number
  messageBytes: number
  /** Receives that wait. */
  waiting: number
  /** Texts of messages in memory, in characters. */
  textChars: number
  commits: number
  records: number
  refusals: number
}> &
  QueueCounts

export type MoveTask = Readonly<{
  handle: string
  source: QueueName
  /** Undefined where each message goes back to where it died. */
  target?: QueueName
  state: 'running' | 'completed' | 'cancelling' | 'cancelled' | 'failed'
  ratePerSecond?: number
  startedAt: number
  moved: number
  toMove: number
  reason?: string
}>

export type QueueFault = Fault<
  | 'no-such-queue'
  | 'queue-exists'
  | 'queue-deleted'
  | 'bad-queue-name'
  | 'bad-queue-config'
  | 'bad-message'
  | 'message-too-large'
  | 'queue-full'
  | 'queue-paused'
  | 'bad-receipt'
  | 'stale-receipt'
  | 'not-in-flight'
  | 'too-many-in-flight'
  | 'too-many-parked'
  | 'too-many-queues'
  | 'store-read-only'
  | 'unknown-outcome'
  | 'broker-overloaded'
  | 'broker-closed'
  | 'purge-in-progress'
  | 'no-such-task'
  | 'task-running'
  | 'no-dead-letters'
  | 'unreadable'
>

export type CreateOptions = Readonly<{
  /** What to do if there is one: refuse it unless it is the same (default), leave it, or change it. */
  ifExists?: 'same' | 'ignore' | 'update'
  tags?: Readonly<Record<string, string>>
}>

export type ReceiveOptions = Readonly<{
  max: number
  waitMs?: number
  visibilityMs?: number
  /** Ends the waiting; what was not handed out stays. */
  signal?: AbortSignal
  /** FIFO: the same id within five minutes gets the same messages again. */
  attemptId?: string
}>

export type BrowseOptions = Readonly<{
  state?: MessageState
  /** After this message; from the oldest otherwise. */
  after?: number
  limit: number
  /** What the id, the body or an attribute has in it. */
  search?: string
}>

export type RedriveOptions = Readonly<{
  to?: QueueName
  ids?: readonly string[]
  search?: string
  ratePerSecond?: number
}>

export interface Broker extends AsyncDisposable {
  /** Made when the broker first began and kept since: what a wire signs its receipts with. */
  readonly secret: string
  create(
    name: QueueName,
    config?: Partial<QueueConfig> & Readonly<{ maxRetries?: number }>,
    options?: CreateOptions,
  ): Promise<QueueInfo | QueueFault>
  update(name: QueueName, patch: Partial<QueueConfig>): Promise<QueueInfo | QueueFault>
  describe(name: QueueName): QueueInfo | QueueFault
  /** By name, within an account and a region; `after` is a name. */
  list(
    of: Readonly<{ account: string; region: string }>,
    page?: Readonly<{ prefix?: string; after?: string; limit?: number }>,
  ): readonly QueueInfo[]
  /** Settles when it is durable; whoever waits at the queue is told, and its messages go bit by bit. */
  delete(name: QueueName): Promise<Readonly<{ ok: true }> | QueueFault>
  tag(
    name: QueueName,
    change: Readonly<{ set?: Readonly<Record<string, string>>; unset?: readonly string[] }>,
  ): Promise<QueueInfo | QueueFault>
  pause(
    name: QueueName,
    what: Readonly<{ receive?: boolean; send?: boolean }>,
  ): Promise<QueueInfo | QueueFault>
  /** Everything that nobody holds is gone; says how many. */
  purge(
    name: QueueName,
    options?: Readonly<{ includeLeased?: boolean }>,
  ): Promise<Readonly<{ ok: true; purged: number }> | QueueFault>
  /** One answer for each, in their order; what is taken of one call becomes durable together. */
  send(name: QueueName, messages: readonly NewMessage[]): Promise<readonly (Sent | QueueFault)[]>
  receive(name: QueueName, options: ReceiveOptions): Promise<readonly Delivery[] | QueueFault>
  settle(name: QueueName, items: readonly Settlement[]): Promise<readonly (Settled | QueueFault)[]>
  /** Looks without taking; nothing changes, no delivery is counted. */
  browse(
    name: QueueName,
    options: BrowseOptions,
  ): Promise<Readonly<{ ok: true; messages: readonly Browsed[]; next?: number }> | QueueFault>
  get(name: QueueName, messageId: string): Promise<Browsed | undefined | QueueFault>
  /** Takes dead letters back to where they died, or elsewhere. */
  redrive(name: QueueName, options?: RedriveOptions): Promise<MoveTask | QueueFault>
  /** The latest first. */
  moveTasks(name: QueueName): Promise<readonly MoveTask[] | QueueFault>
  cancelMoveTask(handle: string): Promise<MoveTask | QueueFault>
  /** Queues whose dead letters go to this one. */
  deadLetterSources(name: QueueName): readonly QueueInfo[]
  stats(name: QueueName): Promise<QueueStats | QueueFault>
  metrics(): BrokerMetrics
  /** Ends intake and lets what was begun become durable. */
  close(): Promise<void>
}
