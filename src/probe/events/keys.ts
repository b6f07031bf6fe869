/** Keys of a topic: a CloudEvent, a text, JSON, or nothing, as the directive says. */
import { unreachable } from '../../std/index.ts'
import type { KeyFormat } from '../bundle/directive.ts'
import { CLOUD_EVENT, cloudEvent, cloudEventProblem, type CloudEventParts } from './cloud-event.ts'
import type { SchemaRegistry } from './registry.ts'
import { refusedValue, textOf } from './schema.ts'
import { readRegistered, registered, schemaWriter } from './values.ts'
import { unframe } from './wire.ts'

export type KeyOptions = Readonly<{
  topic: string
  keyFormat: KeyFormat
  registry: SchemaRegistry | undefined
}>

/** What a key is made of where it is not given. */
export type KeyParts = Readonly<{
  id: string
  at: number
  key?: unknown
  correlation?: string | undefined
  payloadVersion?: string | undefined
}>

export interface KeyFormats {
  write(event: KeyParts, type: string): Promise<Uint8Array | undefined>
  /** Throws whatever keeps the bytes from being read. */
  read(bytes: Uint8Array | undefined): Promise<unknown>
}

const PAYLOAD_VERSION = 'v1'

export function keyFormats({ topic, keyFormat, registry }: KeyOptions): KeyFormats {
  return {
    async write(event, type) {
      const { key, correlation = event.id, payloadVersion = PAYLOAD_VERSION } = event
      switch (keyFormat) {
        case 'none':
          if (key === undefined) return undefined
          throw refusedValue(topic, 'the key', 'cannot be written: the topic has none')
        case 'string':
          if (key === undefined || typeof key === 'string') return Buffer.from(key ?? correlation)
          throw refusedValue(topic, 'the key', 'is no text')
        case 'json':
          return Buffer.from(JSON.stringify(key ?? { type, correlation, payloadVersion }))
        case 'cloudevent':
          return writeCloudEvent(key ?? {}, { ...event, topic, type, correlation, payloadVersion })
        default:
          return unreachable(keyFormat)
      }
    },

    async read(bytes) {
      if (keyFormat === 'none') return null
      if (bytes === undefined && keyFormat === 'cloudevent') throw new Error('there is no key')
      if (bytes === undefined) return null
      if (keyFormat === 'string') return textOf(bytes)
      const key = await readStructured(bytes)
      const problem = keyFormat === 'cloudevent' ? cloudEventProblem(key) : undefined
      if (problem !== undefined) throw new Error(problem)
      return key
    },
  }

  /** As JSON, unless the registry has a schema for it. */
  async function writeCloudEvent(given: unknown, parts: CloudEventParts): Promise<Uint8Array> {
    if (!isRecord(given)) throw refusedValue(topic, 'the key', 'is no CloudEvent')
    const found = await registered(topic, CLOUD_EVENT, undefined, registry)
    const known = found?.record.fields
    const usual = Object.entries(cloudEvent(parts)).filter(([name]) => known?.has(name) ?? true)
    const whole = { ...Object.fromEntries(usual), ...given }
    const problem = cloudEventProblem(whole)
    if (problem !== undefined) throw refusedValue(topic, 'the key', `is refused: ${problem}`)
    if (found === undefined) return Buffer.from(JSON.stringify(whole))
    return schemaWriter(found.record, found.schema.id).write(whole)
  }

  async function readStructured(bytes: Uint8Array): Promise<unknown> {
    const framed = unframe(bytes)
    if (framed === undefined) return JSON.parse(textOf(bytes))
    const schema = await registry?.byId(framed.id)
    if (schema === undefined) throw new Error(`there is no schema ${framed.id}`)
    return readRegistered(framed.payload, schema, [])
  }
}

export function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
