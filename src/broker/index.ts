/** The broker: queues of messages that are durable before they are acknowledged. */
export type {
  Broker,
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
export type { OverflowPolicy, QueueConfig } from './config.ts'
export { createBroker, type BrokerOptions } from './create-broker.ts'
