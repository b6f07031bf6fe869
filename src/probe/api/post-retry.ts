/** A test that has ended stands in line again, with the same bundle, as a further attempt. */
import { route, type Route } from '../../http/index.ts'
import { isFault } from '../../std/index.ts'
import { startedReply, startedSchema, type ProbeDesk } from './answering.ts'
import { testParams } from './input.ts'
import { refusals, refused, refusing } from './refusing.ts'

export function postRetry({ probe, clock }: ProbeDesk): Route {
  return route({
    method: 'POST',
    path: '/api/v1/test/{testId}/retry',
    summary: 'Run a test again',
    tag: 'tests',
    access: { permission: 'test:run:write' },
    params: testParams,
    answers: {
      202: { description: 'where it stands in line', schema: startedSchema },
      ...refusals('no-such-test'),
      409: { description: 'it was never started, or has not ended', schema: startedSchema },
      429: { description: 'the line is as long as it may be', schema: startedSchema },
    },
    refuse: refusing(clock),
    async handle({ params }) {
      const started = await probe.retry(params.testId)
      return isFault(started) ? refused(started, clock) : startedReply(started, clock)
    },
  })
}
