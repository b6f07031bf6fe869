/**
 * Values of a topic with and without schemas.
 *
 * With a registry, what has a schema carries its id and is read by the schema it was written with; a
 * schema of the bundle is registered when it is first written with, and what is read is brought into
 * its shape. Without a registry the payload stands alone, and the type of the event says which record
 * of the bundle's schema it is.
 */
import { Accident, fault, unreachable } from '../../std/index.ts'
import type { ValueFormat } from '../bundle/directive.ts'
import { subjectOf, type RegisteredSchema, type SchemaRegistry } from './registry.ts'
import {
  recordNamed,
  recordsOf,
  refusedValue,
  shortName,
  textOf,
  type RecordFormat,
} from './schema.ts'
import { frame, readIndex, unframe, writeIndex } from './wire.ts'

export type ValueOptions = Readonly<{
  topic: string
  format: ValueFormat
  /** Of the schema in the bundle. */
  records: readonly RecordFormat[]
  registry: SchemaRegistry | undefined
}>

/** Which schema a value is written with. */
export type SchemaChoice = Readonly<{
  /** If it is not the one of the topic. */
  format?: ValueFormat | undefined
  /** The name of the record. */
  name?: string | undefined
  /** Names it as well, where nothing else does and a record is called so. */
  type?: string | undefined
  version?: number | undefined
}>

export type Writer = Readonly<{
  /** Undefined where there is no schema. */
  record: RecordFormat | undefined
  write(value: unknown): Uint8Array
}>

export interface ValueFormats {
  /** Throws `no-such-schema`; what it gives throws `event-refused`. */
  writer(choice: SchemaChoice): Promise<Writer>
  /** Throws whatever keeps the bytes from being read. */
  read(bytes: Uint8Array, type: string | undefined): Promise<unknown>
}

export function valueFormats(options: ValueOptions): ValueFormats {
  const { topic, format: usual, records, registry } = options
  return {
    async writer({ format = usual, name, type, version }) {
      if (format === 'string' || format === 'bytes') return plainWriter(format)
      const isOwn = format === usual && format !== 'json' && version === undefined
      const own = isOwn ? ownRecord(records, name, type) : undefined
      if (own !== undefined) {
        const id = await registry?.register(subjectOf(topic, own.name), own.schema)
        return schemaWriter(own, id)
      }
      const found = await registered(topic, name ?? type, version, registry)
      if (found?.schema.type === format) return schemaWriter(found.record, found.schema.id)
      if (format === 'json' && version === undefined) return plainWriter(format)
      throw noSchema(options, name ?? type, version)
    },

    async read(bytes, type) {
      const framed = usual === 'string' || usual === 'bytes' ? undefined : unframe(bytes)
      const schema = framed && (await registry?.byId(framed.id))
      if (framed !== undefined && schema !== undefined)
        return readRegistered(framed.payload, schema, records)
      switch (usual) {
        case 'json': // never begins with a zero byte
          return JSON.parse(textOf(framed?.payload ?? bytes))
        case 'string':
          return textOf(bytes)
        case 'bytes':
          return Buffer.from(bytes).toString('base64')
        case 'avro':
        case 'protobuf':
          if (framed !== undefined && registry !== undefined)
            throw new Error(`there is no schema ${framed.id}`)
          return readAlone(bytes, ownRecord(records, undefined, type))
        default:
          return unreachable(usual)
      }
    },
  }
}

/** What was written with a registered schema, in the shape of the same record among `readers`. */
export async function readRegistered(
  payload: Uint8Array,
  schema: RegisteredSchema,
  readers: readonly RecordFormat[],
): Promise<unknown> {
  const written = await recordsOf(schema)
  const { index, payload: rest } =
    schema.type === 'protobuf' ? readIndex(payload) : { index: [], payload }
  const writer = written.find((record) => record.index.join() === index.join())
  if (writer === undefined) throw new Error(`schema ${schema.id} has no message ${index.join()}`)
  return (readers.find(({ name }) => name === writer.name) ?? writer).decode(rest, writer)
}

function readAlone(bytes: Uint8Array, record: RecordFormat | undefined): unknown {
  if (record === undefined) throw new Error('nothing says which record of the schema it is')
  return record.decode(bytes)
}

/** The record of this name; else that of the type, or the only one there is. */
function ownRecord(
  records: readonly RecordFormat[],
  name: string | undefined,
  type: string | undefined,
): RecordFormat | undefined {
  if (name !== undefined) return recordNamed(records, name)
  return recordNamed(records, type) ?? recordNamed(records, undefined)
}

function noSchema(
  { topic, records }: ValueOptions,
  name: string | undefined,
  version: number | undefined,
): Accident {
  const known = records.map((record) => record.name)
  const which = `${name ?? 'the event'}${version === undefined ? '' : ` in version ${version}`}`
  return new Accident(
    fault('no-such-schema', `there is no schema for ${which} on ${topic}`, {
      topic,
      name,
      version,
      known,
      isTransient: false,
      remedy:
        known.length > 1 && version === undefined
          ? `name one of ${known.join(', ')}`
          : 'put it into the bundle and name the file in the directive, or register it',
    }),
  )
}

/** What the registry has for a record of a topic, by its name with or without what stands before. */
export async function registered(
  topic: string,
  name: string | undefined,
  version: number | undefined,
  registry: SchemaRegistry | undefined,
): Promise<Readonly<{ schema: RegisteredSchema; record: RecordFormat }> | undefined> {
  if (name === undefined || registry === undefined) return undefined
  for (const subject of new Set([subjectOf(topic, name), subjectOf(topic, shortName(name))])) {
    const schema = await registry.bySubject(subject, version ?? 'latest')
    if (schema === undefined) continue
    const inside = await recordsOf(schema)
    const record = recordNamed(inside, name) ?? recordNamed(inside, shortName(name)) ?? inside[0]
    if (record !== undefined) return { schema, record }
  }
  return undefined
}

export function schemaWriter(record: RecordFormat, id: number | undefined): Writer {
  return {
    record,
    write(value) {
      const payload = record.encode(value)
      if (id === undefined) return payload
      return frame(id, record.index.length === 0 ? payload : writeIndex(record.index, payload))
    },
  }
}

function plainWriter(format: 'json' | 'string' | 'bytes'): Writer {
  return {
    record: undefined,
    write(value) {
      if (format === 'json') return Buffer.from(JSON.stringify(value))
      if (typeof value !== 'string')
        throw refusedValue('', '', `is no ${format === 'bytes' ? 'base64 text' : 'text'}`)
      return Buffer.from(value, format === 'bytes' ? 'base64' : 'utf8')
    },
  }
}
