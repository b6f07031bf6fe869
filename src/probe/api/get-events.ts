/**
 * What happens to tests, as it happens: transitions, and the progress of those that run.
 *
 * Lines of JSON, or server-sent events for those who accept them; those go on after `Last-Event-ID` by
 * themselves. Progress is live only.
 */
import { feed, fields, route, type FeedItem, type Route } from '../../http/index.ts'
import type { TestChange } from '../probe.ts'
import { eventJson, eventSchema, hyphened, type ProbeDesk } from './answering.ts'
import { eventsQuery } from './input.ts'
import { refusals, refusing } from './refusing.ts'

export function getEvents({ probe, clock }: ProbeDesk): Route {
  return route({
    method: 'GET',
    path: '/api/v1/events',
    summary: 'Live events of tests',
    description:
      'NDJSON, or server-sent events with `Accept: text/event-stream`. Without `after` it begins with what comes next. It does not end unless `limit` is given.',
    tag: 'tests',
    access: { permission: 'test:run:read' },
    query: eventsQuery,
    answers: {
      200: {
        description: 'one on a line',
        schema: fields({
          'test-id': { type: 'string' },
          position: { type: 'integer' },
          'event?': eventSchema,
          'progress?': { type: 'object' },
        }),
        contentType: 'application/x-ndjson',
      },
      ...refusals(),
    },
    refuse: refusing(clock),
    handle({ query, headers, signal }) {
      const last = headers['last-event-id']
      const after = last !== undefined && /^\d{1,15}$/.test(last) ? Number(last) : query.after
      const { testId, limit = Infinity } = query
      const changes = probe.changes({
        signal,
        ...(after !== undefined && { after }),
        ...(testId !== undefined && { testId }),
      })
      return feed(headers['accept'], itemsOf(changes, limit))
    },
  })
}

async function* itemsOf(
  changes: AsyncIterable<TestChange>,
  limit: number,
): AsyncGenerator<FeedItem> {
  let given = 0
  for await (const change of changes) {
    const { testId, position } = change
    const head = { 'test-id': testId, position }
    if (change.type === 'event')
      yield {
        id: String(position),
        event: change.event.type,
        data: { ...head, event: eventJson(change.event) },
      }
    else yield { event: 'progress', data: { ...head, progress: hyphened(change.progress) } }
    if (++given >= limit) return
  }
}
