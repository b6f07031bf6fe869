/** CloudEvents as keys: the attributes a producer gives by itself, and those a reader insists on. */
import { isoTime, PRODUCT } from '../../std/index.ts'

export type CloudEventParts = Readonly<{
  id: string
  topic: string
  type: string
  at: number
  correlation: string
  payloadVersion: string
}>

/** The record in a registry that keys are written with. */
export const CLOUD_EVENT = 'CloudEvent'

const REQUIRED = ['id', 'source', 'specversion', 'type'] as const

export function cloudEvent(parts: CloudEventParts): Readonly<Record<string, unknown>> {
  return {
    id: parts.id,
    source: `${PRODUCT}/probe`,
    specversion: '1.0',
    type: parts.type,
    time: isoTime(parts.at),
    subject: parts.topic,
    datacontenttype: 'application/octet-stream',
    correlationid: parts.correlation,
    payloadversion: parts.payloadVersion,
    time_epoch_micro_source: parts.at * 1_000,
  }
}

/** What keeps it from being one, or undefined. */
export function cloudEventProblem(value: unknown): string | undefined {
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    return 'the key is no CloudEvent'
  const missing = REQUIRED.filter((name) => {
    const attribute: unknown = Reflect.get(value, name)
    return typeof attribute !== 'string' || attribute === ''
  })
  return missing.length === 0 ? undefined : `the CloudEvent has no ${missing.join(', ')}`
}
