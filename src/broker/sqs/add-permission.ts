/** SQS AddPermission: a statement more in the policy that is kept with the queue. */
import { describe, granted, queueAction, required, type Action } from './action.ts'
import { invalid, SqsError } from './errors.ts'
import { text, texts } from './input.ts'
import { isAccount } from './places.ts'
import { readPolicy, withStatement } from './policy-document.ts'

const LABEL = /^[A-Za-z0-9_-]{1,80}$/
const ACTIONS_MAX = 7

/** What can be granted to others; the rest is for the owner. */
const GRANTABLE = new Set([
  '*',
  'SendMessage',
  'ReceiveMessage',
  'DeleteMessage',
  'ChangeMessageVisibility',
  'GetQueueAttributes',
  'GetQueueUrl',
  'ListDeadLetterSourceQueues',
  'PurgeQueue',
])

export const addPermission: Action = queueAction(
  'AddPermission',
  { Label: text, AWSAccountIds: texts('AWSAccountId'), Actions: texts('ActionName') },
  (call, queue, input) => {
    const label = labelOf(input.Label)
    const accounts = required(input.AWSAccountIds, 'AWSAccountIds')
    const actions = required(input.Actions, 'Actions')
    if (accounts.length === 0) required(undefined, 'AWSAccountIds')
    if (actions.length === 0) required(undefined, 'Actions')
    for (const account of accounts)
      if (!isAccount(account)) throw invalid(`[${account}]`, 'PrincipalId', 'Unable to verify.')
    if (actions.length > ACTIONS_MAX)
      throw new SqsError(
        'OverLimit',
        `${actions.length} Actions were found, maximum allowed is ${ACTIONS_MAX}.`,
      )
    for (const name of actions)
      if (!GRANTABLE.has(name))
        throw invalid(
          `SQS:${name}`,
          'ActionName',
          'Only the queue owner is allowed to invoke this action.',
        )
    return call.turns.take(async () => {
      const { attributes } = describe(call, queue).config
      const policy = withStatement(
        readPolicy(attributes['Policy'], queue),
        { label, accounts, actions },
        queue,
      )
      const patch = { attributes: { ...attributes, Policy: JSON.stringify(policy) } }
      granted(await call.broker.update(queue, patch))
      return undefined
    })
  },
)

export function labelOf(given: string | undefined): string {
  const label = required(given, 'Label')
  if (LABEL.test(label)) return label
  throw invalid(
    label,
    'Label',
    'Can only include alphanumeric characters, hyphens, or underscores. 1 to 80 in length.',
  )
}
