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
  const members = {
    type: `urn:${PRODUCT}:fault:${code}`,
    title: titleOf(code),
    status,
    detail: message,
    code,
  }
  return {
    status,
    headers: headers === undefined ? HEADERS : { ...HEADERS, ...headers },
    // First and again: in this order, and no fact of a fault may stand in their place.
    body: { ...members, ...detail, ...members, ...extra },
  }
}

function titleOf(code: string): string {
  const words = code.replaceAll('-', ' ')
  return words.charAt(0).toUpperCase() + words.slice(1)
}
