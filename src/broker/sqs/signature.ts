/**
 * Who signed a request (AWS Signature Version 4), in a header or in the query of a link that was signed beforehand.
 *
 * A signature is good for this method, path, query, body and headers, for a few minutes, and for whoever has the
 * secret that belongs to the key. Nothing is told about how far from right a wrong one was.
 */
import { timingSafeEqual } from 'node:crypto'

import type { RawRequest } from '../../http/index.ts'
import { canonicalHash } from './canonical.ts'
import { SqsError } from './errors.ts'
import { SQS_PRESIGNED_S_MAX, SQS_SIGNING_KEYS_MAX, SQS_SKEW_MS_MAX } from './limits.ts'
import { Mac } from './mac.ts'
import { QueryFields } from './query-fields.ts'

const ALGORITHM = 'AWS4-HMAC-SHA256'
const AUTHORIZATION =
  /^AWS4-HMAC-SHA256 +Credential=([^,\s]+) *, *SignedHeaders=([^,\s]+) *, *Signature=([^,\s]+)$/
const SCOPE = /^([^/]{1,128})\/(\d{8})\/([a-z0-9-]{1,64})\/sqs\/aws4_request$/
const SIGNED_HEADERS = /^[a-z0-9_-]+(?:;[a-z0-9_-]+)*$/
const SIGNATURE = /^[0-9a-f]{64}$/
const TIME = /^\d{8}T\d{6}Z$/

/** What a request says about its signature, not yet believed. */
export type Claim = Readonly<{
  accessKeyId: string
  /** `20261116` */
  day: string
  region: string
  /** `20261116T120000Z` */
  time: string
  signedHeaders: string
  signature: string
  /** How long it is good for, if it was signed beforehand. */
  expiresMs?: number
}>

/** Undefined where nothing is said; throws where it is said wrongly. */
export function claimOf({ headers, url }: Pick<RawRequest, 'headers' | 'url'>): Claim | undefined {
  const { authorization } = headers
  if (authorization !== undefined) return claimOfHeader(authorization, headers['x-amz-date'])
  return url.includes('X-Amz-Signature=') || url.includes('X-Amz-Algorithm=')
    ? claimOfQuery(url)
    : undefined
}

/** Keys of a day and a region, of those who have signed with them before. */
export class SigningKeys {
  readonly #known = new Map<string, Mac>()

