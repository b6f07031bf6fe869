/**
 * Secrets in HashiCorp Vault, version 2 of its key-value store.
 *
 * A secret is read with one request, in its current version. The token goes along as a header and
 * nowhere else, redirections are not followed with it, and nothing that Vault answers goes into a message.
 */
import type { Clock } from '../../std/index.ts'
import type { Trying } from '../trying.ts'
import {
  badSecret,
  secretDenied,
  secretNotFound,
  secretsUnavailable,
  type SecretAccident,
} from './accidents.ts'
import { fieldsOf, isRecord, isSecretName } from './fields.ts'
import type { Secret, SecretSource } from './secrets.ts'

export type VaultOptions = Readonly<{
  /** Such as `https://vault.example.com:8200`. */
  address: string
  /** Asked for each time, so that whoever renews it can replace it. */
  token: () => Promise<Secret>
  namespace?: string
  /** Where the store is mounted, `secret` by default. */
  mount?: string
  clock: Clock
  trying: Trying
}>

export const VAULT_ANSWER_MS_MAX = 10_000
export const VAULT_BYTES_MAX = 1_048_576

const WHERE = 'Vault'

export function vaultSecrets(options: VaultOptions): SecretSource {
  const { address, mount = 'secret', trying } = options
  return {
    async resolve(name, { signal }) {
      if (!isSecretName(name))
        throw badSecret(name, 'it cannot be named so', 'name it by its path below the mount')
      const path = name.split('/').map(encodeURIComponent).join('/')
      const url = new URL(`/v1/${mount}/data/${path}`, address)
      return fieldsOf(
        name,
        await trying.run('vault', () => ask(options, url, name, signal), { signal }),
      )
    },
  }
}

async function ask(
  options: VaultOptions,
  url: URL,
  name: string,
  signal: AbortSignal,
): Promise<unknown> {
  const { clock, namespace } = options
  const token = await options.token()
  const late = new AbortController()
  const timer = clock.setTimer(clock.monotonic() + VAULT_ANSWER_MS_MAX, () => late.abort())
  try {
    const answer = await fetch(url, {
      headers: {
        'x-vault-token': token.reveal(),
        'x-vault-request': 'true',
        ...(namespace === undefined ? {} : { 'x-vault-namespace': namespace }),
      },
      redirect: 'manual',
      signal: AbortSignal.any([signal, late.signal]),
    })
    const text = await boundedText(answer)
    if (answer.status !== 200) throw refusal(answer, text, name)
    return dataOf(text, name)
  } catch (error) {
    signal.throwIfAborted()
    if (late.signal.aborted) throw unavailable('it did not answer in time')
    throw error instanceof TypeError ? unavailable('it cannot be reached') : error
  } finally {
    timer.cancel()
  }
}

function refusal(answer: Response, text: string, name: string): SecretAccident {
  const { status, headers } = answer
  switch (status) {
    case 403:
      return secretDenied(
        name,
        WHERE,
        'give the token a policy that may read it, or renew the token',
      )
    case 404:
      // A version that was deleted answers so as well, with its metadata.
      return secretNotFound(
        name,
        WHERE,
        isRecord(jsonOf(text)?.['data'])
          ? 'its current version was deleted: undelete it, or write it again'
          : 'write it, or mend the mount, the namespace or the name',
      )
    case 429: {
      const seconds = Number(headers.get('retry-after') ?? Number.NaN)
      return unavailable(
        'it has too much to do',
        Number.isFinite(seconds) ? seconds * 1_000 : undefined,
      )
    }
    case 503:
      return unavailable('it is sealed or in maintenance')
    default:
      return status >= 500 || status === 412 || status === 472 || status === 473
        ? unavailable(`it answered ${status}`)
        : secretsUnavailable(WHERE, `it answered ${status}`, {
            isTransient: false,
            remedy:
              status >= 300 && status < 400
                ? 'name the address of the active node: redirections are not followed'
                : 'see whether address, mount and namespace are right',
          })
  }
}

function dataOf(text: string, name: string): unknown {
  const data = jsonOf(text)?.['data']
  const stored = isRecord(data) ? data['data'] : undefined
  if (isRecord(stored)) return stored
  throw badSecret(
    name,
    'what Vault answered is no secret',
    'see whether the mount is a KV store of version 2',
  )
}

function jsonOf(text: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const read: unknown = JSON.parse(text)
    return isRecord(read) ? read : undefined
  } catch {
    return undefined
  }
}

async function boundedText({ body }: Response): Promise<string> {
  const read: Uint8Array[] = []
  let bytes = 0
  for await (const chunk of body ?? []) {
    bytes += chunk.length
    if (bytes > VAULT_BYTES_MAX)
      throw secretsUnavailable(WHERE, `it answered more than ${VAULT_BYTES_MAX} bytes`, {
        isTransient: false,
        remedy: 'see whether the address is that of Vault',
      })
    read.push(chunk)
  }
  return Buffer.concat(read).toString('utf8')
}

function unavailable(why: string, retryAfterMs?: number): SecretAccident {
  return secretsUnavailable(WHERE, why, {
    isTransient: true,
    remedy: 'see whether Vault is up and unsealed',
    ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
  })
}
