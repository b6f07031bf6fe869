/** All routes of the queues: queues themselves, messages, and dead letters. */
import type { Route } from '../../http/index.ts'
import type { Broker } from '../broker.ts'
import { HOME, type QueuePlace } from '../own-queues.ts'
import { ReceiptHandles } from '../sqs/receipt-handle.ts'
import { deleteDeadLetters } from './delete-dead-letters.ts'
import { deleteMessages } from './delete-messages.ts'
import { deleteQueue } from './delete-queue.ts'
import { deleteRedrive } from './delete-redrive.ts'
import { getMessage } from './get-message.ts'
import { getQueue } from './get-queue.ts'
import { listDeadLetters } from './list-dead-letters.ts'
import { listMessages } from './list-messages.ts'
import { listQueues } from './list-queues.ts'
import { listRedrives } from './list-redrives.ts'
import { patchQueue } from './patch-queue.ts'
import { patchTags } from './patch-tags.ts'
import { postDeliveries } from './post-deliveries.ts'
import { postMessages } from './post-messages.ts'
import { postRedrive } from './post-redrive.ts'
import { postSettlements } from './post-settlements.ts'
import { putPaused } from './put-paused.ts'
import { putQueue } from './put-queue.ts'

export type QueueRoutesOptions = Readonly<{
  /** Where a queue is whose place is not said. */
  home?: QueuePlace
}>

export function queueRoutes(broker: Broker, options: QueueRoutesOptions = {}): readonly Route[] {
  const desk = {
    broker,
    receipts: new ReceiptHandles(broker.secret),
    home: options.home ?? HOME,
  }
  return [
    listQueues(desk),
    putQueue(desk),
    getQueue(desk),
    patchQueue(desk),
    deleteQueue(desk),
    putPaused(desk),
    patchTags(desk),
    postMessages(desk),
    postDeliveries(desk),
    postSettlements(desk),
    listMessages(desk),
    getMessage(desk),
    deleteMessages(desk),
    listDeadLetters(desk),
    deleteDeadLetters(desk),
    postRedrive(desk),
    listRedrives(desk),
    deleteRedrive(desk),
  ]
}
