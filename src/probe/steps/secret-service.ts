/** Hands steps the secrets that their directive names; whatever is handed out is masked from then on. */
import { Accident, fault } from '../../std/index.ts'
import type { Mask, Secret } from '../secrets/secrets.ts'
import type { ServiceHandlers } from './services.ts'

export type SecretServiceOptions = Readonly<{
  /** By name, then by field. */
  secrets: ReadonlyMap<string, ReadonlyMap<string, Secret>>
  mask: Mask
}>

export function secretHandlers({ secrets, mask }: SecretServiceOptions): ServiceHandlers {
  return {
    async secret({ name, field = 'value' }) {
      const fields = secrets.get(name)
      if (fields === undefined) throw notNamed(name)
      const secret = fields.get(field)
      if (secret === undefined) throw noField(name, field, [...fields.keys()])
      const value = secret.reveal()
      mask.add(value)
      return value
    },
  }
}

function notNamed(name: string): Accident {
  return new Accident(
    fault('secret-denied', `steps may not have the secret ${name}`, {
      name,
      remedy: 'name it under secrets in the directive file',
    }),
  )
}

function noField(name: string, field: string, fields: readonly string[]): Accident {
  return new Accident(
    fault('secret-denied', `the secret ${name} has no field ${field}`, {
      name,
      field,
      remedy: `ask for one of its fields: ${fields.join(', ')}`,
    }),
  )
}
