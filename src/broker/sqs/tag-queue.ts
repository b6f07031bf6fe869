/** SQS TagQueue. */
import { describe, granted, queueAction, required, type Action } from './action.ts'
import { pairs } from './input.ts'
import { checkTags } from './tags.ts'

export const tagQueue: Action = queueAction(
  'TagQueue',
  { Tags: pairs('Tag', 'Key') },
  async (call, queue, { Tags }) => {
    const set = required(Tags, 'Tags')
    checkTags({ ...describe(call, queue).tags, ...set })
    granted(await call.broker.tag(queue, { set }))
    return undefined
  },
)
