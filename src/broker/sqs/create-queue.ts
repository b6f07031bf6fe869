/** SQS CreateQueue. Asked for again with what it has, it is the same queue. */
import type { QueueInfo, QueueName } from '../broker.ts'
import { action, granted, isRefusal, required, type Action, type SqsCall } from './action.ts'
import {
  attributesOf,
  initialConfig,
  readAttributes,
  settableAttributes,
  type Setting,
} from './attributes.ts'
import { SqsError } from './errors.ts'
import { pairs, text } from './input.ts'
import { urlOf } from './places.ts'
import { checkTags } from './tags.ts'

const NAME = /^[A-Za-z0-9_-]{1,80}$/
const FIFO_NAME = /^(?=.{6,80}$)[A-Za-z0-9_-]+\.fifo$/

export const createQueue: Action = action(
  'CreateQueue',
  { QueueName: text, Attributes: pairs('Attribute', 'Name'), tags: pairs('Tag', 'Key') },
  (call, { QueueName: given, Attributes = {}, tags = {} }) => {
    const { account, region } = call.caller
    const name = { account, region, name: required(given, 'QueueName') }
    call.caller.check('CreateQueue', name)
    const fifo = Attributes['FifoQueue'] === 'true'
    checkName(name, fifo)
    checkTags(tags)
    const config = { ...initialConfig(), fifo }
    readAttributes(Attributes, config, settingOf(call, name, fifo))
    return call.turns.take(async () => {
      const made = await call.broker.create(name, config, { ifExists: 'ignore', tags })
      const info = granted(made)
      checkSame(info, Attributes)
      return { QueueUrl: urlOf(call.origin, name) }
    })
  },
)

export function settingOf(
  { broker }: SqsCall,
  name: QueueName,
  fifo: boolean,
  isNew = true,
): Setting {
  return {
    name,
    fifo,
    isNew,
    find(other) {
      const info = broker.describe(other)
      return isRefusal(info) ? undefined : info
    },
  }
}

function checkName({ name }: QueueName, fifo: boolean): void {
  if (fifo ? FIFO_NAME.test(name) : NAME.test(name)) return
  throw new SqsError(
    'InvalidParameterValue',
    fifo
      ? 'The name of a FIFO queue can only include alphanumeric characters, hyphens, or underscores, must end with .fifo suffix and be 1 to 80 in length.'
      : 'Can only include alphanumeric characters, hyphens, or underscores. 1 to 80 in length',
  )
}

/** Of a queue that is there, what is asked for has to be so. */
function checkSame(info: QueueInfo, given: Readonly<Record<string, string>>): void {
  const has = attributesOf(info, { ready: 0, leased: 0, delayed: 0 })
  for (const name of settableAttributes) {
    const asked = given[name]
    if (asked === undefined || isSame(asked, has[name] ?? '')) continue
    throw new SqsError(
      'QueueNameExists',
      `A queue already exists with the same name and a different value for attribute ${name}`,
    )
  }
}

function isSame(asked: string, has: string): boolean {
  return asked === has || (asked.startsWith('{') && canonical(asked) === canonical(has))
}

/** The same JSON, however it is written: a count may be a number or a text. */
function canonical(value: string): string {
  try {
    const parsed: unknown = JSON.parse(value)
    if (typeof parsed !== 'object' || parsed === null) return value
    return JSON.stringify(
      Object.entries(parsed)
        .map(([name, inner]: [string, unknown]) => [
          name,
          typeof inner === 'number' ? String(inner) : inner,
        ])
        .toSorted(([a], [b]) => (String(a) < String(b) ? -1 : 1)),
    )
  } catch {
    return value // then it is no JSON
  }
}
