/**
 * The policy of a queue, as far as AddPermission and RemovePermission change it: statements with labels. It is kept
 * and told; who may do what is decided by the rules of keys (`access.ts`).
 */
import type { QueueName } from '../broker.ts'
import { invalid } from './errors.ts'
import { arnOf } from './places.ts'

type Statement = Readonly<Record<string, unknown>>
export type PolicyDocument = Readonly<{ Statement: readonly Statement[] }> &
  Readonly<Record<string, unknown>>

export function readPolicy(text: string | undefined, queue: QueueName): PolicyDocument {
  if (text === undefined)
    return { Version: '2008-10-17', Id: `${arnOf(queue)}/SQSDefaultPolicy`, Statement: [] }
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- SetQueueAttributes took no other text
  const parsed = JSON.parse(text) as Readonly<Record<string, unknown>>
  const { Statement } = parsed
  const all: readonly unknown[] = Array.isArray(Statement) ? Statement : [Statement]
  return { ...parsed, Statement: all.filter(isStatement) }
}

export function withStatement(
  policy: PolicyDocument,
  {
    label,
    accounts,
    actions,
  }: Readonly<{ label: string; accounts: readonly string[]; actions: readonly string[] }>,
  queue: QueueName,
): PolicyDocument {
  if (policy.Statement.some(({ Sid }) => Sid === label))
    throw invalid(label, 'Label', 'Already exists.')
  const statement = {
    Sid: label,
    Effect: 'Allow',
    Principal: { AWS: oneOrAll(accounts.map((account) => `arn:aws:iam::${account}:root`)) },
    Action: oneOrAll(actions.map((action) => `SQS:${action}`)),
    Resource: arnOf(queue),
  }
  return { ...policy, Statement: [...policy.Statement, statement] }
}

/** Empty where nothing is left of it. */
export function withoutStatement(policy: PolicyDocument, label: string): string {
  const rest = policy.Statement.filter(({ Sid }) => Sid !== label)
  if (rest.length === policy.Statement.length) throw invalid(label, 'Label', "can't find label.")
  return rest.length === 0 ? '' : JSON.stringify({ ...policy, Statement: rest })
}

function isStatement(value: unknown): value is Statement {
  return typeof value === 'object' && value !== null
}

function oneOrAll(values: readonly string[]): string | readonly string[] {
  const [first, ...rest] = values
  return first !== undefined && rest.length === 0 ? first : values
}
