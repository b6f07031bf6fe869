/**
 * The attributes of a queue, which are texts on the wire, and the config they stand for.
 *
 * Times are seconds there and milliseconds here. What the broker has no use for (policies, keys for encryption) is
 * kept as it was given. What is computed cannot be set.
 */
import type { QueueInfo, QueueName, QueueStats } from '../broker.ts'
import type { QueueConfig } from '../config.ts'
import { MESSAGE_BYTES_MAX } from '../limits.ts'
import { SqsError } from './errors.ts'
import { SQS_VISIBILITY_S_MAX } from './limits.ts'
import { arnOf } from './places.ts'
import { checkAllowPolicy, readRedrivePolicy, redrivePolicyOf } from './redrive-policy.ts'

/** A config to be changed; there the stored attributes are a copy of one's own. */
export type ConfigPatch = { -readonly [Field in keyof QueueConfig]?: QueueConfig[Field] }

/** What has to be known of the queue, and of others, to judge an attribute. */
export type Setting = Readonly<{
  name: QueueName
  fifo: boolean
  isNew: boolean
  find: (name: QueueName) => QueueInfo | undefined
}>

type NumberField = 'visibilityMs' | 'delayMs' | 'waitMs' | 'retentionMs' | 'messageBytesMax'

type NumberAttribute = Readonly<{
  field: NumberField
  unit: number
  min: number
  max: number
  initial: number
}>

/** Those that are numbers: between what they may be, and what they are unless said. */
export const numberAttributes: Readonly<Record<string, NumberAttribute>> = {
  VisibilityTimeout: {
    field: 'visibilityMs',
    unit: 1_000,
    min: 0,
    max: SQS_VISIBILITY_S_MAX,
    initial: 30,
  },
  DelaySeconds: { field: 'delayMs', unit: 1_000, min: 0, max: 900, initial: 0 },
  MaximumMessageSize: {
    field: 'messageBytesMax',
    unit: 1,
    min: 1_024,
    max: MESSAGE_BYTES_MAX,
    initial: MESSAGE_BYTES_MAX,
  },
  MessageRetentionPeriod: {
    field: 'retentionMs',
    unit: 1_000,
    min: 60,
    max: 1_209_600,
    initial: 345_600,
  },
  ReceiveMessageWaitTimeSeconds: { field: 'waitMs', unit: 1_000, min: 0, max: 20, initial: 0 },
}

const FIFO_ONLY = new Set([
  'FifoQueue',
  'ContentBasedDeduplication',
  'DeduplicationScope',
  'FifoThroughputLimit',
])

/** Kept as they are; how each is judged. */
const STORED: Readonly<Record<string, (value: string, name: string) => void>> = {
  Policy: (value, name) => {
    if (!isObjectText(value)) throw badValue(name)
  },
  RedriveAllowPolicy: checkAllowPolicy,
  FifoThroughputLimit: oneOf('perQueue', 'perMessageGroupId'),
  KmsMasterKeyId: () => undefined,
  KmsDataKeyReusePeriodSeconds: (value, name) => {
    if (!/^\d{2,5}$/.test(value) || Number(value) < 60 || Number(value) > 86_400)
      throw badValue(name)
  },
  SqsManagedSseEnabled: oneOf('true', 'false'),
}

/** Those that can be set, in this order compared with what is there. */
export const settableAttributes: readonly string[] = [
  ...Object.keys(numberAttributes),
  'RedrivePolicy',
  ...Object.keys(STORED),
  'FifoQueue',
  'ContentBasedDeduplication',
  'DeduplicationScope',
]

export const computedAttributes: readonly string[] = [
  'QueueArn',
  'CreatedTimestamp',
  'LastModifiedTimestamp',
  'ApproximateNumberOfMessages',
  'ApproximateNumberOfMessagesNotVisible',
  'ApproximateNumberOfMessagesDelayed',
]

/** What a queue of SQS has that nothing was said about: it keeps messages for four days, and none of them die. */
export function initialConfig(): ConfigPatch {
  const config: ConfigPatch = { maxReceives: Infinity, attributes: {} }
  for (const { field, unit, initial } of Object.values(numberAttributes))
    config[field] = initial * unit
  return config
}

