/**
 * Who may call, as the config says it.
 *
 * Without tokens and without JWT everybody may do everything, which is right on a machine's own address
 * only: anywhere else the server refuses to listen.
 */
import { BlockList, isIP } from 'node:net'

import {
  anyOf,
  defaultPolicy,
  jwtAuthenticator,
  keySet,
  keySetFile,
  keySetUrl,
  loopbackAuthenticator,
  permissionsOfRoles,
  policyShape,
  readShape,
  staticTokens,
  type Authenticator,
  type Policy,
} from '../http/index.ts'
import { Accident, fault, type Clock, type Fault, type Log } from '../std/index.ts'
import type { Config } from './config-keys.ts'
import { readDataFile } from './data-file.ts'

/** Says why the address must not be listened on, if it must not. */
export function refuseExposure(config: Config): Fault<'open-to-all'> | undefined {
  const host = config['listen.host']
  if (isProtected(config) || isLoopback(host)) return undefined
  return fault(
    'open-to-all',
    `${host} can be reached from elsewhere, and nobody has to say who they are`,
    {
      host,
      remedy: 'set auth.tokens or auth.jwt, or let listen.host be 127.0.0.1',
    },
  )
}

export async function authenticatorFor(
  config: Config,
  { clock, log }: Readonly<{ clock: Clock; log: Log }>,
): Promise<Authenticator> {
  if (!isProtected(config)) return loopbackAuthenticator()
  const policy = await policyFor(config)
  const tokens = staticTokens(
    config['auth.tokens'].map(({ name, sha256, roles, places }) => ({
      name,
      sha256,
      permissions: permissionsOfRoles(policy, roles),
      ...(places !== undefined && { places }),
    })),
  )
  const { 'auth.jwt.issuer': issuer, 'auth.jwt.audience': audience, 'auth.jwt.keys': keys } = config
  if (issuer === undefined || audience === undefined || keys === undefined) return tokens
  const load = /^https?:\/\//.test(keys) ? keySetUrl(keys) : keySetFile(keys)
  const jwt = jwtAuthenticator({
    issuer,
    audience,
    keys: keySet(load, { clock, log }),
    policy,
    clock,
  })
  return config['auth.tokens'].length === 0 ? jwt : anyOf(tokens, jwt)
}

/** Whether callers have to say who they are. */
export function isProtected(config: Config): boolean {
  return config['auth.tokens'].length > 0 || config['auth.jwt.issuer'] !== undefined
}

async function policyFor(config: Config): Promise<Policy> {
  const path = config['auth.policy']
  const policy = path === undefined ? defaultPolicy : await readPolicy(path)
  for (const { name, roles } of config['auth.tokens'])
    for (const role of roles)
      if (!Object.hasOwn(policy.roles, role))
        throw badPolicy(`the token ${name} has the role ${role}, which the policy does not name`)
  return policy
}

async function readPolicy(path: string): Promise<Policy> {
  const read = readShape(policyShape, await readDataFile(path))
  if (read.ok) return read.value
  throw badPolicy(`${path} is not a policy`, read.detail)
}

function badPolicy(message: string, detail: Readonly<Record<string, unknown>> = {}): Accident {
  return new Accident(
    fault('bad-policy', message, {
      ...detail,
      remedy: 'docs/reference/config.md says what a policy looks like',
    }),
  )
}

function isLoopback(host: string): boolean {
  if (host === 'localhost') return true
  const family = isIP(host)
  return family !== 0 && LOOPBACK.check(host, family === 4 ? 'ipv4' : 'ipv6')
}

const LOOPBACK = new BlockList()
LOOPBACK.addSubnet('127.0.0.0', 8, 'ipv4')
LOOPBACK.addAddress('::1', 'ipv6')
