/**
 * Schemas made ready for use: the records they have, each of which turns JSON into bytes and back.
 *
 * JSON in is what comes out again: whole numbers beyond the safe ones are text, bytes are base64. A
 * value that does not fit is refused with its place, never made to fit. A schema is compiled once for
 * as long as somebody holds its text.
 */
import { Accident, fault } from '../../std/index.ts'
import type { SchemaText } from './registry.ts'

export interface RecordFormat {
  /** With its namespace or package. */
  readonly name: string
  /** What a registry is given for it. */
  readonly schema: SchemaText
  /** The way to a message in its file; empty except for Protobuf. */
  readonly index: readonly number[]
  /** Undefined where any field will do. */
  readonly fields: ReadonlySet<string> | undefined
  encode(value: unknown): Uint8Array
  /** `writer` is the record as it was when the bytes were written; this one by default. */
  decode(bytes: Uint8Array, writer?: RecordFormat): unknown
}

const compiled = new WeakMap<SchemaText, Promise<readonly RecordFormat[]>>()

/** Throws the fault `bad-schema`. */
export function recordsOf(schema: SchemaText): Promise<readonly RecordFormat[]> {
  const known = compiled.get(schema)
  if (known !== undefined) return known
  const records = compile(schema)
  compiled.set(schema, records)
  records.catch(() => compiled.delete(schema)) // a package may be installed meanwhile
  return records
}

/** The record of this name, with or without what stands before the last dot; the only one for none. */
export function recordNamed(
  records: readonly RecordFormat[],
  name: string | undefined,
): RecordFormat | undefined {
  if (name === undefined) return records.length === 1 ? records[0] : undefined
  const exact = records.find((record) => record.name === name)
  if (exact !== undefined) return exact
  const short = records.filter((record) => shortName(record.name) === name)
  return short.length === 1 ? short[0] : undefined
}

export function shortName(name: string): string {
  return name.slice(name.lastIndexOf('.') + 1)
}

export function refusedValue(record: string, place: string, problem: string): Accident {
  return new Accident(
    fault('event-refused', `${place || 'the value'} of ${record || 'the event'} ${problem}`, {
      record,
      place,
      isTransient: false,
      remedy: 'write it as the schema says',
    }),
  )
}

export function badSchema(schema: SchemaText, error: unknown): Accident {
  const reason = error instanceof Error ? error.message : String(error)
  return new Accident(
    fault('bad-schema', `the ${schema.type} schema cannot be read: ${reason}`, {
      isTransient: false,
      remedy: 'correct the schema',
    }),
    { cause: error },
  )
}

async function compile(schema: SchemaText): Promise<readonly RecordFormat[]> {
  switch (schema.type) {
    case 'avro':
      return (await import('./avro.ts')).avroRecords(schema)
    case 'protobuf':
      return (await import('./protobuf.ts')).protobufRecords(schema)
    case 'json':
      return [jsonRecord(schema)]
  }
}

/** JSON is written as it is: whether it fits a JSON Schema is for those who read it. */
function jsonRecord(schema: SchemaText): RecordFormat {
  return {
    name: titleOf(schema),
    schema,
    index: [],
    fields: undefined,
    encode: (value) => Buffer.from(JSON.stringify(value)),
    decode: (bytes) => JSON.parse(textOf(bytes)),
  }
}

function titleOf(schema: SchemaText): string {
  try {
    const parsed: unknown = JSON.parse(schema.text)
    const title = typeof parsed === 'object' && parsed !== null ? Reflect.get(parsed, 'title') : ''
    return typeof title === 'string' ? title : ''
  } catch (error) {
    throw badSchema(schema, error)
  }
}

/** Bytes that are no UTF-8 are an error. */
export function textOf(bytes: Uint8Array): string {
  return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
}
