/** Avro schemas: one record, or a list of them, each with a layout of bytes of its own. */
import type Package from 'avsc'
import type { Schema, Type } from 'avsc'

import { countedFor, counting } from './avro-counts.ts'
import { optionalPackage } from './packages.ts'
import type { SchemaText } from './registry.ts'
import { badSchema, refusedValue, type RecordFormat } from './schema.ts'

type Avsc = typeof Package

export async function avroRecords(schema: SchemaText): Promise<readonly RecordFormat[]> {
  const avsc = await optionalPackage('avsc', async () => counting((await import('avsc')).default))
  try {
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- judged by the compiler of schemas
    const parsed = JSON.parse(schema.text) as Schema
    if (!Array.isArray(parsed)) return [new AvroRecord(typeOf(avsc, parsed), schema)]
    const union: Type & { types?: readonly Type[] } = typeOf(avsc, parsed)
    return (union.types ?? []).map(
      (type, at) => new AvroRecord(type, alone(avsc, type, parsed[at]!)),
    )
  } catch (error) {
    throw badSchema(schema, error)
  }
}

class AvroRecord implements RecordFormat {
  readonly name: string
  readonly schema: SchemaText
  readonly index: readonly number[] = []
  readonly fields: ReadonlySet<string> | undefined
  readonly #type: Type
  /** How what another version wrote is read. */
  readonly #resolvers = new WeakMap<RecordFormat, ReturnType<Type['createResolver']>>()

  constructor(type: Type, schema: SchemaText) {
    this.#type = type
    this.schema = schema
    this.name = type.name ?? ''
    this.fields = fieldsOf(type)
  }

  encode(value: unknown): Uint8Array {
    this.#type.isValid(value, {
      noUndeclaredFields: true,
      errorHook: (path, _value, type) => {
        throw refusedValue(this.name, path.join('.'), `is no ${nameOf(type)}`)
      },
    })
    return this.#type.toBuffer(value)
  }

  decode(bytes: Uint8Array, writer?: RecordFormat): unknown {
    const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
    const resolver = this.#resolverFrom(writer)
    const value = countedFor(buffer.length, (): unknown => this.#type.fromBuffer(buffer, resolver))
    return structuredClone(value) // plain objects, without the class of the record
  }

  #resolverFrom(writer: RecordFormat | undefined): ReturnType<Type['createResolver']> | undefined {
    if (!(writer instanceof AvroRecord) || writer === this) return undefined
    const resolver = this.#resolvers.get(writer) ?? this.#type.createResolver(writer.#type)
    this.#resolvers.set(writer, resolver)
    return resolver
  }
}

function fieldsOf(
  type: Type & { fields?: readonly Readonly<{ name: string }>[] },
): RecordFormat['fields'] {
  return type.fields && new Set(type.fields.map(({ name }) => name))
}

function nameOf(type: Type): string {
  return type.name ?? type.typeName.replace(/^\w+:/, '')
}

/** A record of a list may use others of it; registered it has to stand alone. */
function alone(avsc: Avsc, type: Type, schema: Schema): SchemaText {
  try {
    typeOf(avsc, schema)
    return { type: 'avro', text: JSON.stringify(schema) }
  } catch {
    const whole = JSON.stringify(type.schema({ exportAttrs: true }), (name, value: unknown) =>
      name === 'logicalType' && value === BASE64 ? undefined : value,
    )
    return { type: 'avro', text: whole }
  }
}

const BASE64 = 'base64'

function typeOf(avsc: Avsc, schema: Schema): Type {
  class Base64 extends avsc.types.LogicalType {
    override _fromValue(bytes: Uint8Array): string {
      return Buffer.from(bytes).toString('base64')
    }

    override _toValue(text: unknown): Buffer | undefined {
      return typeof text === 'string' ? Buffer.from(text, 'base64') : undefined
    }

    override _resolve(type: Type): unknown {
      return avsc.Type.isType(type, 'logical:base64') ? (text: string) => text : undefined
    }
  }
  const logicalTypes = { [BASE64]: Base64 }
  const wrapped = new WeakSet<object>()
  return avsc.Type.forSchema(schema, {
    registry: { long: longType(avsc) },
    logicalTypes,
    typeHook(inner, options) {
      const isBytes = inner === 'bytes'
      const isFixed = typeof inner === 'object' && 'type' in inner && inner.type === 'fixed'
      if (!isBytes && (!isFixed || wrapped.has(inner))) return undefined
      const based = isBytes
        ? { type: 'bytes', logicalType: BASE64 }
        : { ...inner, logicalType: BASE64 }
      wrapped.add(based)
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the same schema, with one attribute more
      return avsc.Type.forSchema(based as Schema, isBytes ? { logicalTypes } : options)
    },
  })
}

/** Numbers where they are exact, text beyond. */
function longType(avsc: Avsc): Type {
  // oxlint-disable-next-line no-underscore-dangle -- its documented name
  return avsc.types.LongType.__with({
    fromBuffer(bytes: Buffer) {
      const long = bytes.readBigInt64LE()
      return Number.isSafeInteger(Number(long)) ? Number(long) : String(long)
    },
    toBuffer(value: number | string) {
      const bytes = Buffer.alloc(8)
      bytes.writeBigInt64LE(BigInt(value))
      return bytes
    },
    fromJSON: (value: unknown) => value,
    toJSON: (value: unknown) => value,
    isValid: (value: unknown) => Number.isSafeInteger(value) || isLongText(value),
    compare: (a: number | string, b: number | string) => Number(BigInt(a) - BigInt(b)),
  })
}

function isLongText(value: unknown): boolean {
  return (
    typeof value === 'string' &&
    /^-?\d{1,19}$/.test(value) &&
    BigInt.asIntN(64, BigInt(value)) === BigInt(value)
  )
}
