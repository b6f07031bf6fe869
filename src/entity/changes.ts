/**
 * The change feed: every event of one kind of entity, brought to today's version, in order and once.
 *
 * The position of the feed is that of the journal, so it goes on where it was also past events of
 * others. An event that cannot be read ends the feed: nothing is left out silently.
 */
import type { Journal, StoredEvent, Subscription } from '../journal/index.ts'
import type { Change } from './entities.ts'
import { decodeEvent, keyOf, type Decoding } from './internal/codec.ts'

export type ChangesOptions<Event> = Readonly<{
  after: number
  handle: (changes: readonly Change<Event>[]) => void | PromiseLike<void>
}>

export function changes<Event>(
  journal: Journal,
  definition: Decoding<Event>,
  { after, handle }: ChangesOptions<Event>,
): Subscription {
  return journal.subscribe({
    after,
    async handle(events) {
      const changed = changesIn([definition], events)
      if (changed.length > 0) await handle(changed)
    },
  })
}

/** Those of the events that are of these entities. */
export function changesIn<Event>(
  of: readonly Decoding<Event>[],
  events: readonly StoredEvent[],
): readonly Change<Event>[] {
  return events.flatMap((stored) => {
    const key = keyOf(stored.stream)
    const definition = of.find(({ type }) => type === key?.type)
    if (key === undefined || definition === undefined) return []
    return [{ key, event: decodeEvent(definition, stored), stored }]
  })
}
