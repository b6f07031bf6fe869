/**
 * Secrets in the environment of the server.
 *
 * The secret `svc-orders` is the variable FLYTOWER_SECRET_SVC_ORDERS: letters are large, and whatever
 * is neither a letter nor a digit is an underscore. Its value is a JSON object of fields, or a plain text.
 */
import { PRODUCT } from '../../std/index.ts'
import { secretNotFound } from './accidents.ts'
import { fieldsOf, isRecord } from './fields.ts'
import type { SecretSource } from './secrets.ts'

export function environmentSecrets(
  environment: Readonly<Record<string, string | undefined>>,
): SecretSource {
  return {
    resolve(name) {
      const variable = secretVariable(name)
      const value = environment[variable]
      return value === undefined || value === ''
        ? Promise.reject(secretNotFound(name, 'the environment', `set ${variable}`))
        : new Promise((resolve) => resolve(fieldsOf(name, parsed(value))))
    },
  }
}

export function secretVariable(name: string): string {
  return `${PRODUCT}_SECRET_${name}`.toUpperCase().replace(/[^A-Z0-9]/g, '_')
}

/** What only looks like JSON is a text, such as a password that begins with a brace. */
function parsed(value: string): unknown {
  if (!value.trimStart().startsWith('{')) return value
  try {
    const read: unknown = JSON.parse(value)
    return isRecord(read) ? read : value
  } catch {
    return value
  }
}
