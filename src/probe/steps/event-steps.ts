/** Built-in steps: topics, their schemas, and events that go to them. */
import { Before, type DataTable } from '@cucumber/cucumber'

import { ask } from './asking.ts'
import { step } from './defining.ts'
import { literal } from './matching.ts'
import type { ProduceInput, SchemaInput } from './services.ts'
import { stateOf } from './state.ts'

type Format = 'json' | 'avro' | 'protobuf'

// The first of all hooks. It never fails: whoever asks for events is told what went wrong.
Before({ timeout: -1 }, async function () {
  const began = ask('position', {}).then(({ sequence }) => sequence)
  stateOf(this).began = began
  await began.catch(() => undefined)
})

step('I have a topic {string}', async function (topic: string) {
  await declare(this, topic)
})

step(
  'I have a topic {string} with {int} partition(s)',
  async function (topic: string, partitions: number) {
    await ask('create-topic', { topic, partitions })
    stateOf(this).topic = topic
  },
)

step(
  /^I have a topic "([^"]+)" (?:with bootstrap servers|on cluster) "([^"]+)"$/,
  async function (topic: string, cluster: string) {
    await declare(this, topic, cluster)
  },
)

step('I have topics {string} and {string}', async function (first: string, second: string) {
  await declare(this, second)
  await declare(this, first)
})

step('cluster {string} is configured', async (name: string) => {
  await ask('cluster', { name })
})

step(
  /^CloudEvent (?:(Avro|Protobuf) )?key schema is registered for topic "([^"]+)"$/,
  async (format: string | undefined, topic: string) => {
    await ask('schema', { topic, of: 'key', format: formatOf(format) ?? 'cloudevent' })
  },
)

step(
  /^(\S+)(?: (JSON|Avro|Protobuf))?(?: value)? schema(?: version (\d+))? is registered for topic "([^"]+)"$/,
  async (type: string, format: string | undefined, version: string | undefined, topic: string) => {
    const input: SchemaInput = { topic, of: 'value', type, format: formatOf(format) ?? 'avro' }
    await ask('schema', { ...input, ...(version && { version: Number(version) }) })
  },
)

step(/^the topic uses (JSON|Avro|Protobuf) serialization$/, async function (format: string) {
  const { topic } = stateOf(this)
  if (topic === undefined) throw new Error('no step has named a topic yet')
  await ask('schema', { topic, of: 'value', format: formatOf(format) ?? 'json' })
})

step('I have correlation ID {string}', function (correlation: string) {
  stateOf(this).correlation = correlation
})

step(
  /^I produce event (\{.*\}|\[.*\]|".*") to topic "([^"]+)"(?: on cluster "([^"]+)")?(?: with headers (\{.*\}))?$/,
  async function (event: string, topic: string, cluster?: string, headers?: string) {
    await produce(this, { topic, cluster, value: literal(event), headers: headersOf(headers) })
  },
)

step(
  /^I produce (?:an? )?(?:(JSON|Avro|Protobuf) )?event(?: with schema "([^"]+)")?(?: \(?version (\d+)\)?)?(?: with type "([^"]+)")?(?: with correlation "([^"]+)")? to topic "([^"]+)"(?: on cluster "([^"]+)")?(?: with headers (\{.*\}))?:$/,
  async function (
    format: string | undefined,
    schema: string | undefined,
    version: string | undefined,
    type: string | undefined,
    correlation: string | undefined,
    topic: string,
    cluster: string | undefined,
    headers: string | undefined,
    event: string,
  ) {
    await produce(this, {
      topic,
      cluster,
      value: literal(event.trim()),
      format: formatOf(format),
      schema,
      schemaVersion: version === undefined ? undefined : Number(version),
      type,
      correlation,
      headers: headersOf(headers),
    })
  },
)

step(
  /^I produce the following (?:JSON )?events to topic "([^"]+)":$/,
  async function (topic: string, table: DataTable) {
    for (const row of table.hashes()) await produce(this, { topic, ...rowOf(row) })
  },
)

step(/^(?:the event|all events) should be acknowledged$/, function () {
  const { produced } = stateOf(this)
  if (produced.length === 0) throw new Error('no event was produced')
})

async function declare(world: object, topic: string, cluster?: string): Promise<void> {
  const { roles } = await ask('topic', { topic, cluster })
  if (roles.length === 0)
    throw new Error(`the topic ${topic} is not in the directive file of this bundle`)
  stateOf(world).topic = topic
}

async function produce(world: object, input: ProduceInput): Promise<void> {
  await ask('produce', input)
  stateOf(world).topic = input.topic
}

/** Columns are fields of the event; those with a `$` say how it is sent. */
function rowOf(row: Readonly<Record<string, string>>): Omit<ProduceInput, 'topic'> {
  const { $type: type, $correlation: correlation, $key: key, ...fields } = row
  const value = Object.fromEntries(
    Object.entries(fields).map(([name, cell]) => [name, cellOf(cell)]),
  )
  return { value, type, correlation, ...(key !== undefined && { key: cellOf(key) }) }
}

/** What reads as JSON is meant so. */
function cellOf(cell: string): unknown {
  try {
    return JSON.parse(cell)
  } catch {
    return cell
  }
}

function headersOf(written: string | undefined): Record<string, string> | undefined {
  if (!written) return undefined
  const headers: Record<string, unknown> = JSON.parse(written)
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, String(value)]))
}

function formatOf(written: string | undefined): Format | undefined {
  return (['json', 'avro', 'protobuf'] as const).find((each) => each === written?.toLowerCase())
}