/** Adds what is asked for to a patch. Throws what SQS says about a name or a value that cannot be. */
export function readAttributes(
  given: Readonly<Record<string, string>>,
  patch: ConfigPatch,
  setting: Setting,
): void {
  const stored = { ...patch.attributes }
  for (const [name, value] of Object.entries(given)) {
    if (!settableAttributes.includes(name) || (!setting.fifo && FIFO_ONLY.has(name)))
      throw unknownAttribute(name)
    const number = numberAttributes[name]
    if (number !== undefined) readNumber(name, value, number, patch)
    else if (name === 'RedrivePolicy') Object.assign(patch, readRedrivePolicy(value, setting))
    else if (name in STORED) readStored(name, value, stored)
    else readFifo(name, value, patch, setting)
  }
  if (stored['KmsMasterKeyId'] !== undefined && given['SqsManagedSseEnabled'] === 'true')
    throw new SqsError(
      'InvalidAttributeName',
      'You can use one type of server-side encryption (SSE) at one time. You can either enable KMS SSE or SQS SSE.',
    )
  if (given['KmsMasterKeyId']) stored['SqsManagedSseEnabled'] = 'false'
  patch.attributes = stored
}

function readNumber(name: string, value: string, of: NumberAttribute, patch: ConfigPatch): void {
  const number = Number(value)
  if (!/^\d{1,9}$/.test(value) || number < of.min || number > of.max) throw badValue(name)
  patch[of.field] = number * of.unit
}

function readStored(name: string, value: string, stored: Record<string, string>): void {
  if (value === '') {
    delete stored[name]
    return
  }
  STORED[name]!(value, name)
  stored[name] = value
}

function readFifo(name: string, value: string, patch: ConfigPatch, { isNew }: Setting): void {
  if (name === 'DeduplicationScope') {
    oneOf('queue', 'messageGroup')(value, name)
    patch.dedupScope = value === 'queue' ? 'queue' : 'group'
    return
  }
  oneOf('true', 'false')(value, name)
  if (name === 'ContentBasedDeduplication') patch.contentDedup = value === 'true'
  else if (!isNew || value === 'false')
    throw new SqsError(
      'InvalidAttributeValue',
      'Invalid value for the parameter FifoQueue. Reason: Modifying queue type is not supported.',
    )
}

/** All that can be told; what there is none of is left out. */
export function attributesOf(
  { name, config, createdAt, modifiedAt }: QueueInfo,
  stats: Pick<QueueStats, 'ready' | 'leased' | 'delayed'>,
): Readonly<Record<string, string>> {
  const { attributes, fifo, contentDedup, dedupScope } = config
  const redrive = redrivePolicyOf(name, config)
  return {
    QueueArn: arnOf(name),
    ApproximateNumberOfMessages: String(stats.ready),
    ApproximateNumberOfMessagesNotVisible: String(stats.leased),
    ApproximateNumberOfMessagesDelayed: String(stats.delayed),
    CreatedTimestamp: seconds(createdAt),
    LastModifiedTimestamp: seconds(modifiedAt),
    ...Object.fromEntries(
      Object.entries(numberAttributes).map(([label, { field, unit, max }]) => [
        label,
        // Our own API can make a queue that keeps messages for ever.
        config[field] === Infinity ? String(max) : String(Math.floor(config[field] / unit)),
      ]),
    ),
    SqsManagedSseEnabled: 'true',
    ...attributes,
    ...(redrive !== undefined && { RedrivePolicy: redrive }),
    ...(fifo && {
      FifoQueue: 'true',
      ContentBasedDeduplication: String(contentDedup),
      DeduplicationScope: dedupScope === 'queue' ? 'queue' : 'messageGroup',
      FifoThroughputLimit: attributes['FifoThroughputLimit'] ?? 'perQueue',
    }),
  }
}

/** Throws for a name that no attribute has. */
export function checkNames(names: readonly string[]): void {
  for (const name of names)
    if (name !== 'All' && !settableAttributes.includes(name) && !computedAttributes.includes(name))
      throw unknownAttribute(name)
}

function oneOf(...values: readonly string[]): (value: string, name: string) => void {
  return (value, name) => {
    if (!values.includes(value)) throw badValue(name)
  }
}

function isObjectText(value: string): boolean {
  try {
    const parsed: unknown = JSON.parse(value)
    return typeof parsed === 'object' && parsed !== null && !Array.isArray(parsed)
  } catch {
    return false // then it is no JSON
  }
}

function seconds(ms: number): string {
  return String(Math.floor(ms / 1_000))
}

function badValue(name: string): SqsError {
  return new SqsError('InvalidAttributeValue', `Invalid value for the parameter ${name}.`)
}

function unknownAttribute(name: string): SqsError {
  return new SqsError('InvalidAttributeName', `Unknown Attribute ${name.slice(0, 100)}.`)
}
