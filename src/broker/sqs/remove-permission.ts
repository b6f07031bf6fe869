/** SQS RemovePermission: the statement of that label is taken out of the policy. */
import { describe, granted, queueAction, type Action } from './action.ts'
import { labelOf } from './add-permission.ts'
import { text } from './input.ts'
import { readPolicy, withoutStatement } from './policy-document.ts'

export const removePermission: Action = queueAction(
  'RemovePermission',
  { Label: text },
  (call, queue, input) => {
    const label = labelOf(input.Label)
    return call.turns.take(async () => {
      const { Policy, ...rest } = describe(call, queue).config.attributes
      const left = withoutStatement(readPolicy(Policy, queue), label)
      const attributes = left === '' ? rest : { ...rest, Policy: left }
      granted(await call.broker.update(queue, { attributes }))
      return undefined
    })
  },
)
