/** What the server needs of the machine: a Node, a clock, an address. */
import { createServer } from 'node:net'

import type { Clock } from '../../std/index.ts'
import { refuseExposure } from '../authenticating.ts'
import type { Config } from '../config-keys.ts'
import type { ServerNote } from '../directory.ts'
import type { Io } from '../io.ts'
import { isNodeSupported, NODE_NEEDED } from '../node-version.ts'
import { ok, trouble, type Check } from './check.ts'

/** 2026-01-01: a clock that shows less has never been set. */
const EPOCH_MS_MIN = 1_767_225_600_000
/** Clocks of a network differ; this much is a mistake. */
const AHEAD_MS_MAX = 300_000

export function checkNode({ node }: Io['versions']): Check {
  return isNodeSupported(node)
    ? ok('node', node)
    : trouble('node', `${node} is too old, ${NODE_NEEDED} is the least`, {
        advice: 'install it from nodejs.org, or run the npm scripts of a checkout',
      })
}

/** The last write to the data is the best witness there is of what the clock has shown before. */
export function checkClock(clock: Clock, writtenAt: number | undefined): Check {
  const advice = 'let the machine set its clock by the network, for example with chrony'
  const now = clock.now()
  if (now < EPOCH_MS_MIN)
    return trouble('clock', 'it shows a time before this program was written', { advice })
  if (writtenAt !== undefined && writtenAt - now > AHEAD_MS_MAX)
    return trouble(
      'clock',
      `it is ${Math.round((writtenAt - now) / 1_000)} s behind the time at which the data was written`,
      { certainty: 'likely', advice },
    )
  return ok('clock', 'it shows a time that can be')
}

/** `server` is ours, and has the data. */
export async function checkAddress(
  config: Config,
  server: ServerNote | undefined,
  io: Io,
): Promise<Check> {
  const { 'listen.host': host, 'listen.port': port } = config
  const where = `${host}:${port}`
  const exposure = refuseExposure(config)
  if (exposure !== undefined)
    return trouble('address', exposure.message, {
      where,
      advice: String(exposure.detail['remedy']),
    })
  if (server !== undefined && URL.parse(server.url)?.port === String(port))
    return ok('address', `the server is there, process ${server.pid}`, where)
  const refusal = await tryAddress(host, port)
  if (refusal === undefined) return ok('address', 'it is free', where)
  if (refusal.code === 'EADDRINUSE')
    return trouble('address', 'somebody else listens there', {
      where,
      command: `${io.self} serve --port ${await freePort(host)}`,
    })
  return trouble('address', `it cannot be had: ${refusal.code}`, {
    where,
    advice: 'set listen.host to an address of this machine, and listen.port to one from 1024 on',
  })
}

function tryAddress(host: string, port: number): Promise<{ code: string } | undefined> {
  return new Promise((resolve) => {
    const server = createServer()
    server.on('error', (error) => {
      resolve({ code: 'code' in error ? String(error.code) : error.message })
    })
    server.listen(port, host, () => server.close(() => resolve(undefined)))
  })
}

function freePort(host: string): Promise<number> {
  return new Promise((resolve) => {
    const server = createServer()
    server.listen(0, host, () => {
      const address = server.address()
      const port = typeof address === 'object' && address !== null ? address.port : 0
      server.close(() => resolve(port))
    })
  })
}
