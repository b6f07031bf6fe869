/** The attributes of a message: what may be one, which are wanted, and the MD5s by which clients check them. */
import { hash } from 'node:crypto'

import type { MessageAttribute } from '../broker.ts'
import { SqsError } from './errors.ts'
import { mapOf, structure, text, texts, type InputOf, type Kind } from './input.ts'
import type { SqsLimits } from './limits.ts'

const valueShape: Readonly<{
  DataType: Kind<string>
  StringValue: Kind<string>
  BinaryValue: Kind<string>
  StringListValues: Kind<readonly string[]>
  BinaryListValues: Kind<readonly string[]>
}> = {
  DataType: text,
  StringValue: text,
  BinaryValue: text,
  StringListValues: texts('StringListValue'),
  BinaryListValues: texts('BinaryListValue'),
}

export type WireAttribute = InputOf<typeof valueShape>
export type WireAttributes = Readonly<Record<string, WireAttribute>>
export type Attributes = Readonly<Record<string, MessageAttribute>>

export const messageAttributes: Kind<WireAttributes> = mapOf(
  'MessageAttribute',
  'Name',
  structure(valueShape),
)
export const systemAttributes: Kind<WireAttributes> = mapOf(
  'MessageSystemAttribute',
  'Name',
  structure(valueShape),
)

