/** One topic of a directive file. */
import { bootstrapServers } from './bootstrap-servers.ts'
import type { KeyFormat, TopicDirective, TopicRole, ValueFormat } from './directive.ts'
import { nameProblem } from './file-name.ts'
import type { Entry, Fields, YamlReader } from './yaml-reader.ts'

export const EVENT_FILTERS_MAX = 100
export const METADATA_MAX = 100
export const PARTITIONS_MAX = 1_000

const TEXT_CHARS_MAX = 4_096
const TOPIC = /^(?!\.{1,2}$)[A-Za-z0-9._-]{1,249}$/
const ROLES: readonly TopicRole[] = ['producer', 'consumer']
const KEY_FORMATS: readonly KeyFormat[] = ['cloudevent', 'string', 'json', 'none']
const VALUE_FORMATS: readonly ValueFormat[] = ['json', 'avro', 'protobuf', 'string', 'bytes']
const FROM = ['latest', 'earliest'] as const

const KEYS = [
  'topic',
  'role',
  'clientPrincipal',
  'eventFilters',
  'metadata',
  'bootstrapServers',
  'keyFormat',
  'valueFormat',
  'schema',
  'from',
  'create',
]

/** `at` is where it begins, for what is said about it later. */
export function readTopic(
  reader: YamlReader,
  entry: Entry,
): (TopicDirective & Readonly<{ at: number }>) | undefined {
  const fields = reader.fields(entry, 'a topic', KEYS)
  if (fields === undefined) return undefined
  const optional = <T>(key: string, how: (value: Entry) => T | undefined): T | undefined => {
    const value = fields.get(key)
    return value === undefined ? undefined : how(value)
  }
  const text = (key: string): string | undefined =>
    optional(key, (value) => reader.text(value, key, TEXT_CHARS_MAX))

  const topic = topicName(reader, fields)
  const role = required(reader, fields, 'role', (value) => reader.oneOf(value, 'role', ROLES))
  const keyFormat = optional('keyFormat', (value) => reader.oneOf(value, 'keyFormat', KEY_FORMATS))
  const valueFormat = optional('valueFormat', (value) =>
    reader.oneOf(value, 'valueFormat', VALUE_FORMATS),
  )
  const read = {
    clientPrincipal: text('clientPrincipal'),
    eventFilters: optional('eventFilters', (value) => filtersOf(reader, value)) ?? [],
    metadata: optional('metadata', (value) => metadataOf(reader, value)) ?? {},
    bootstrapServers: optional('bootstrapServers', (value) => servers(reader, value)),
    keyFormat: keyFormat ?? 'cloudevent',
    valueFormat: valueFormat ?? 'json',
    schema: optional('schema', (value) => schemaFile(reader, value)),
    from: optional('from', (value) => reader.oneOf(value, 'from', FROM)) ?? 'latest',
    create: optional('create', (value) => reader.whole(value, 'create', 1, PARTITIONS_MAX)),
    line: reader.lineOf(fields.at),
    at: fields.at,
  } as const
  agree(reader, fields, read)
  return topic === undefined || role === undefined ? undefined : { topic, role, ...read }
}

/** Filters are by type and version of a CloudEvent, so they need one. */
function agree(
  reader: YamlReader,
  fields: Fields,
  { eventFilters, keyFormat }: Pick<TopicDirective, 'eventFilters' | 'keyFormat'>,
): void {
  if (eventFilters.length > 0 && keyFormat !== 'cloudevent')
    reader.tell(
      fields.get('eventFilters')?.at ?? fields.at,
      `eventFilters look at CloudEvent keys, and keyFormat is ${keyFormat}`,
      'leave the filters out, or make keyFormat cloudevent',
    )
}

function required<T>(
  reader: YamlReader,
  fields: Fields,
  key: string,
  how: (entry: Entry) => T | undefined,
): T | undefined {
  const entry = fields.get(key)
  if (entry !== undefined) return how(entry)
  reader.tell(fields.at, `${fields.what} has no ${key}`, `add the key ${key}`)
  return undefined
}

function topicName(reader: YamlReader, fields: Fields): string | undefined {
  return required(reader, fields, 'topic', (entry) => {
    const name = reader.text(entry, 'topic', TEXT_CHARS_MAX)
    if (name === undefined || TOPIC.test(name)) return name
    reader.tell(
      entry.at,
      `a topic cannot be named ${JSON.stringify(name)}`,
      'use 1 to 249 letters, digits, dots, underscores and hyphens',
    )
    return undefined
  })
}

function filtersOf(reader: YamlReader, entry: Entry): TopicDirective['eventFilters'] {
  const filters = reader.list(entry, 'eventFilters', EVENT_FILTERS_MAX) ?? []
  return filters.flatMap((filter) => {
    const fields = reader.fields(filter, 'an event filter', ['key', 'value'])
    if (fields === undefined) return []
    const [key, value] = ['key', 'value'].map((name) =>
      required(reader, fields, name, (field) => reader.text(field, name, TEXT_CHARS_MAX)),
    )
    return key === undefined || value === undefined ? [] : [{ key, value }]
  })
}

function metadataOf(reader: YamlReader, entry: Entry): Readonly<Record<string, string>> {
  return Object.fromEntries(
    (reader.pairs(entry, 'metadata', METADATA_MAX) ?? []).flatMap(([key, value]) => {
      const text = reader.text(value, `metadata.${key}`, TEXT_CHARS_MAX)
      return text === undefined ? [] : [[key, text]]
    }),
  )
}

function servers(reader: YamlReader, entry: Entry): string | undefined {
  const written = reader.text(entry, 'bootstrapServers', TEXT_CHARS_MAX)
  const read = written === undefined ? undefined : bootstrapServers(written)
  if (written !== undefined && read === undefined)
    reader.tell(
      entry.at,
      `bootstrapServers is no list of brokers: ${JSON.stringify(written)}`,
      'write host:port, with commas between several',
    )
  return read
}

function schemaFile(reader: YamlReader, entry: Entry): string | undefined {
  const name = reader.text(entry, 'schema', TEXT_CHARS_MAX)
  const problem = name === undefined ? undefined : nameProblem(name)
  if (problem === undefined) return name
  reader.tell(entry.at, `schema names no file of the bundle: ${problem}`, 'name one that is in it')
  return undefined
}
