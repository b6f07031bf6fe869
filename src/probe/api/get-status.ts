/** Where a test is, and what came of it; for as long as it is remembered. */
import { json, route, type Route } from '../../http/index.ts'
import { isFault } from '../../std/index.ts'
import { statusJson, statusSchema, type ProbeDesk } from './answering.ts'
import { testParams } from './input.ts'
import { refusals, refused, refusing } from './refusing.ts'

export function getStatus({ probe, clock }: ProbeDesk): Route {
  return route({
    method: 'GET',
    path: '/api/v1/test/{testId}/status',
    summary: 'Status of a test',
    tag: 'tests',
    access: { permission: 'test:run:read' },
    params: testParams,
    answers: {
      200: { description: 'its state, and its result once it has one', schema: statusSchema },
      ...refusals('no-such-test'),
    },
    refuse: refusing(clock),
    async handle({ params }) {
      const status = await probe.status(params.testId)
      return isFault(status) ? refused(status, clock) : json(200, statusJson(status))
    },
  })
}
