/**
 * The world as the orchestrator of a server meets it: directories, stores, secrets, brokers of events, and
 * processes for the runs.
 *
 *   <directory>/staging/<test id>    bundle and evidence of a test while it runs
 *   <directory>/uploads/<test id>    bundles that were sent to the server, with their evidence
 */
import { join } from 'node:path'

import { type Clock, type Log, type Random } from '../std/index.ts'
import { BUNDLE_LIMITS_DEFAULT, readBundle } from './bundle/read-bundle.ts'
import type { ProbePorts } from './children/ports.ts'
import { kafkaClusters, type KafkaAddress } from './events/kafka.ts'
import { memoryClusters } from './events/memory.ts'
import { eventRooms } from './events/room.ts'
import { sealEvidence } from './evidence/seal.ts'
import { createRunner, type RunnerOptions } from './runner/create-runner.ts'
import { credentialsFor } from './secrets/credentials.ts'
import { environmentSecrets } from './secrets/environment.ts'
import { fileSecrets, type SecretFileOptions } from './secrets/file.ts'
import { createMask } from './secrets/mask.ts'
import { secret } from './secrets/secret.ts'
import { secretSources, type SecretStore } from './secrets/sources.ts'
import { vaultSecrets, type VaultOptions } from './secrets/vault.ts'
import { httpHandlers } from './steps/http-service.ts'
import { secretHandlers } from './steps/secret-service.ts'
import { createStorage } from './storage/create-storage.ts'
import type { LocalRoots } from './storage/local.ts'
import { createS3Store, type S3Options } from './storage/s3.ts'
import { createStaging } from './storage/staging.ts'
import { createUploads } from './storage/uploads.ts'
import type { BundleLimits } from './storage/storage.ts'
import { createTrying } from './trying.ts'

export type PortsOptions = Readonly<{
  /** For what is staged and uploaded; nobody else's. */
  directory: string
  clock: Clock
  random: Random
  log: Log
  environment: Readonly<Record<string, string | undefined>>
  isolation: RunnerOptions['isolation']
  runLimits?: RunnerOptions['limits']
  bundleLimits?: BundleLimits
  /** Where local bundles may lie. */
  roots?: LocalRoots
  s3: Omit<S3Options, 'trying'>
  secrets: Readonly<{
    store: SecretStore
    file?: SecretFileOptions
    vault?: Omit<VaultOptions, 'clock' | 'trying' | 'token'> &
      Readonly<{
        /** Asked for each time, so that whoever renews it can replace it. */
        token: () => Promise<string>
      }>
  }>
  /** Without it events stay in this process. */
  kafka?: KafkaAddress
  /** Origins that steps may call. */
  httpAllow: readonly string[]
}>

/** Partitions of a topic of this process that a bundle names. */
const PARTITIONS = 3

export async function openPorts(options: PortsOptions): Promise<ProbePorts & AsyncDisposable> {
  const { directory, clock, random, log, environment, httpAllow } = options
  const bundleLimits = options.bundleLimits ?? BUNDLE_LIMITS_DEFAULT
  const trying = createTrying({ clock, random })
  const staging = await createStaging({ root: join(directory, 'staging') })
  const uploads = await createUploads({ root: join(directory, 'uploads'), limits: bundleLimits })
  const s3 = createS3Store({ ...options.s3, trying })
  const storage = createStorage({ local: { roots: options.roots }, s3, uploads })
  const { store, file, vault } = options.secrets
  const secrets = secretSources({
    default: store,
    stores: {
      env: environmentSecrets(environment),
      ...(file !== undefined && { file: fileSecrets(file) }),
      ...(vault !== undefined && {
        vault: vaultSecrets({
          ...vault,
          token: async () => secret('vault-token', await vault.token()),
          clock,
          trying,
        }),
      }),
    },
  })
  const clusters =
    options.kafka === undefined
      ? memoryClusters({ clock, autoCreate: PARTITIONS })
      : kafkaClusters({ clusters: [options.kafka], clock, log, newMask: createMask })
  const openEvents = eventRooms({
    clusters,
    clock,
    log,
    handlers: ({ security, mask, sealed }) => ({
      ...secretHandlers({ secrets: security.secrets, mask }),
      ...httpHandlers({ allow: httpAllow, clock, signal: sealed }),
    }),
  })
  const { isolation, runLimits } = options

  return {
    storage,
    staging,
    bundleLimits,
    readBundle: (of) => readBundle(of, bundleLimits),
    sealEvidence,
    credentialsFor: (bundle, mask, signal) =>
      credentialsFor(bundle.directive, secrets, mask, signal),
    newMask: createMask,
    openEvents,
    runner: createRunner({
      isolation,
      clock,
      log,
      ...(runLimits !== undefined && { limits: runLimits }),
    }),
    receiveUpload: (testId, archive, { signal }) => uploads.receive(testId, archive, { signal }),
    removeUpload: (testId) => uploads.remove(testId),
    async [Symbol.asyncDispose]() {
      await clusters[Symbol.asyncDispose]()
      await s3[Symbol.asyncDispose]()
    },
  }
}
