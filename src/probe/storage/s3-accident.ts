/** What an error of the S3 client means for a bundle. */
import { Accident } from '../../std/index.ts'
import { denied, notFound, ofFiles, unavailable } from './accidents.ts'

const MISSING: ReadonlySet<string> = new Set(['NoSuchBucket', 'NoSuchKey', 'NotFound'])

const DENIED: ReadonlySet<string> = new Set([
  'AccessDenied',
  'CredentialsProviderError',
  'ExpiredToken',
  'InvalidAccessKeyId',
  'InvalidToken',
  'SignatureDoesNotMatch',
])

const PASSING: ReadonlySet<string> = new Set([
  'InternalError',
  'RequestTimeout',
  'ServiceUnavailable',
  'SlowDown',
  'Throttling',
  'ThrottlingException',
  'TimeoutError',
])

export function s3Accident(path: string, error: unknown): unknown {
  const known = ofFiles(path, error)
  if (known instanceof Accident || !(error instanceof Error)) return known
  const status = statusOf(error)
  if (MISSING.has(error.name)) return notFound(path, 'the bucket or the object is not there')
  if (DENIED.has(error.name) || status === 401 || status === 403) return denied(path, error)
  // Without a status nothing has answered: a name that is not known, a connection that broke.
  const isPassing =
    PASSING.has(error.name) || status === undefined || status === 429 || status >= 500
  return unavailable(path, error, isPassing)
}

function statusOf(error: Error): number | undefined {
  if (!('$metadata' in error)) return undefined
  const { $metadata: metadata } = error
  if (typeof metadata !== 'object' || metadata === null || !('httpStatusCode' in metadata))
    return undefined
  return typeof metadata.httpStatusCode === 'number' ? metadata.httpStatusCode : undefined
}
