/**
 * Faults as `application/problem+json` (RFC 9457).
 *
 * A refusal's facts become members of the body; the server adds the trace id when it writes one.
 */
import { PRODUCT, type Fault } from '../std/index.ts'
import type { Reply } from './route.ts'

export const PROBLEM_TYPE = 'application/problem+json'

const HEADERS: Readonly<Record<string, string>> = { 'content-type': PROBLEM_TYPE }

/** What `extra` says wins, member by member. */
export function problem(
  status: number,
  refusal: Fault,
  extra?: Readonly<Record<string, unknown>>,
  headers?: Readonly<Record<string, string>>,
): Reply {
  const { code, message, detail } = refusal
  return {
    status,
    headers: headers === undefined ? HEADERS : { ...HEADERS, ...headers },
    body: {
      ...detail,
      type: `urn:${PRODUCT}:fault:${code}`,
      title: titleOf(code),
      status,
      detail: message,
      code,
      ...extra,
    },
  }
}

function titleOf(code: string): string {
  const words = code.replaceAll('-', ' ')
  return words.charAt(0).toUpperCase() + words.slice(1)
}
