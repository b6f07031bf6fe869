/** A test begins with an id of its own; its bundle is brought while it is in Setup. */
import { json, route, type Route } from '../../http/index.ts'
import { isFault } from '../../std/index.ts'
import { initializedSchema, type ProbeDesk } from './answering.ts'
import { initializeBody } from './input.ts'
import { refusals, refused, refusing } from './refusing.ts'

export function postInitialize({ probe, clock }: ProbeDesk): Route {
  return route({
    method: 'POST',
    path: '/api/v1/test/initialize',
    summary: 'Begin a test',
    description:
      'Gives its id. Bring the bundle and start the test before its time in Setup is over. The same `request-id` again gives the same test.',
    tag: 'tests',
    access: { permission: 'test:run:write' },
    body: initializeBody,
    answers: {
      201: { description: 'the id of the test', schema: initializedSchema },
      ...refusals('bad-test-request', 'request-mismatch', 'probe-overloaded', 'probe-draining'),
    },
    refuse: refusing(clock),
    async handle({ body, principal }) {
      const requestId = body['request-id']
      const begun = await probe.initialize({
        by: principal.subject,
        ...(requestId !== undefined && { requestId }),
        ...(body.priority !== undefined && { priority: body.priority }),
      })
      if (isFault(begun)) return refused(begun, clock)
      return json(201, { 'test-id': begun.testId, message: begun.message })
    },
  })
}
