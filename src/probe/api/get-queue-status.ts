/** How many tests are in which state, and where one of them stands. */
import { json, route, type Route } from '../../http/index.ts'
import { isFault } from '../../std/index.ts'
import { queueJson, queueSchema, type ProbeDesk } from './answering.ts'
import { queueQuery } from './input.ts'
import { refusals, refused, refusing } from './refusing.ts'

export function getQueueStatus({ probe, clock }: ProbeDesk): Route {
  return route({
    method: 'GET',
    path: '/api/v1/queue/status',
    summary: 'The queue of tests',
    description: 'The counts add up. With `testId` it also says where that test stands.',
    tag: 'tests',
    access: { permission: 'test:run:read' },
    query: queueQuery,
    answers: {
      200: { description: 'tests by state', schema: queueSchema },
      ...refusals('no-such-test'),
    },
    refuse: refusing(clock),
    async handle({ query }) {
      const status = await probe.queueStatus(query.testId)
      return isFault(status) ? refused(status, clock) : json(200, queueJson(status))
    },
  })
}
