/** The ports of an orchestrator as a config of the server makes them. */
import { openPorts, type ProbePorts } from '../../src/probe/index.ts'
import { loadConfig } from '../../src/server/index.ts'
import type { Config } from '../../src/server/config-keys.ts'
import { portsOptions } from '../../src/server/probe-feature.ts'
import { silentLog, systemClock } from '../../src/std/index.ts'
import { directory } from '../probe/bundles.ts'
import { DIRECTIVE } from '../probe/fakes.ts'

export type Values = Readonly<Record<string, string>>

export async function configOf(values: Values): Promise<Config> {
  const flags = Object.entries(values).map(([name, value]) => ({ name, value, flag: '--set' }))
  return (await loadConfig({ directory: '/', environment: {}, flags })).config
}

export type Ports = AsyncDisposable & Readonly<{ ports: ProbePorts }>

export async function portsOf(values: Values, environment: Values = {}): Promise<Ports> {
  const home = directory()
  const config = await configOf(values)
  const parts = { config, clock: systemClock, log: silentLog, environment }
  const ports = await openPorts(portsOptions(parts, home.path))
  return {
    ports,
    async [Symbol.asyncDispose]() {
      await ports[Symbol.asyncDispose]()
      home[Symbol.dispose]()
    },
  }
}

export const signal: AbortSignal = new AbortController().signal

/** The password of the secret `svc`, as a test of this server would get it. */
export async function passwordOf({ ports }: Ports): Promise<string | undefined> {
  const directive = { ...DIRECTIVE, secrets: ['svc'] }
  const bundle = { directory: '/', features: [], directive }
  const { secrets } = await ports.credentialsFor(bundle, ports.newMask(), signal)
  return secrets.get('svc')?.get('password')?.reveal()
}