const NAME_CHARS_MAX = 256
const TYPE_CHARS_MAX = 256
const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/
const TYPE = /^(String|Number|Binary)(?:\.[\x21-\ufffd]+)?$/
const NUMBER = /^\s*[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?\s*$/

/** Everything but what XML 1.0 can say. */
const UNSAYABLE = /[^\t\n\r -\ud7ff\ue000-\ufffd\u{10000}-\u{10ffff}]/u

export function checkCharacters(value: string): void {
  if (UNSAYABLE.test(value)) throw new SqsError('InvalidMessageContents')
}

/** Undefined where there are none. */
export function attributesOf(
  given: WireAttributes | undefined,
  { attributes: max }: SqsLimits,
): Attributes | undefined {
  if (given === undefined) return undefined
  const names = Object.keys(given)
  if (names.length === 0) return undefined
  if (names.length > max)
    throw refusal(
      `Number of message attributes [${names.length}] exceeds the allowed maximum [${max}].`,
    )
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- an object without anything
  const found = Object.create(null) as Record<string, MessageAttribute>
  for (const name of names) {
    checkName(name)
    found[name] = attributeOf(name, given[name]!)
  }
  return found
}

/** The one that SQS knows. */
export function traceOf(given: WireAttributes | undefined): MessageAttribute | undefined {
  if (given === undefined) return undefined
  for (const name of Object.keys(given))
    if (name !== 'AWSTraceHeader')
      throw refusal(
        `Message system attribute name '${name.slice(0, NAME_CHARS_MAX)}' is invalid. Only AWSTraceHeader is supported.`,
      )
  const value = given['AWSTraceHeader']
  if (value === undefined) return undefined
  const trace = attributeOf('AWSTraceHeader', value)
  if (trace.type !== 'String')
    throw refusal("Message system attribute 'AWSTraceHeader' must be of type 'String'.")
  return trace
}

function checkName(name: string): void {
  if (name === '') throw refusal('The request must contain non-empty message attribute names.')
  if (name.length > NAME_CHARS_MAX)
    throw refusal(`Length of message attribute name must be less than ${NAME_CHARS_MAX} bytes.`)
  if (!/^[A-Za-z0-9_.-]+$/.test(name))
    throw refusal(
      'Message attribute name can contain A-Z, a-z, 0-9, underscore (_), hyphen (-), and period (.) characters.',
    )
  if (/^(?:AWS\.|Amazon\.)/i.test(name))
    throw refusal(
      `You can't use message attribute names beginning with 'AWS.' or 'Amazon.'. These strings are reserved for internal use.`,
    )
  if (name.startsWith('.') || name.endsWith('.') || name.includes('..'))
    throw refusal(
      `You can't use message attribute names beginning or ending with a period, or with periods in succession.`,
    )
}

function attributeOf(name: string, given: WireAttribute): MessageAttribute {
  const { DataType: type, StringValue, BinaryValue, StringListValues, BinaryListValues } = given
  if (type === undefined || type === '')
    throw refusal(`The message (user) attribute '${name}' must contain a non-empty attribute type.`)
  if (type.length > TYPE_CHARS_MAX)
    throw refusal(`Length of message attribute type must be less than ${TYPE_CHARS_MAX} bytes.`)
  if (StringListValues !== undefined || BinaryListValues !== undefined)
    throw new SqsError('UnsupportedOperation', 'Message attribute list values are not supported.')
  const kind = TYPE.exec(type)?.[1]
  if (kind === undefined)
    throw refusal(
      `The type of message (user) attribute '${name}' is invalid. You must use only the following supported type prefixes: Binary, Number, String.`,
    )
  const value = kind === 'Binary' ? BinaryValue : StringValue
  const other = kind === 'Binary' ? StringValue : BinaryValue
  if (value === undefined || value === '' || (other !== undefined && other !== ''))
    throw refusal(
      `Message (user) attribute '${name}' must contain a non-empty value of type '${kind === 'Binary' ? 'Binary' : 'String'}'.`,
    )
  if (kind === 'Binary') {
    if (BASE64.test(value)) return { type, base64: value }
    throw new SqsError('MalformedInput', `The value of '${name}' is not base64.`)
  }
  checkCharacters(value)
  if (kind === 'Number' && !NUMBER.test(value))
    throw refusal(`Can't cast the value of message (user) attribute '${name}' to a number.`)
  return { type, text: value }
}

/** Of a whole number from 0 to 255; anything else is an attribute like others. */
export function priorityOf(attributes: Attributes | undefined, name: string): number {
  const attribute = attributes?.[name]
  if (attribute === undefined || !('text' in attribute) || !attribute.type.startsWith('Number'))
    return 0
  return /^\d{1,3}$/.test(attribute.text) && Number(attribute.text) <= 255
    ? Number(attribute.text)
    : 0
}

/** Those a receiver wants: by name, by what their names begin with (`foo.*`), or all. */
export function wantedOf(attributes: Attributes, names: readonly string[]): Attributes | undefined {
  if (names.length === 0) return undefined
  const isAll = names.some((name) => name === 'All' || name === '.*' || name === '*')
  const prefixes = names.filter((name) => name.endsWith('.*')).map((name) => name.slice(0, -2))
  const exact = new Set(names)
  const found = Object.entries(attributes).filter(
    ([name]) => isAll || exact.has(name) || prefixes.some((prefix) => name.startsWith(prefix)),
  )
  return found.length === 0 ? undefined : Object.fromEntries(found)
}

export function wireAttributesOf(attributes: Attributes): Readonly<Record<string, unknown>> {
  return Object.fromEntries(
    Object.entries(attributes).map(([name, attribute]) => [
      name,
      'text' in attribute
        ? { StringValue: attribute.text, DataType: attribute.type }
        : { BinaryValue: attribute.base64, DataType: attribute.type },
    ]),
  )
}

const [AS_TEXT, AS_BYTES] = [1, 2]

/** Over names in order, each as its name, its type, a byte for how the value is kept, and the value. */
export function md5OfAttributes(attributes: Attributes): string {
  const parts: Buffer[] = []
  const put = (bytes: Buffer): void => {
    const length = Buffer.allocUnsafe(4)
    length.writeUInt32BE(bytes.length)
    parts.push(length, bytes)
  }
  for (const name of Object.keys(attributes).toSorted()) {
    const attribute = attributes[name]!
    put(Buffer.from(name))
    put(Buffer.from(attribute.type))
    parts.push(Buffer.of('text' in attribute ? AS_TEXT : AS_BYTES))
    put('text' in attribute ? Buffer.from(attribute.text) : Buffer.from(attribute.base64, 'base64'))
  }
  return hash('md5', Buffer.concat(parts))
}

function refusal(said: string): SqsError {
  return new SqsError('InvalidParameterValue', said)
}
