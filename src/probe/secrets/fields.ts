/** The fields of a secret as handles, whatever store they come from. */
import { badSecret } from './accidents.ts'
import { MASKED_CHARS_MIN } from './mask.ts'
import { secret } from './secret.ts'
import type { Secret } from './secrets.ts'

export const SECRET_FIELDS_MAX = 100
export const SECRET_CHARS_MAX = 16_384

/** Of a credential these are no secrets: they may be short, and hiding them would hide half of a log. */
export const OPEN_FIELDS: ReadonlySet<string> = new Set([
  'mechanism',
  'username',
  'tls',
  'clientId',
  'tokenEndpoint',
  'scope',
])

const NAME = /^[A-Za-z0-9](?:[A-Za-z0-9._/-]{0,254}[A-Za-z0-9])?$/

/** A secret is named by words with dots, hyphens, underscores and slashes between them. */
export function isSecretName(name: string): boolean {
  return NAME.test(name) && !name.includes('..') && !name.includes('//') && !name.includes('/.')
}

/** A plain text is the field `value`; numbers and flags are what they are written as. */
export function fieldsOf(name: string, stored: unknown): ReadonlyMap<string, Secret> {
  const fields = isRecord(stored) ? Object.entries(stored) : [['value', stored] as const]
  if (fields.length === 0 || fields.length > SECRET_FIELDS_MAX)
    throw badSecret(
      name,
      `it has ${fields.length} fields`,
      `give it 1 to ${SECRET_FIELDS_MAX} fields`,
    )
  return new Map(
    fields.map(([field, value]) => {
      const text = textOf(value)
      if (text === undefined || text === '')
        throw badSecret(name, `its field ${field} has no text`, 'give the field a text')
      if (text.length < MASKED_CHARS_MIN && !OPEN_FIELDS.has(field))
        throw badSecret(
          name,
          `its field ${field} is too short to be told from other text, and could not be masked`,
          `give it ${MASKED_CHARS_MIN} characters or more`,
        )
      if (text.length > SECRET_CHARS_MAX)
        throw badSecret(
          name,
          `its field ${field} has more than ${SECRET_CHARS_MAX} characters`,
          'shorten it',
        )
      return [field, secret(`${name}.${field}`, text)]
    }),
  )
}

function textOf(value: unknown): string | undefined {
  if (typeof value === 'string') return value
  return typeof value === 'number' || typeof value === 'boolean' ? String(value) : undefined
}

export function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
