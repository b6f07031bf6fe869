/** The end of the state that a test is in is put off. */
import { fields, json, route, type Route } from '../../http/index.ts'
import { isFault, isoTime } from '../../std/index.ts'
import type { ProbeDesk } from './answering.ts'
import { extendBody, testParams } from './input.ts'
import { refusals, refused, refusing } from './refusing.ts'

export function postExtend({ probe, clock }: ProbeDesk): Route {
  return route({
    method: 'POST',
    path: '/api/v1/test/{testId}/extend',
    summary: 'Give a test more time',
    tag: 'tests',
    access: { permission: 'test:run:write' },
    params: testParams,
    body: extendBody,
    answers: {
      200: {
        description: 'when its time is over now',
        schema: fields({
          'test-id': { type: 'string' },
          'deadline-at': { type: 'string', format: 'date-time' },
        }),
      },
      ...refusals('no-such-test', 'not-extendable', 'bad-test-request'),
    },
    refuse: refusing(clock),
    async handle({ params, body }) {
      const extended = await probe.extend(params.testId, body.ms)
      if (isFault(extended)) return refused(extended, clock)
      const { testId, deadlineAt } = extended
      return json(200, { 'test-id': testId, 'deadline-at': isoTime(deadlineAt) })
    },
  })
}
