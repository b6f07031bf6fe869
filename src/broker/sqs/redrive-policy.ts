/** Where dead letters go (RedrivePolicy), and from where they may come (RedriveAllowPolicy). */
import type { QueueName } from '../broker.ts'
import type { QueueConfig } from '../config.ts'
import type { ConfigPatch, Setting } from './attributes.ts'
import { invalid, SqsError } from './errors.ts'
import { arnOf, queueOfArn } from './places.ts'

const RECEIVES_MAX = 1_000
const SOURCES_MAX = 10

/** An empty one takes it away. */
export function readRedrivePolicy(value: string, { name, fifo, find }: Setting): ConfigPatch {
  if (value === '') return { deadLetterQueue: undefined, maxReceives: Infinity }
  const refuse = (reason: string): SqsError => invalid(value, 'RedrivePolicy', reason)
  const policy = objectOf(value)
  if (policy === undefined) throw refuse('Redrive policy is not a valid JSON map.')
  const { deadLetterTargetArn: arn, maxReceiveCount: count } = policy
  for (const [field, given] of Object.entries({ deadLetterTargetArn: arn, maxReceiveCount: count }))
    if (given === undefined)
      throw refuse(`Redrive policy does not contain mandatory attribute: ${field}.`)
  const receives = typeof count === 'string' && /^\d{1,9}$/.test(count) ? Number(count) : count
  if (
    typeof receives !== 'number' ||
    !Number.isInteger(receives) ||
    receives < 1 ||
    receives > RECEIVES_MAX
  )
    throw refuse(
      `Invalid value for maxReceiveCount: ${JSON.stringify(count).slice(0, 20)}, valid values are from 1 to ${RECEIVES_MAX} both inclusive.`,
    )
  const target = typeof arn === 'string' ? queueOfArn(arn) : undefined
  if (target === undefined) throw refuse('Invalid value for deadLetterTargetArn.')
  if (target.account !== name.account || target.region !== name.region)
    throw refuse('Dead letter target owner should be same as the source.')
  const found = find(target)
  if (found === undefined) throw refuse('Dead letter target does not exist.')
  if (found.config.fifo !== fifo)
    throw refuse('Dead-letter queue must be same type of queue as the source.')
  if (!allows(found.config, name))
    throw refuse('The redrive allow policy of the dead letter target does not allow this source.')
  return { deadLetterQueue: target.name, maxReceives: receives }
}

/** Undefined where messages do not die. */
export function redrivePolicyOf(
  name: QueueName,
  { deadLetterQueue, maxReceives }: QueueConfig,
): string | undefined {
  if (deadLetterQueue === undefined || maxReceives === Infinity) return undefined
  const deadLetterTargetArn = arnOf({ ...name, name: deadLetterQueue })
  return JSON.stringify({ deadLetterTargetArn, maxReceiveCount: maxReceives })
}

export function checkAllowPolicy(value: string): void {
  const { redrivePermission: permission, sourceQueueArns: sources } = objectOf(value) ?? {}
  const isListed = permission === 'byQueue'
  const arns: readonly unknown[] = Array.isArray(sources) ? sources : []
  const isRight =
    (isListed || permission === 'allowAll' || permission === 'denyAll') &&
    (sources !== undefined) === isListed &&
    (!isListed || (arns.length >= 1 && arns.length <= SOURCES_MAX)) &&
    arns.every((arn) => typeof arn === 'string' && queueOfArn(arn) !== undefined)
  if (!isRight)
    throw new SqsError(
      'InvalidAttributeValue',
      'Invalid value for the parameter RedriveAllowPolicy.',
    )
}

function allows({ attributes }: QueueConfig, source: QueueName): boolean {
  const { redrivePermission = 'allowAll', sourceQueueArns } =
    objectOf(attributes['RedriveAllowPolicy'] ?? '{}') ?? {}
  if (redrivePermission !== 'byQueue') return redrivePermission === 'allowAll'
  return Array.isArray(sourceQueueArns) && sourceQueueArns.includes(arnOf(source))
}

function objectOf(value: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const parsed: unknown = JSON.parse(value)
    if (typeof parsed !== 'object' || parsed === null || Array.isArray(parsed)) return undefined
    return Object.fromEntries(Object.entries(parsed))
  } catch {
    return undefined // then it is no JSON
  }
}
