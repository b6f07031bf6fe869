/** SQS SetQueueAttributes. */
import { describe, granted, queueAction, required, type Action } from './action.ts'
import { readAttributes, type ConfigPatch } from './attributes.ts'
import { settingOf } from './create-queue.ts'
import { pairs } from './input.ts'

export const setQueueAttributes: Action = queueAction(
  'SetQueueAttributes',
  { Attributes: pairs('Attribute', 'Name') },
  (call, queue, { Attributes }) => {
    const given = required(Attributes, 'Attributes')
    return call.turns.take(async () => {
      const { config } = describe(call, queue)
      const patch: ConfigPatch = { attributes: config.attributes }
      readAttributes(given, patch, settingOf(call, queue, config.fifo, false))
      granted(await call.broker.update(queue, patch))
      return undefined
    })
  },
)
