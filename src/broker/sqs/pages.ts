/** Lists of queues, page by page: the next one begins after a name. */
import type { QueueInfo } from '../broker.ts'
import { invalid } from './errors.ts'
import { SQS_LISTED_MAX } from './limits.ts'

export type Page = Readonly<{
  limit: number
  after?: string
  /** Of one more than the limit: the page, and what the next one is asked for with. */
  cut(found: readonly QueueInfo[]): Readonly<{ items: readonly QueueInfo[]; nextToken?: string }>
}>

export function pageOf(max: number | undefined, token: string | undefined): Page {
  if (max !== undefined && (max < 1 || max > SQS_LISTED_MAX))
    throw invalid(
      max,
      'MaxResults',
      `MaxResults must be an integer between 1 and ${SQS_LISTED_MAX}, if provided.`,
    )
  const limit = max ?? SQS_LISTED_MAX
  const after = token === undefined ? undefined : Buffer.from(token, 'base64url').toString()
  if (
    token !== undefined &&
    (after === '' || Buffer.from(after ?? '').toString('base64url') !== token)
  )
    throw invalid(token, 'NextToken', 'It was not given by ListQueues.')
  return {
    limit,
    ...(after !== undefined && { after }),
    cut(found) {
      const items = found.slice(0, limit)
      const last = items.at(-1)
      // Without a size there are no pages, only the first thousand.
      if (max === undefined || found.length <= limit || last === undefined) return { items }
      return { items, nextToken: Buffer.from(last.name.name).toString('base64url') }
    },
  }
}
