/** SQS ListDeadLetterSourceQueues: those whose dead letters come here. */
import { describe, queueAction, type Action } from './action.ts'
import { integer, text } from './input.ts'
import { pageOf } from './pages.ts'
import { urlOf } from './places.ts'

export const listDeadLetterSourceQueues: Action = queueAction(
  'ListDeadLetterSourceQueues',
  { MaxResults: integer, NextToken: text },
  (call, queue, { MaxResults, NextToken }) => {
    describe(call, queue)
    const { limit, after = '', cut } = pageOf(MaxResults, NextToken)
    const found = call.broker
      .deadLetterSources(queue)
      .filter(({ name }) => name.name > after)
      .toSorted((a, b) => (a.name.name < b.name.name ? -1 : 1))
      .slice(0, limit + 1)
    const { items, nextToken } = cut(found)
    return {
      queueUrls: items.map(({ name }) => urlOf(call.origin, name)),
      ...(nextToken !== undefined && { NextToken: nextToken }),
    }
  },
)
