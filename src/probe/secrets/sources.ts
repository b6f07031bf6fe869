/**
 * All stores of secrets of a server as one, and what a run keeps of it.
 *
 * A name may say where it is: `file:`, `env:` and `vault:` go before the name itself. Without, the
 * store that the server was told to use is asked.
 */
import { badSecret, type SecretAccident } from './accidents.ts'
import type { Secret, SecretSource } from './secrets.ts'

export type SecretStore = 'file' | 'env' | 'vault'

export type SecretSourcesOptions = Readonly<{
  default: SecretStore
  stores: Readonly<Partial<Record<SecretStore, SecretSource>>>
}>

/** What each of them needs, where the server runs, or the command that runs a test without one. */
const SETTINGS: Readonly<Record<SecretStore, string>> = {
  file: 'set probe.secrets.file, and FLYTOWER_SECRETS_PASSPHRASE or probe.secrets.passphraseFile',
  env: 'set probe.secrets.store to env',
  vault: 'set probe.vault.address, and VAULT_TOKEN or probe.vault.tokenFile',
}

export function secretSources({ default: usual, stores }: SecretSourcesOptions): SecretSource {
  return {
    async resolve(name, options) {
      const [, prefix, rest] = /^([a-z]+):(.*)$/s.exec(name) ?? [undefined, usual, name]
      const store = isStore(prefix) ? stores[prefix] : undefined
      if (store === undefined || rest === undefined) throw notThere(name, prefix ?? '', stores)
      return store.resolve(rest, options)
    },
  }
}

/** For one run: each secret is asked for once, however many topics use it. What failed is asked again. */
export function onceEach(source: SecretSource): SecretSource {
  const known = new Map<string, Promise<ReadonlyMap<string, Secret>>>()
  return {
    resolve(name, options) {
      const resolved = known.get(name) ?? source.resolve(name, options)
      known.set(name, resolved)
      resolved.catch(() => known.delete(name))
      return resolved
    },
  }
}

function notThere(
  name: string,
  prefix: string,
  stores: SecretSourcesOptions['stores'],
): SecretAccident {
  return isStore(prefix)
    ? badSecret(name, `the store ${prefix} is not set up`, SETTINGS[prefix])
    : badSecret(name, `there is no store ${prefix}`, `use one of ${Object.keys(stores).join(', ')}`)
}

function isStore(prefix: string | undefined): prefix is SecretStore {
  return prefix === 'file' || prefix === 'env' || prefix === 'vault'
}
