/** Protobuf schemas: the messages of a file, by their names and by their places in it. */
import type Package from 'protobufjs'
import type { Field, MapField, Namespace, Type } from 'protobufjs'

import { optionalPackage } from './packages.ts'
import type { SchemaText } from './registry.ts'
import { badSchema, refusedValue, type RecordFormat } from './schema.ts'

type Protobufjs = typeof Package

const WHOLE = /^-?\d{1,20}$/

export async function protobufRecords(schema: SchemaText): Promise<readonly RecordFormat[]> {
  const protobufjs = await optionalPackage(
    'protobufjs',
    async () => (await import('protobufjs')).default,
  )
  try {
    const parsed = protobufjs.parse(schema.text, { keepCase: true })
    for (const name of parsed.imports ?? []) {
      const common = protobufjs.common.get(name)
      if (common?.nested == null) throw new Error(`it imports ${name}, which is not at hand`)
      parsed.root.addJSON(common.nested)
    }
    parsed.root.resolveAll()
    const file = parsed.package === undefined ? parsed.root : parsed.root.lookup(parsed.package)
    return messagesIn(
      protobufjs,
      file instanceof protobufjs.Namespace ? file : parsed.root,
      [],
    ).map(({ type, index }) => new ProtobufRecord(protobufjs, type, index, schema))
  } catch (error) {
    throw badSchema(schema, error)
  }
}

type Placed = Readonly<{ type: Type; index: readonly number[] }>

/** Outer messages first, in the order of the file. */
function messagesIn(
  protobufjs: Protobufjs,
  { nestedArray }: Namespace,
  way: readonly number[],
): Placed[] {
  const messages = nestedArray.filter((inner) => inner instanceof protobufjs.Type)
  const here = messages.map((type, at) => ({ type, index: [...way, at] }))
  return [...here, ...here.flatMap(({ type, index }) => messagesIn(protobufjs, type, index))]
}

class ProtobufRecord implements RecordFormat {
  readonly name: string
  readonly schema: SchemaText
  readonly index: readonly number[]
  readonly fields: ReadonlySet<string>
  readonly #type: Type
  readonly #protobufjs: Protobufjs

  constructor(protobufjs: Protobufjs, type: Type, index: readonly number[], schema: SchemaText) {
    this.#protobufjs = protobufjs
    this.#type = type
    this.index = index
    this.schema = schema
    this.fields = new Set(Object.keys(type.fields))
    this.name = type.fullName.replace(/^\./, '')
  }

  encode(value: unknown): Uint8Array {
    this.#judge(this.#type, value, '')
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- judged above
    return this.#type.encode(this.#type.fromObject(value as Record<string, unknown>)).finish()
  }

  /** Fields are known by their numbers, so what another version wrote is read by this one. */
  decode(bytes: Uint8Array): unknown {
    const options = { longs: BigInt, enums: String, bytes: String, defaults: true }
    return plain(this.#type.toObject(this.#type.decode(bytes), options))
  }

  #judge(type: Type, value: unknown, place: string): void {
    if (!isRecord(value)) throw refusedValue(this.name, place, 'is no message')
    for (const [name, given] of Object.entries(value)) {
      const at = place === '' ? name : `${place}.${name}`
      const field = Object.hasOwn(type.fields, name) ? type.fields[name] : undefined
      if (field === undefined) throw refusedValue(this.name, at, 'is not in the schema')
      if (given === null || given === undefined) continue
      if (field instanceof this.#protobufjs.MapField) this.#judgeMap(field, given, at)
      else if (field.repeated) this.#judgeList(field, given, at)
      else this.#judgeOne(field, given, at)
    }
  }

  #judgeMap(field: MapField, given: unknown, at: string): void {
    if (!isRecord(given)) throw refusedValue(this.name, at, 'is no map')
    for (const [key, one] of Object.entries(given)) this.#judgeOne(field, one, `${at}.${key}`)
  }

  #judgeList(field: Field, given: unknown, at: string): void {
    if (!Array.isArray(given)) throw refusedValue(this.name, at, 'is no list')
    for (const [place, one] of given.entries()) this.#judgeOne(field, one, `${at}.${place}`)
  }

  #judgeOne(field: Pick<Field, 'resolvedType' | 'type'>, given: unknown, at: string): void {
    const { resolvedType, type } = field
    if (resolvedType instanceof this.#protobufjs.Type) this.#judge(resolvedType, given, at)
    else if (resolvedType instanceof this.#protobufjs.Enum) {
      if (typeof given === 'string' ? given in resolvedType.values : Number.isInteger(given)) return
      throw refusedValue(this.name, at, `is no ${resolvedType.name}`)
    } else if (!isScalar(type, given)) throw refusedValue(this.name, at, `is no ${type}`)
  }
}

function isScalar(type: string, value: unknown): boolean {
  switch (type) {
    case 'bool':
      return typeof value === 'boolean'
    case 'string':
    case 'bytes':
      return typeof value === 'string'
    case 'float':
    case 'double':
      return typeof value === 'number'
    default:
      return isWhole(type, value)
  }
}

function isWhole(type: string, value: unknown): boolean {
  const isLong = type.endsWith('64')
  if (!Number.isSafeInteger(value) && !(isLong && typeof value === 'string' && WHOLE.test(value)))
    return false
  const whole = BigInt(String(value))
  const bits = isLong ? 64 : 32
  const isUnsigned = type.startsWith('u') || type.startsWith('fixed')
  return (isUnsigned ? BigInt.asUintN(bits, whole) : BigInt.asIntN(bits, whole)) === whole
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Numbers where they are exact, text beyond. */
function plain(value: unknown): unknown {
  if (typeof value === 'bigint')
    return Number.isSafeInteger(Number(value)) ? Number(value) : String(value)
  if (Array.isArray(value)) return value.map(plain)
  if (!isRecord(value)) return value
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, plain(inner)]))
}
