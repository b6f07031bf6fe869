/** SQS ListQueues: in order of names; a page only if a size was asked for. */
import { action, type Action } from './action.ts'
import { integer, text } from './input.ts'
import { pageOf } from './pages.ts'
import { urlOf } from './places.ts'

export const listQueues: Action = action(
  'ListQueues',
  { QueueNamePrefix: text, MaxResults: integer, NextToken: text },
  ({ broker, caller, origin }, { QueueNamePrefix = '', MaxResults, NextToken }) => {
    caller.check('ListQueues', undefined)
    const { limit, after, cut } = pageOf(MaxResults, NextToken)
    const found = broker.list(caller, {
      prefix: QueueNamePrefix,
      limit: limit + 1,
      ...(after !== undefined && { after }),
    })
    const { items, nextToken } = cut(found)
    return {
      ...(items.length > 0 && { QueueUrls: items.map(({ name }) => urlOf(origin, name)) }),
      ...(nextToken !== undefined && { NextToken: nextToken }),
    }
  },
)
