/** A test is started with the place of its bundle, and stands in line until its turn comes. */
import { route, type Route } from '../../http/index.ts'
import { isFault } from '../../std/index.ts'
import { startedReply, startedSchema, type ProbeDesk } from './answering.ts'
import { startBody } from './input.ts'
import { refusals, refused, refusing } from './refusing.ts'

export function postStart({ probe, clock }: ProbeDesk): Route {
  return route({
    method: 'POST',
    path: '/api/v1/test/start',
    summary: 'Start a test',
    description:
      'Its bundle is loaded at once; it runs when it is its turn. A start that is not accepted says why, and changes nothing.',
    tag: 'tests',
    access: { permission: 'test:run:write' },
    body: startBody,
    answers: {
      202: { description: 'where it stands in line', schema: startedSchema },
      ...refusals('bad-test-request', 'no-such-test', 'request-mismatch'),
      409: { description: 'it was started before, or has ended', schema: startedSchema },
      429: { description: 'the line is as long as it may be', schema: startedSchema },
    },
    refuse: refusing(clock),
    async handle({ body }) {
      const { tags, priority, exclusive } = body
      const { 'test-type': testType, 'dry-run': dryRun, 'request-id': requestId } = body
      const started = await probe.start(body['test-id'], {
        bucket: body['block-storage-path'].trim(),
        ...(testType !== undefined && { testType }),
        ...(tags !== undefined && { tags }),
        ...(priority !== undefined && { priority }),
        ...(exclusive !== undefined && { exclusive }),
        ...(dryRun !== undefined && { dryRun }),
        ...(requestId !== undefined && { requestId }),
      })
      return isFault(started) ? refused(started, clock) : startedReply(started, clock)
    },
  })
}
