/**
 * A service under test: the server, whoever knows its places, and whoever signs its tokens.
 *
 * Services of a kind are shared by all scenarios that do not ask for one of their own; what a
 * scenario names is its own by the ids, so none sees the stock of another.
 */
import { createHash } from 'node:crypto'
import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { startLocationApi, type LocationApi } from '../../location-api.ts'
import { startServer, type RunningServer, type Settings } from '../../server.ts'
import { issuerOf, type Issuer } from '../../tokens.ts'

export type Service = {
  server: RunningServer
  readonly settings: Settings
  readonly locationApi: LocationApi | undefined
  readonly issuer: Issuer | undefined
}

export type Policy = Readonly<Record<string, readonly string[]>>

const ISSUER = 'https://issuer.example'
const AUDIENCE = 'stock'

/** Of whoever prepares a scenario; the scenario itself carries tokens of the issuer. */
export const ADMIN_TOKEN = 'of-the-administrator'

/** Everything, so that a scenario can look for it. */
const LOGGED = { 'log.level': 'debug', 'log.requests': true }

export type Kind = 'plain' | 'jwt' | 'restarts'

const shared = new Map<Kind, Promise<Service>>()

export async function plainService(settings: Settings = {}): Promise<Service> {
  const all = { ...LOGGED, ...settings }
  return {
    server: await startServer(all),
    settings: all,
    locationApi: undefined,
    issuer: undefined,
  }
}

export async function tokenService(policy?: Policy): Promise<Service> {
  const issuer = issuerOf(ISSUER, AUDIENCE)
  const directory = mkdtempSync(join(tmpdir(), 'flytower-served-'))
  const keys = join(directory, 'keys.json')
  writeFileSync(keys, JSON.stringify(issuer.keys))
  const settings: Record<string, unknown> = {
    'auth.jwt.issuer': ISSUER,
    'auth.jwt.audience': AUDIENCE,
    'auth.jwt.keys': keys,
    'auth.tokens': [
      {
        name: 'administrator',
        sha256: createHash('sha256').update(ADMIN_TOKEN).digest('hex'),
        roles: ['admin'],
      },
    ],
  }
  if (policy !== undefined) {
    settings['auth.policy'] = join(directory, 'policy.json')
    writeFileSync(
      join(directory, 'policy.json'),
      JSON.stringify({ roles: { admin: ['*'] }, jobs: policy }),
    )
  }
  const server = await startServer(settings, directory)
  return { server, settings, locationApi: undefined, issuer }
}

export async function upstreamService(settings: Settings): Promise<Service> {
  const locationApi = await startLocationApi()
  const all = {
    ...LOGGED,
    'stock.locations.source': 'remote',
    'stock.locations.url': locationApi.url,
    'stock.locations.staleFor': '0ms',
    ...settings,
  }
  return { server: await startServer(all), settings: all, locationApi, issuer: undefined }
}

/** One of them may be ended and started again; whoever does that leaves it running. */
export function sharedService(kind: Kind): Promise<Service> {
  const known = shared.get(kind)
  if (known !== undefined) return known
  const started = kind === 'jwt' ? tokenService() : plainService()
  shared.set(kind, started)
  return started
}

export async function restart(service: Service): Promise<void> {
  await service.server.stop()
  service.server = await startServer(service.settings, service.server.directory)
}

export async function remove(service: Service): Promise<void> {
  await service.server.remove()
  await service.locationApi?.close()
}

export async function removeShared(): Promise<void> {
  for (const service of shared.values()) await remove(await service)
  shared.clear()
}