  /** Throws unless whoever made the request has the secret. */
  verify(
    request: Pick<RawRequest, 'method' | 'url' | 'headers' | 'body'>,
    claim: Claim,
    { secret, nowMs }: Readonly<{ secret: string; nowMs: number }>,
  ): void {
    checkTime(claim, nowMs)
    const { accessKeyId, day, region, time, signedHeaders, signature, expiresMs } = claim
    checkHeaders(request.headers, signedHeaders)
    const canonical = canonicalHash(request, {
      signedHeaders,
      ...(expiresMs !== undefined && { leaveOut: 'X-Amz-Signature' }),
    })
    if (canonical === undefined) throw new SqsError('SignatureDoesNotMatch')
    const scope = `${day}/${region}/sqs/aws4_request`
    const name = `${accessKeyId}/${day}/${region}`
    const key = this.#known.get(name) ?? derived(secret, { day, region })
    const right = key.ofText(`${ALGORITHM}\n${time}\n${scope}\n${canonical}`)
    if (!timingSafeEqual(right, Buffer.from(signature, 'hex')))
      throw new SqsError('SignatureDoesNotMatch')
    if (!this.#known.has(name)) this.#keep(name, key)
  }

  /** Only of those who had the secret, so that nobody else can fill it. */
  #keep(name: string, key: Mac): void {
    for (const oldest of this.#known.keys()) {
      if (this.#known.size < SQS_SIGNING_KEYS_MAX) break
      this.#known.delete(oldest)
    }
    this.#known.set(name, key)
  }
}

function claimOfHeader(authorization: string, time: string | undefined): Claim {
  const [, credential = '', signedHeaders = '', signature = ''] =
    AUTHORIZATION.exec(authorization) ?? incomplete('The Authorization header cannot be read.')
  return madeOf({ credential, signedHeaders, signature, time })
}

function claimOfQuery(url: string): Claim {
  const fields = new QueryFields()
  fields.add(url.slice(url.indexOf('?') + 1))
  if (fields.get('X-Amz-Algorithm') !== ALGORITHM)
    incomplete(`The query must contain X-Amz-Algorithm=${ALGORITHM}.`)
  const expires = fields.get('X-Amz-Expires') ?? ''
  const seconds = /^\d{1,6}$/.test(expires) ? Number(expires) : 0
  if (seconds < 1 || seconds > SQS_PRESIGNED_S_MAX)
    incomplete(`X-Amz-Expires must be a number of seconds from 1 to ${SQS_PRESIGNED_S_MAX}.`)
  return {
    ...madeOf({
      credential: fields.get('X-Amz-Credential') ?? '',
      signedHeaders: fields.get('X-Amz-SignedHeaders') ?? '',
      signature: fields.get('X-Amz-Signature') ?? '',
      time: fields.get('X-Amz-Date'),
    }),
    expiresMs: seconds * 1_000,
  }
}

function madeOf({
  credential,
  signedHeaders,
  signature,
  time,
}: Readonly<{
  credential: string
  signedHeaders: string
  signature: string
  time: string | undefined
}>): Claim {
  const [, accessKeyId = '', day = '', region = ''] =
    SCOPE.exec(credential) ??
    incomplete('Credential must be key/date/region/sqs/aws4_request, in lower case.')
  if (time === undefined || !TIME.test(time)) incomplete('X-Amz-Date is missing or cannot be read.')
  if (!time.startsWith(day)) incomplete('Date in Credential scope does not match X-Amz-Date.')
  if (!SIGNED_HEADERS.test(signedHeaders)) incomplete('SignedHeaders cannot be read.')
  if (!SIGNATURE.test(signature)) throw new SqsError('SignatureDoesNotMatch')
  return { accessKeyId, day, region, time, signedHeaders, signature }
}

function checkTime({ time, expiresMs }: Claim, nowMs: number): void {
  const signedMs = msOf(time)
  if (signedMs > nowMs + SQS_SKEW_MS_MAX)
    throw new SqsError('SignatureDoesNotMatch', `Signature not yet current: ${time}.`)
  if (expiresMs !== undefined) {
    if (nowMs > signedMs + expiresMs) throw new SqsError('RequestExpired')
  } else if (signedMs < nowMs - SQS_SKEW_MS_MAX)
    throw new SqsError('SignatureDoesNotMatch', `Signature expired: ${time} is too long ago.`)
}

/** Who is asked and what for must be part of what was signed. */
function checkHeaders(
  headers: Readonly<Record<string, string | undefined>>,
  signedHeaders: string,
): void {
  const signed = signedHeaders.split(';')
  if (!signed.includes('host')) throw unsigned('host')
  for (const name in headers)
    if (name.startsWith('x-amz-') && !signed.includes(name)) throw unsigned(name)
}

function unsigned(header: string): SqsError {
  return new SqsError(
    'SignatureDoesNotMatch',
    `There were headers present in the request which were not signed: ${header.slice(0, 100)}`,
  )
}

function derived(secret: string, { day, region }: Readonly<{ day: string; region: string }>): Mac {
  let key = new Mac(Buffer.from(`AWS4${secret}`))
  for (const part of [day, region, 'sqs', 'aws4_request']) key = new Mac(key.ofText(part))
  return key
}

/** Milliseconds since 1970; a day that a month does not have is one of the next month. */
function msOf(time: string): number {
  const at = (from: number, to: number): number => Number(time.slice(from, to))
  const [year, month, day] = [at(0, 4), at(4, 6), at(6, 8)]
  // Years that begin in March have their odd day at their end.
  const march = month <= 2 ? year - 1 : year
  const dayOfYear = Math.floor((153 * (month > 2 ? month - 3 : month + 9) + 2) / 5) + day - 1
  const leaps = Math.floor(march / 4) - Math.floor(march / 100) + Math.floor(march / 400)
  const days = march * 365 + leaps + dayOfYear - DAYS_BEFORE_1970
  return (((days * 24 + at(9, 11)) * 60 + at(11, 13)) * 60 + at(13, 15)) * 1_000
}

/** From the first of March of the year 0. */
const DAYS_BEFORE_1970 = 719_468

function incomplete(text: string): never {
  throw new SqsError('IncompleteSignature', text)
}
