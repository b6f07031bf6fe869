/**
 * How the events of one topic become bytes, and bytes become events.
 *
 * A key is a CloudEvent, a text, JSON or nothing, as the directive says; a correlation that the key has
 * no place for travels in the headers. Reading never throws: what cannot be read is handed on in base64
 * with the reason.
 */
import type { KeyFormat, ValueFormat } from '../bundle/directive.ts'
import type { WireEvent } from './events.ts'
import { isRecord, keyFormats } from './keys.ts'
import type { SchemaRegistry } from './registry.ts'
import { shortName, type RecordFormat } from './schema.ts'
import { valueFormats } from './values.ts'

export type FormatOptions = Readonly<{
  topic: string
  keyFormat: KeyFormat
  valueFormat: ValueFormat
  /** Of the schema in the bundle. */
  records: readonly RecordFormat[]
  registry: SchemaRegistry | undefined
}>

/** What to write; `id` and `at` are for the key. */
export type Outgoing = Readonly<{
  id: string
  at: number
  /** Null is written as nothing at all. */
  value: unknown
  key?: unknown
  type?: string | undefined
  correlation?: string | undefined
  payloadVersion?: string | undefined
  headers?: Readonly<Record<string, string>> | undefined
  format?: ValueFormat | undefined
  /** The name of the record; the type by default. */
  schema?: string | undefined
  schemaVersion?: number | undefined
}>

export type Undecodable = Readonly<{ part: 'key' | 'value'; error: string }>

export type Decoded = Readonly<{
  key: unknown
  value: unknown
  type?: string
  payloadVersion?: string
  correlation?: string
  undecodable?: readonly Undecodable[]
}>

export interface TopicFormat {
  /** Throws `event-refused`, `no-such-schema`, or what the registry throws. */
  encode(event: Outgoing): Promise<WireEvent>
  decode(event: WireEvent): Promise<Decoded>
}

const CORRELATION_HEADERS = [
  'ce_correlationid',
  'correlationid',
  'correlation-id',
  'x-correlation-id',
]

export function topicFormat(options: FormatOptions): TopicFormat {
  const { topic, keyFormat } = options
  const keys = keyFormats(options)
  const values = valueFormats({ ...options, format: options.valueFormat })
  return {
    async encode(event) {
      const { format, schema: name, schemaVersion: version } = event
      const writer = await values.writer({ format, name, type: event.type, version })
      const value = (event.value ?? null) === null ? undefined : writer.write(event.value)
      const type = event.type ?? shortName(writer.record?.name ?? topic)
      return { key: await keys.write(event, type), value, headers: headersOf(event, keyFormat) }
    },

    async decode({ key: keyBytes, value: valueBytes, headers }) {
      const undecodable: Undecodable[] = []
      const key = await part('key', keyBytes, () => keys.read(keyBytes))
      const facts = factsOf(keyFormat, key, headers)
      const value =
        valueBytes === undefined
          ? null
          : await part('value', valueBytes, () => values.read(valueBytes, facts.type))
      return { key, value, ...facts, ...(undecodable.length > 0 && { undecodable }) }

      async function part(
        name: Undecodable['part'],
        bytes: Uint8Array | undefined,
        read: () => Promise<unknown>,
      ): Promise<unknown> {
        try {
          return await read()
        } catch (error) {
          const reason = error instanceof Error ? error.message : String(error)
          undecodable.push({ part: name, error: reason })
          return bytes === undefined ? null : Buffer.from(bytes).toString('base64')
        }
      }
    },
  }
}

/** A CloudEvent has them in itself. */
function headersOf(event: Outgoing, keyFormat: KeyFormat): Readonly<Record<string, string>> {
  const { id, type, correlation = id, payloadVersion, headers = {} } = event
  if (keyFormat === 'cloudevent') return headers
  return {
    ce_correlationid: correlation,
    ...(type !== undefined && { ce_type: type }),
    ...(payloadVersion !== undefined && { ce_payloadversion: payloadVersion }),
    ...headers,
  }
}

function factsOf(
  keyFormat: KeyFormat,
  key: unknown,
  headers: Readonly<Record<string, string>>,
): Pick<Decoded, 'type' | 'payloadVersion' | 'correlation'> {
  const attributes = keyFormat === 'cloudevent' && isRecord(key) ? key : {}
  const byHeader = CORRELATION_HEADERS.map((name) => headers[name]).find(isText)
  const type = textIn(attributes['type']) ?? headers['ce_type']
  const payloadVersion = textIn(attributes['payloadversion']) ?? headers['ce_payloadversion']
  const correlation = textIn(attributes['correlationid']) ?? byHeader
  return {
    ...(type !== undefined && { type }),
    ...(payloadVersion !== undefined && { payloadVersion }),
    ...(correlation !== undefined && { correlation }),
  }
}

function textIn(value: unknown): string | undefined {
  return isText(value) ? value : undefined
}

function isText(value: unknown): value is string {
  return typeof value === 'string' && value !== ''
}
