/** SQS GetQueueAttributes. */
import { describe, granted, queueAction, type Action } from './action.ts'
import { attributesOf, checkNames } from './attributes.ts'
import { texts } from './input.ts'

const NONE = { ready: 0, leased: 0, delayed: 0 }

export const getQueueAttributes: Action = queueAction(
  'GetQueueAttributes',
  { AttributeNames: texts('AttributeName') },
  async (call, queue, { AttributeNames: names = [] }) => {
    const info = describe(call, queue)
    checkNames(names)
    if (names.length === 0) return {}
    const isAll = names.includes('All')
    const counts = isAll || names.some((name) => name.startsWith('Approximate'))
    const stats = counts ? granted(await call.broker.stats(queue)) : NONE
    const wanted = Object.entries(attributesOf(info, stats)).filter(
      ([name]) => isAll || names.includes(name),
    )
    return wanted.length === 0 ? {} : { Attributes: Object.fromEntries(wanted) }
  },
)
