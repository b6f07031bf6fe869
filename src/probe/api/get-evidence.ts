/** One file of the evidence, as it was stored. */
import { route, type Route } from '../../http/index.ts'
import { isFault } from '../../std/index.ts'
import type { ProbeDesk } from './answering.ts'
import { fileParams } from './input.ts'
import { refusals, refused, refusing } from './refusing.ts'

/** Pages of users may do nothing: a report is looked at, and asks nobody for anything else. */
const PAGE_POLICY =
  "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:; font-src data:; sandbox allow-scripts"

const TYPES: Readonly<Record<string, string>> = {
  html: 'text/html; charset=utf-8',
  json: 'application/json',
  jsonl: 'application/x-ndjson',
  ndjson: 'application/x-ndjson',
  xml: 'application/xml',
  log: 'text/plain; charset=utf-8',
}

export function getEvidence({ probe, clock }: ProbeDesk): Route {
  return route({
    method: 'GET',
    path: '/api/v1/test/{testId}/evidence/{name}',
    summary: 'A file of the evidence',
    tag: 'tests',
    access: { permission: 'test:run:read' },
    params: fileParams,
    answers: {
      200: { description: 'the file', contentType: 'application/octet-stream' },
      ...refusals('no-such-test', 'no-such-evidence'),
    },
    refuse: refusing(clock),
    async handle({ params: { testId, name } }) {
      const stream = await probe.openEvidence(testId, name)
      if (isFault(stream)) return refused(stream, clock)
      const ending = name.slice(name.lastIndexOf('.') + 1)
      return {
        status: 200,
        headers: {
          'content-type': TYPES[ending] ?? 'application/octet-stream',
          'content-security-policy': PAGE_POLICY,
        },
        stream,
      }
    },
  })
}
