/** Everything that is on record of one test, in the order it happened. */
import { fields, json, list, route, type Route } from '../../http/index.ts'
import { isFault } from '../../std/index.ts'
import { eventJson, eventSchema, type ProbeDesk } from './answering.ts'
import { testParams } from './input.ts'
import { refusals, refused, refusing } from './refusing.ts'

export function getHistory({ probe, clock }: ProbeDesk): Route {
  return route({
    method: 'GET',
    path: '/api/v1/test/{testId}/history',
    summary: 'History of a test',
    tag: 'tests',
    access: { permission: 'test:run:read' },
    params: testParams,
    answers: {
      200: { description: 'its events', schema: fields({ events: list(eventSchema) }) },
      ...refusals('no-such-test'),
    },
    refuse: refusing(clock),
    async handle({ params }) {
      const events = await probe.history(params.testId)
      if (isFault(events)) return refused(events, clock)
      return json(200, { events: events.map(eventJson) })
    },
  })
}
