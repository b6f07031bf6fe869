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
    secret: ({ name, field = 'value' }) => {
      const secret = secrets.get(name)?.get(field)
      if (secret === undefined)
        return Promise.reject(
          new Accident(
            fault('secret-denied', `steps may not have the ${field} of the secret ${name}`, {
              name,
              field,
              remedy: 'name it under secrets in the directive file',
            }),
          ),
        )
      const value = secret.reveal()
      mask.add(value)
      return Promise.resolve(value)
    },
  }
}
