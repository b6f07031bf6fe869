/** A test is cancelled, wherever it is: one that runs is asked to end, then killed. */
import { json, route, type Route } from '../../http/index.ts'
import { isFault } from '../../std/index.ts'
import { cancelledJson, cancelledSchema, type ProbeDesk } from './answering.ts'
import { testParams } from './input.ts'
import { refusals, refused, refusing } from './refusing.ts'

export function deleteTest({ probe, clock }: ProbeDesk): Route {
  return route({
    method: 'DELETE',
    path: '/api/v1/test/{testId}',
    summary: 'Cancel a test',
    description: 'One that has ended stays as it is: `cancelled` is false, and `message` says why.',
    tag: 'tests',
    access: { permission: 'test:run:write' },
    params: testParams,
    answers: {
      200: { description: 'whether it was cancelled', schema: cancelledSchema },
      ...refusals('no-such-test'),
    },
    refuse: refusing(clock),
    async handle({ params, principal }) {
      const cancelled = await probe.cancel(params.testId, { by: principal.subject })
      return isFault(cancelled) ? refused(cancelled, clock) : json(200, cancelledJson(cancelled))
    },
  })
}
