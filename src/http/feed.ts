/**
 * Feeds: what happens, as it happens, to one caller over one answer that does not end by itself.
 *
 * A caller that asks for `text/event-stream` gets server-sent events, everybody else a line of JSON
 * for each item. The server writes an item when the caller has taken those before it, so a slow
 * caller slows its own feed and nobody else's.
 */
import { assert } from '../std/index.ts'
import type { Reply } from './route.ts'

export type FeedItem = Readonly<{
  /** Where a caller that comes back may go on; server-sent events return it as `Last-Event-ID`. */
  id?: string
  event?: string
  data: unknown
}>

export const EVENT_STREAM_TYPE = 'text/event-stream'
export const NDJSON_TYPE = 'application/x-ndjson'

/** `accept` is the caller's header of that name. */
export function feed(accept: string | undefined, items: AsyncIterable<FeedItem>): Reply {
  const asEvents = accept !== undefined && accept.includes(EVENT_STREAM_TYPE)
  return {
    status: 200,
    headers: {
      'content-type': asEvents ? EVENT_STREAM_TYPE : NDJSON_TYPE,
      'x-accel-buffering': 'no', // a proxy that collects would turn a feed into a batch
    },
    stream: asEvents ? written(items, eventText) : written(items, lineText),
    heartbeat: asEvents ? ':\n\n' : '\n',
  }
}

async function* written(
  items: AsyncIterable<FeedItem>,
  textOf: (item: FeedItem) => string,
): AsyncGenerator<string> {
  for await (const item of items) yield textOf(item)
}

function eventText({ id, event, data }: FeedItem): string {
  assert(!/[\r\n\0]/.test(`${id ?? ''}${event ?? ''}`), 'ids and names of events are one line')
  return (
    (id === undefined ? '' : `id: ${id}\n`) +
    (event === undefined ? '' : `event: ${event}\n`) +
    `data: ${JSON.stringify(data)}\n\n`
  )
}

function lineText({ data }: FeedItem): string {
  return `${JSON.stringify(data)}\n`
}
