/** What goes wrong with secrets, each as the accident that its port promises; none of them has a value in it. */
import { Accident, fault } from '../../std/index.ts'
import { shownName } from '../bundle/file-name.ts'
import type { SecretFaultCode } from './secrets.ts'

export type SecretAccident = Accident<SecretFaultCode>

export function secretNotFound(name: string, where: string, remedy: string): SecretAccident {
  return new Accident(
    fault('secret-not-found', `there is no secret ${shownName(name)} in ${where}`, {
      secret: shownName(name),
      isTransient: false,
      remedy,
    }),
  )
}

export function secretDenied(name: string, where: string, remedy: string): SecretAccident {
  return new Accident(
    fault('secret-denied', `${where} does not give out the secret ${shownName(name)}`, {
      secret: shownName(name),
      isTransient: false,
      remedy,
    }),
  )
}

export function badSecret(name: string, why: string, remedy: string): SecretAccident {
  return new Accident(
    fault('bad-secret', `the secret ${shownName(name)} cannot be used: ${why}`, {
      secret: shownName(name),
      isTransient: false,
      remedy,
    }),
  )
}

/** `why` is in words of ours: what a store answers may have a secret in it. */
export function secretsUnavailable(
  where: string,
  why: string,
  options: Readonly<{ isTransient: boolean; remedy: string; retryAfterMs?: number }>,
): SecretAccident {
  return new Accident(fault('secrets-unavailable', `${where} cannot be used: ${why}`, options))
}
