/** Keeps the producers of a test open, one for each topic that it produces to. */
import type { Behavior } from '../../kernel/index.ts'
import type { EventsMessage } from '../protocol.ts'
import type { ChildOptions } from './child.ts'
import { events } from './events.ts'

export function producer(options: ChildOptions): Behavior<EventsMessage> {
  return events(options, 'producer', ({ room, security }, signal) =>
    room.openProducing(security, signal),
  )
}
