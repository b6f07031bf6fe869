/**
 * Requests that the signer of the AWS SDK for JavaScript has signed, and the same with one thing changed that the
 * signature covers, or that is part of it: none of those may be let in.
 */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'

import { keyAccess } from '../../src/broker/sqs/access.ts'
import { SqsError } from '../../src/broker/sqs/errors.ts'
import type { RawRequest } from '../../src/http/index.ts'
import { random, type Random } from '../../src/std/index.ts'

export const KEY = {
  accessKeyId: 'AKIDEXAMPLE',
  secretAccessKey: 'wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY',
}
/** When the vectors were signed, which is when a virtual clock begins. */
export const SIGNED_AT = 1_767_225_600_000

export type Signed = Pick<RawRequest, 'method' | 'url' | 'headers' | 'body'>
export type Vector = Signed & Readonly<{ name: string }>

/** Signed by the signer of the AWS SDK for JavaScript. */
export const vectors: readonly Vector[] = JSON.parse(
  readFileSync('test/sqs/sigv4-vectors.json', 'utf8'),
).map((vector: { body: string }) => ({ ...vector, body: Buffer.from(vector.body) }))

const HOME = { account: '000000000000', region: 'local' }
const OTHER = { accessKeyId: 'AKIDOTHER', secretAccessKey: 'another' }

/** Every one of so many changed requests is turned away; says how often for which reason. */
export function refusesChanged(seed: number, count: number): ReadonlyMap<string, number> {
  const draw = random(seed)
  const reasons = new Map<string, number>()
  // One gate for all, so that what it remembers of those it lets in is used as well.
  const gate = keyAccess([KEY, OTHER], HOME, { now: () => SIGNED_AT })
  const { signal } = new AbortController()
  for (const vector of vectors) gate.admit({ ...vector, signal })
  for (let time = 0; time < count; time++) {
    const vector = draw.pick(vectors)
    const changed = changedOnce(vector, draw)
    const shown = (): string =>
      `seed ${seed}, ${vector.name}: ${JSON.stringify({ ...changed, body: changed.body.toString() })}`
    try {
      gate.admit({ ...changed, signal })
    } catch (error) {
      if (!(error instanceof SqsError)) throw new Error(shown(), { cause: error })
      reasons.set(error.kind, (reasons.get(error.kind) ?? 0) + 1)
      continue
    }
    assert.fail(shown())
  }
  return reasons
}

type Change = (request: Signed, draw: Random) => Signed

function changedOnce(request: Signed, draw: Random): Signed {
  const changes = request.method === 'GET' ? OF_LINKS : OF_HEADERS
  for (;;) {
    const changed = draw.pick(changes)(request, draw)
    if (!isSame(changed, request)) return changed
  }
}

function isSame(a: Signed, b: Signed): boolean {
  return (
    a.method === b.method &&
    a.url === b.url &&
    a.body.equals(b.body) &&
    JSON.stringify(a.headers) === JSON.stringify(b.headers)
  )
}

const body: Change = (request, draw) => {
  const longer = Buffer.concat([request.body, Buffer.from('x')])
  const place = draw.below(longer.length)
  longer[place] = (longer[place]! + 1 + draw.below(255)) % 256
  return { ...request, body: draw.below(2) === 0 ? longer : longer.subarray(0, -2) }
}

const bodyOfAnother: Change = (request, draw) => ({ ...request, body: draw.pick(vectors).body })

const method: Change = (request, draw) => ({
  ...request,
  method: draw.pick(['PUT', 'GET', 'post', 'POST', 'DELETE']),
})

const query: Change = (request, draw) => ({
  ...request,
  url: `${request.url}${request.url.includes('?') ? '&' : '?'}z=${draw.below(1e6)}`,
})

const path: Change = (request, draw) => ({
  ...request,
  url: request.url.replace(/^[^?]*/, `/${draw.below(1e6)}/x`),
})

const header: Change = (request, draw) => {
  const { headers } = request
  const name = draw.pick(Object.keys(headers).filter((one) => one !== 'authorization'))
  return { ...request, headers: { ...headers, [name]: `${headers[name]}${draw.below(10)}` } }
}

const headerGone: Change = (request, draw) => {
  const name = draw.pick(Object.keys(request.headers))
  const { [name]: _, ...headers } = request.headers
  return { ...request, headers }
}

/** A header of Amazon's that nobody has signed. */
const headerMore: Change = (request, draw) => ({
  ...request,
  headers: { ...request.headers, [`x-amz-more-${draw.below(1e6)}`]: 'x' },
})

/** Changes the text that tells of the signature, wherever it is. */
function told(change: (text: string, draw: Random) => string): Change {
  return (request, draw) => {
    const { authorization } = request.headers
    if (authorization === undefined) return { ...request, url: change(request.url, draw) }
    const changed = change(authorization, draw)
    return { ...request, headers: { ...request.headers, authorization: changed } }
  }
}

const SIGNATURE = /Signature=([0-9a-f]{64})/

const digit = told((text, draw) =>
  text.replace(SIGNATURE, (_, signature: string) => {
    const place = draw.below(signature.length)
    const other = (Number.parseInt(signature[place]!, 16) + 1 + draw.below(15)) % 16
    return `Signature=${signature.slice(0, place)}${other.toString(16)}${signature.slice(place + 1)}`
  }),
)

const anotherSignature = told((text, draw) =>
  text.replace(SIGNATURE, () => {
    const { headers, url } = draw.pick(vectors)
    return SIGNATURE.exec(headers['authorization'] ?? url)![0]
  }),
)

const oddSignature = told((text, draw) =>
  text.replace(SIGNATURE, (whole, signature: string) =>
    draw.pick([
      'Signature=',
      `Signature=${signature.slice(0, draw.below(64))}`,
      `${whole}${draw.below(10)}`,
      `Signature=${'0'.repeat(64)}`,
      `Signature=${signature.toUpperCase().replace(/^[0-9]+$/, 'F'.repeat(64))}`,
    ]),
  ),
)

const key = told((text, draw) =>
  text.replace(KEY.accessKeyId, draw.pick([OTHER.accessKeyId, `A${draw.below(1e6)}`, ''])),
)

const day = told((text, draw) => text.replace(/2026\d{4}/, `2026${1_000 + draw.below(9_000)}`))

const region = told((text, draw) =>
  text.replace(/(?<=20260101(?:\/|%2F))[a-z0-9-]+/, draw.pick(['x', 'us-east-2', 'local', ''])),
)

const signedHeaders = told((text, draw) =>
  text.replace(/(?<=SignedHeaders=)[^,&]+/, (list) => {
    const separator = list.includes('%3B') ? '%3B' : ';'
    const names = list.split(separator)
    const place = draw.below(names.length)
    return draw
      .pick([
        names.toSpliced(place, 1),
        [...names, 'x-more'],
        names.toReversed(),
        ['host', ...names],
      ])
      .join(separator)
  }),
)

const expires: Change = (request, draw) => ({
  ...request,
  url: request.url.replace(/X-Amz-Expires=\d+/, `X-Amz-Expires=${draw.below(700_000)}`),
})

const SHARED = [
  query,
  path,
  method,
  header,
  headerGone,
  headerMore,
  digit,
  anotherSignature,
  oddSignature,
  key,
  day,
  region,
  signedHeaders,
]
const OF_HEADERS: readonly Change[] = [body, bodyOfAnother, ...SHARED]
const OF_LINKS: readonly Change[] = [expires, ...SHARED]
