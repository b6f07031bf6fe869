/** A server for tests: routes without ceremony, a clock that is turned by hand, and what was logged. */
import assert from 'node:assert/strict'

import {
  createHttp,
  flag,
  json,
  loopbackAuthenticator,
  optional,
  route,
  shape,
  text,
  whole,
  type Authenticator,
  type Http,
  type HttpOptions,
  type InjectedAnswer,
  type ParamsOf,
  type Principal,
  type Route,
  type RouteDefinition,
} from '../../src/http/index.ts'
import { afterIo, fault, lineLog } from '../../src/std/index.ts'
import { virtualClock, type VirtualClock } from '../../src/testkit/index.ts'

export type Parts<Path extends string, P, Q, B> = Pick<RouteDefinition<Path, P, Q, B>, 'path'> &
  Partial<RouteDefinition<Path, P, Q, B>>

export function aRoute<const Path extends string, P = ParamsOf<Path>, Q = undefined, B = undefined>(
  parts: Parts<Path, P, Q, B>,
): Route {
  return route({
    method: 'GET',
    summary: 'A route.',
    tag: 'test',
    access: 'open',
    answers: { 200: { description: 'It.' } },
    handle: () => json(200, { ok: true }),
    ...parts,
  })
}

export function serve(
  routes: readonly Route[],
  options: Partial<HttpOptions> = {},
): { http: Http; clock: VirtualClock; lines: string[] } {
  const clock = virtualClock()
  const lines: string[] = []
  const http = createHttp({
    routes,
    authenticator: loopbackAuthenticator(),
    log: lineLog((line) => lines.push(line), { clock }),
    clock,
    info: { title: 'Test', version: '1' },
    ...options,
  })
  return { http, clock, lines }
}

export function codeOf(answer: InjectedAnswer): string {
  assert.equal(answer.headers['content-type'], 'application/problem+json', answer.text)
  const { code, remedy, traceId, status } = answer.json() as Record<string, unknown>
  assert.equal(typeof remedy, 'string')
  assert.match(String(traceId), /^[0-9a-f]{32}$/)
  assert.equal(status, answer.status)
  return `${answer.status} ${String(code)}`
}

export const JSON_TYPE: Readonly<Record<string, string>> = { 'content-type': 'application/json' }

export function principals(known: Readonly<Record<string, Partial<Principal>>>): Authenticator {
  return {
    authenticate(authorization) {
      const found = known[authorization ?? '']
      return found === undefined
        ? fault('unauthenticated', 'who are you?', { remedy: 'say it' })
        : { subject: authorization ?? '', via: 'token', permissions: new Set(), ...found }
    },
  }
}

/** Lets a request that was injected arrive. */
export async function until(happened: () => boolean): Promise<void> {
  while (!happened()) await new Promise<void>((go) => afterIo(go))
}

export const echo: Route = aRoute({
  method: 'POST',
  path: '/things/{id}/parts/{part}',
  query: shape({ deep: optional(flag(), false) }),
  body: shape({ name: text({ min: 1, max: 5 }), size: whole(1, 9) }),
  handle: ({ params, query, body }) => json(201, { params, query, body }),
})
