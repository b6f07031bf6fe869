/** Tests, the latest first, a page at a time. */
import { fields, json, list, route, type Route } from '../../http/index.ts'
import { isFault } from '../../std/index.ts'
import { statusJson, statusSchema, type ProbeDesk } from './answering.ts'
import { listQuery } from './input.ts'
import { refusals, refused, refusing } from './refusing.ts'

export function listTests({ probe, clock }: ProbeDesk): Route {
  return route({
    method: 'GET',
    path: '/api/v1/tests',
    summary: 'Tests',
    description:
      'The latest first, also those that have ended. `text` is looked for in the id, the path, the type, who wanted it and the error; `next` goes on with the page behind it.',
    tag: 'tests',
    access: { permission: 'test:run:read' },
    query: listQuery,
    answers: {
      200: {
        description: 'a page of tests; `next` is missing on the last',
        schema: fields({ tests: list(statusSchema), 'next?': { type: 'string' } }),
      },
      ...refusals('bad-test-request'),
    },
    refuse: refusing(clock),
    async handle({ query: { 'test-type': testType, ...query } }) {
      const page = await probe.list({ ...query, ...(testType !== undefined && { testType }) })
      if (isFault(page)) return refused(page, clock)
      const { tests, next } = page
      return json(200, { tests: tests.map(statusJson), ...(next !== undefined && { next }) })
    },
  })
}
