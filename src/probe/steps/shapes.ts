/**
 * What the inputs of `ask` look like, field by field, each with words for whoever got one wrong.
 *
 * An input was written by whoever wrote the bundle, so nothing passes that is not described here.
 */
import type { HttpMethod, ServiceName } from './services.ts'

export type Field = Readonly<{
  isOptional: boolean
  /** What it has to be. */
  wants: string
  holds: (value: unknown) => boolean
}>

export type Shape = Readonly<Record<string, Field>>

/** The longest that a step may ask to wait. */
export const STEP_WAIT_MS_MAX = 600_000

/** Conditions of one query. */
export const QUERY_CONDITIONS_MAX = 20

const HTTP_METHODS: readonly HttpMethod[] = [
  'GET',
  'POST',
  'PUT',
  'DELETE',
  'PATCH',
  'HEAD',
  'OPTIONS',
]

const ANYTHING = field('there', (value) => value !== undefined)
const TEXT = field('a text', isText)
const NAME = field('a text that is not empty', (value) => isText(value) && value.length > 0)
const TEXTS = field('an object of texts', (value) => {
  return isRecord(value) && Object.values(value).every(isText)
})
const COUNT = field('a whole number, 0 or more', isCount)
const WAIT = field(`a whole number of milliseconds, ${STEP_WAIT_MS_MAX} at most`, (value) => {
  return isCount(value) && value <= STEP_WAIT_MS_MAX
})
const CONDITIONS = field(
  `a list of conditions, ${QUERY_CONDITIONS_MAX} at most, each with of, path and test`,
  (value) =>
    Array.isArray(value) && value.length <= QUERY_CONDITIONS_MAX && value.every(isCondition),
)

const TOPIC: Shape = { topic: NAME, cluster: optional(NAME) }

const QUERY: Shape = {
  ...TOPIC,
  direction: optional(oneOf('consumed', 'produced')),
  correlation: optional(TEXT),
  where: optional(CONDITIONS),
  after: optional(COUNT),
  since: optional(COUNT),
}

export const SERVICE_SHAPES: Readonly<Record<ServiceName, Shape>> = {
  topic: TOPIC,
  'create-topic': {
    ...TOPIC,
    partitions: field('a whole number, 1 or more', (value) => isCount(value) && value >= 1),
  },
  cluster: { name: NAME },
  schema: {
    ...TOPIC,
    of: oneOf('key', 'value'),
    format: oneOf('cloudevent', 'json', 'avro', 'protobuf'),
    type: optional(NAME),
    version: optional(COUNT),
  },
  produce: {
    ...TOPIC,
    value: ANYTHING,
    key: optional(ANYTHING),
    type: optional(TEXT),
    correlation: optional(TEXT),
    payloadVersion: optional(TEXT),
    headers: optional(TEXTS),
    format: optional(oneOf('json', 'avro', 'protobuf', 'string')),
    schema: optional(NAME),
    schemaVersion: optional(COUNT),
  },
  position: {},
  query: QUERY,
  'await-events': {
    ...QUERY,
    count: COUNT,
    is: oneOf('at-least', 'exactly', 'at-most'),
    withinMs: WAIT,
  },
  'group-lag': { ...TOPIC, group: NAME },
  secret: { name: NAME, field: optional(NAME) },
  http: {
    method: oneOf(...HTTP_METHODS),
    url: TEXT,
    headers: optional(TEXTS),
    body: optional(TEXT),
    timeoutMs: optional(WAIT),
  },
}

export function isServiceName(name: string): name is ServiceName {
  return Object.hasOwn(SERVICE_SHAPES, name)
}

/** The first field that is not as it has to be; undefined where all are. */
export function wrongIn(
  name: ServiceName,
  input: unknown,
): Readonly<{ field: string; message: string }> | undefined {
  const shape = SERVICE_SHAPES[name]
  if (!isRecord(input)) return { field: 'input', message: `'${name}' needs an object of fields` }
  const unknown = Object.keys(input).find((each) => !Object.hasOwn(shape, each))
  if (unknown !== undefined)
    return { field: unknown, message: `'${name}' has no field ${unknown}; ${fieldsOf(shape)}` }
  for (const [each, { wants, holds }] of Object.entries(shape)) {
    const value = input[each]
    if (holds(value)) continue
    const message =
      value === undefined
        ? `'${name}' needs the field ${each}`
        : `the field ${each} of '${name}' has to be ${wants}`
    return { field: each, message }
  }
  return undefined
}

function fieldsOf(shape: Shape): string {
  const fields = Object.keys(shape)
  return fields.length === 0 ? 'it has none' : `its fields are ${fields.join(', ')}`
}

function field(wants: string, holds: (value: unknown) => boolean): Field {
  return { isOptional: false, wants, holds }
}

function optional({ wants, holds }: Field): Field {
  return { isOptional: true, wants, holds: (value) => value === undefined || holds(value) }
}

function oneOf(...values: readonly string[]): Field {
  return field(`one of ${values.join(', ')}`, (value) => isText(value) && values.includes(value))
}

function isCondition(value: unknown): boolean {
  if (!isRecord(value) || !isRecord(value['test'])) return false
  const { of, path, test } = value
  if ((of !== 'key' && of !== 'value') || !isText(path)) return false
  const { type } = test
  if (type === 'exists' || type === 'absent') return true
  if (type === 'equals') return 'value' in test
  if (type === 'contains') return isText(test['text'])
  return (type === 'greater' || type === 'less') && typeof test['than'] === 'number'
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function isText(value: unknown): value is string {
  return typeof value === 'string'
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && Number(value) >= 0
}
