/** A bundle is brought to a test as one archive; its path is what the test is started with. */
import { fields, json, route, type Route } from '../../http/index.ts'
import { isFault } from '../../std/index.ts'
import type { ProbeDesk } from './answering.ts'
import { testParams } from './input.ts'
import { ERROR_SCHEMA, refusals, refusedUpload, refusing } from './refusing.ts'

const ZIP = 'application/zip'

export function putBundle({ probe, clock, uploadBytesMax }: ProbeDesk): Route {
  return route({
    method: 'PUT',
    path: '/api/v1/test/{testId}/bundle',
    summary: 'Bring a bundle',
    description:
      'A zip file with `features/` and whatever else the bundle has. Start the test with the `block-storage-path` of the answer.',
    tag: 'tests',
    access: { permission: 'test:run:write' },
    params: testParams,
    upload: [ZIP],
    bodyBytesMax: uploadBytesMax,
    answers: {
      201: {
        description: 'where it is',
        schema: fields({
          'test-id': { type: 'string' },
          'block-storage-path': { type: 'string' },
        }),
      },
      ...refusals('no-such-test'),
      409: {
        description: 'the test was started before, or another bundle is on its way',
        schema: ERROR_SCHEMA,
        contentType: 'application/json',
      },
    },
    refuse: refusing(clock),
    async handle({ params, pieces, signal }) {
      const { testId } = params
      const kept = await probe.upload(testId, pieces, { contentType: ZIP, signal })
      if (isFault(kept)) return refusedUpload(kept, clock)
      return json(201, { 'test-id': testId, 'block-storage-path': kept.path })
    },
  })
}
