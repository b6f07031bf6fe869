/** The broker: queues of messages that are durable before they are acknowledged. */
export { queueRoutes, type QueueRoutesOptions } from './api/routes.ts'
export type {
  Broker,
  BrokerMetrics,
  Browsed,
  BrowseOptions,
  CreateOptions,
  Delivery,
  Failure,
  Message,
  MessageAttribute,
  MessageState,
  MoveTask,
  NewMessage,
  QueueFault,
  QueueInfo,
  QueueName,
  QueueStats,
  Receipt,
  ReceiveOptions,
  RedriveOptions,
  Sent,
  Settled,
  Settlement,
} from './broker.ts'
export {
  queue,
  type BatchItem,
  type DeadLetters,
  type MessagesOptions,
  type Queue,
  type QueueOptions,
  type SendOptions,
  type TakeOptions,
} from './client.ts'
export type { BodySchema } from './client/body.ts'
export type { Consumer, ConsumeOptions, Handler, Handling } from './client/consumer.ts'
export type { Received } from './client/received.ts'
export type { OverflowPolicy, QueueConfig } from './config.ts'
export { createBroker, type BrokerOptions } from './create-broker.ts'
export { BODIES_BYTES_DEFAULT } from './limits.ts'
export { HOME, type GivenConfig, type QueuePlace } from './own-queues.ts'
export type { SqsKey, SqsRule } from './sqs/access.ts'
export { sqsWire, type SqsOptions } from './sqs/wire.ts'
