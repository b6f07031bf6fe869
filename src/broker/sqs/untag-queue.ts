/** SQS UntagQueue. A tag that is not there is gone already. */
import { granted, queueAction, required, type Action } from './action.ts'
import { texts } from './input.ts'

export const untagQueue: Action = queueAction(
  'UntagQueue',
  { TagKeys: texts('TagKey') },
  async ({ broker }, queue, { TagKeys }) => {
    granted(await broker.tag(queue, { unset: required(TagKeys, 'TagKeys') }))
    return undefined
  },
)
