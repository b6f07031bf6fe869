/** What is kept of a run, with sizes and hashes. */
import { fields, json, list, route, type Route } from '../../http/index.ts'
import { isFault } from '../../std/index.ts'
import { fileJson, fileSchema, type ProbeDesk } from './answering.ts'
import { testParams } from './input.ts'
import { refusals, refused, refusing } from './refusing.ts'

export function listEvidence({ probe, clock }: ProbeDesk): Route {
  return route({
    method: 'GET',
    path: '/api/v1/test/{testId}/evidence',
    summary: 'Evidence of a test',
    tag: 'tests',
    access: { permission: 'test:run:read' },
    params: testParams,
    answers: {
      200: { description: 'its files', schema: fields({ files: list(fileSchema) }) },
      ...refusals('no-such-test', 'no-such-evidence'),
    },
    refuse: refusing(clock),
    async handle({ params }) {
      const files = await probe.evidence(params.testId)
      return isFault(files) ? refused(files, clock) : json(200, { files: files.map(fileJson) })
    },
  })
}
