/** The test orchestrator as a feature of the server: its ports are what the config says. */
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'

import type { Journal } from '../journal/index.ts'
import type { System } from '../kernel/index.ts'
import {
  createProbe,
  openPorts,
  probeRoutes,
  type PortsOptions,
  type Probe,
  type ProbeSettings,
  type SecretFileOptions,
} from '../probe/index.ts'
import { freshSeed, isFault, PRODUCT, random, type Clock, type Log } from '../std/index.ts'
import { PASSPHRASE_VARIABLE } from './config.ts'
import { MEMORY, type Config } from './config-keys.ts'
import type { Feature } from './feature.ts'
import { probeMetrics } from './metrics.ts'

export type ProbeParts = Readonly<{
  config: Config
  system: System
  journal: Journal
  clock: Clock
  log: Log
  environment: PortsOptions['environment']
}>

/** The token of Vault, where no file has it. */
export const VAULT_TOKEN_VARIABLE = 'VAULT_TOKEN'

export async function probeFeature(
  parts: ProbeParts,
): Promise<Feature & Readonly<{ probe: Probe }>> {
  const { config, system, journal, clock, log } = parts
  const isKept = config['data.directory'] !== MEMORY
  const directory = isKept
    ? resolve(config['data.directory'], 'probe') // runs have a working directory of their own
    : await mkdtemp(join(tmpdir(), `${PRODUCT}-probe-`))
  const ports = await openPorts(portsOptions(parts, directory))
  const settings = settingsOf(config)
  const probe = await createProbe({ system, journal, ports, log, settings }).catch(
    async (error: unknown) => {
      await leave()
      throw error
    },
  )
  return {
    probe,
    routes: probeRoutes(probe, { clock, uploadBytesMax: config['probe.bundleMax'] }),
    async health() {
      const status = await probe.queueStatus()
      return [
        isFault(status)
          ? { name: 'probe', up: false, note: status.message }
          : { name: 'probe', up: true },
      ]
    },
    metrics: () => probeMetrics(probe.metrics()),
    async close() {
      await probe.close()
      await leave()
    },
  }

  async function leave(): Promise<void> {
    await ports[Symbol.asyncDispose]()
    if (!isKept) await rm(directory, { recursive: true, force: true })
  }
}

export function settingsOf(config: Config): ProbeSettings {
  return {
    slots: config['probe.slots'],
    policy: config['probe.policy'],
    depth: config['probe.depth'],
    setupMs: config['probe.setupTime'],
    loadingMs: config['probe.loadingTime'],
    testingMs: config['probe.testingTime'],
    completedMs: config['probe.keepTime'],
    exceptionMs: config['probe.keepTime'],
    graceMs: config['probe.grace'],
    interrupted: config['probe.interrupted'],
    attempts: config['probe.attempts'],
    retentionMs: config['probe.retention'],
    retentionTests: config['probe.retentionTests'],
  }
}

export function portsOptions(
  { config, clock, log, environment }: Omit<ProbeParts, 'system' | 'journal'>,
  directory: string,
): PortsOptions {
  const endpoint = config['probe.s3.endpoint']
  const bootstrapServers = config['probe.kafka.bootstrapServers']
  const registry = config['probe.kafka.registry']
  const total = config['probe.bundleMax']
  return {
    directory,
    clock,
    random: random(freshSeed()),
    log,
    environment,
    isolation: config['probe.isolation'],
    runLimits: {
      memoryBytes: config['probe.memoryMax'],
      processes: config['probe.processesMax'],
    },
    bundleLimits: { files: 10_000, fileBytes: total, totalBytes: total },
    roots: config['probe.bundleRoots'],
    s3: {
      region: config['probe.s3.region'],
      forcePathStyle: config['probe.s3.pathStyle'],
      ...(endpoint !== undefined && { endpoint }),
    },
    secrets: secretsOf(config, environment),
    ...(bootstrapServers !== undefined && {
      kafka: {
        bootstrapServers,
        ...(registry !== undefined && { registry: { url: registry } }),
      },
    }),
    httpAllow: config['probe.httpAllow'],
  }
}

function secretsOf(
  config: Config,
  environment: PortsOptions['environment'],
): PortsOptions['secrets'] {
  const file = secretFileOf(config, environment)
  const address = config['probe.vault.address']
  const namespace = config['probe.vault.namespace']
  return {
    store: config['probe.secrets.store'],
    ...(file !== undefined && { file }),
    ...(address !== undefined && {
      vault: {
        address,
        token: () => given(config['probe.vault.tokenFile'], environment[VAULT_TOKEN_VARIABLE]),
        mount: config['probe.vault.mount'],
        ...(namespace !== undefined && { namespace }),
      },
    }),
  }
}

/** The encrypted file, where one is configured. */
export function secretFileOf(
  config: Config,
  environment: PortsOptions['environment'],
): SecretFileOptions | undefined {
  const path = config['probe.secrets.file']
  if (path === undefined) return undefined
  const passphrase = (): Promise<string> =>
    given(config['probe.secrets.passphraseFile'], environment[PASSPHRASE_VARIABLE])
  return { path, passphrase }
}

/** From a file, or else from the environment; empty where neither has it. */
async function given(file: string | undefined, variable: string | undefined): Promise<string> {
  return file === undefined ? (variable ?? '') : (await readFile(file, 'utf8')).trim()
}
