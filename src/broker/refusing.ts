/** The same answer to whatever a queue is asked, where it can do nothing. */
import { unreachable } from '../std/index.ts'
import type { QueueFault } from './broker.ts'
import type { QueueMessage } from './queue.ts'

export function refuse(message: QueueMessage, reason: QueueFault): undefined {
  switch (message.type) {
    case 'send':
      message.replyTo.tell(message.messages.map(() => reason))
      break
    case 'settle':
      message.replyTo.tell(message.items.map(() => reason))
      break
    case 'receive':
    case 'purge':
    case 'redrive':
    case 'redrives':
    case 'cancel-redrive':
    case 'states':
    case 'stats':
      message.replyTo.tell(reason)
      break
    case 'wake':
    case 'configure':
      message.replyTo.tell(true)
      break
    // What nobody waits for, or what has been begun and cannot be refused.
    case 'stop-waiting':
    case 'arrived':
    case 'end':
    case 'written':
    case 'texts':
    case 'graves':
    case 'to-move':
    case 'due':
    case 'go-on':
      break
    default:
      unreachable(message)
  }
  return undefined
}
