/** Keeps the consumers of a test open. It is ready when the start of each is fixed in every partition. */
import type { Behavior } from '../../kernel/index.ts'
import type { EventsMessage } from '../protocol.ts'
import type { ChildOptions } from './child.ts'
import { events } from './events.ts'

export function consumer(options: ChildOptions): Behavior<EventsMessage> {
  return events(options, 'consumer', ({ room, security }, signal, onLost) =>
    room.openConsuming(security, signal, onLost),
  )
}
