/** Where queues are: their URLs, which clients hand back as they got them, and their ARNs. */
import type { QueueName } from '../broker.ts'
import { SqsError } from './errors.ts'

const ACCOUNT = /^\d{1,20}$/
const HOST = /^[A-Za-z0-9.:[\]_-]{1,255}$/
const ARN = /^arn:[a-z0-9-]+:sqs:([a-z0-9-]{1,64}):(\d{1,20}):([A-Za-z0-9_.-]{1,80})$/

/** A region is part of a name, so it is only what a region looks like. */
export const REGION: RegExp = /^[a-z0-9-]{1,64}$/

/** The caller reached us there, so that is where it finds its queues. */
export function originOf(headers: Readonly<Record<string, string | undefined>>): string {
  const { host, 'x-forwarded-proto': proto } = headers
  const scheme = proto === 'https' ? 'https' : 'http'
  return `${scheme}://${host !== undefined && HOST.test(host) ? host : 'localhost'}`
}

export function urlOf(origin: string, { account, name }: QueueName): string {
  return `${origin}/${account}/${name}`
}

/** Of a URL or of a path: its last two parts. */
export function queueAt(url: string, region: string): QueueName {
  const end = url.endsWith('/') ? url.length - 1 : url.length
  const slash = url.lastIndexOf('/', end - 1)
  const before = slash <= 0 ? -1 : url.lastIndexOf('/', slash - 1)
  const account = url.slice(before + 1, slash)
  if (slash <= 0 || !ACCOUNT.test(account))
    throw new SqsError(
      'InvalidAddress',
      `The address ${url.slice(0, 256)} is not valid for this endpoint.`,
    )
  return { account, region, name: url.slice(slash + 1, end) }
}

/** `/` or `/account/queue`, which is where SQS takes requests. */
export function isSqsPath(path: string): boolean {
  if (path === '/' || path === '') return true
  const [, account = '', name = '', rest] = path.split('/')
  return rest === undefined && ACCOUNT.test(account) && name !== ''
}

export function isAccount(value: string): boolean {
  return ACCOUNT.test(value)
}

export function arnOf({ account, region, name }: QueueName): string {
  return `arn:aws:sqs:${region}:${account}:${name}`
}

/** Undefined for what is no ARN of a queue. */
export function queueOfArn(arn: string): QueueName | undefined {
  const found = ARN.exec(arn)
  if (found === null) return undefined
  const [, region = '', account = '', name = ''] = found
  return { account, region, name }
}
