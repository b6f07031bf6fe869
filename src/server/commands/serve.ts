/** `serve` and `dev`: the server, until a signal ends it. */
import { resolve } from 'node:path'

import { Accident, PRODUCT } from '../../std/index.ts'
import { refuseExposure } from '../authenticating.ts'
import type { Asked } from '../cli.ts'
import { MEMORY, type Config } from '../config-keys.ts'
import type { Io } from '../io.ts'
import { serverLog } from '../log.ts'
import { Life } from '../serving.ts'
import { openStore } from '../store.ts'

/** Settles when the process has been told to end; what it ends with is said by `Life`. */
export async function serve({ config: { config } }: Asked, io: Io, hint?: string): Promise<number> {
  const log = serverLog({
    level: config['log.level'],
    format: config['log.format'],
    colors: process.stdout.isTTY,
  })
  const ended = Promise.withResolvers<number>()
  const life = new Life({
    log,
    clock: io.clock,
    stopMs: config['shutdown.total'],
    host: { on: (event, listener) => process.on(event, listener), exit: end },
  })
  const { product: version } = io.versions
  const exposure = refuseExposure(config)
  if (exposure !== undefined) throw new Accident(exposure)
  // The journal opens in threads of its own, while everything else is loaded here.
  const store = openStore(config, { clock: io.clock, onFailed: (why) => life.onFailed(why) })
  store.catch(() => undefined) // compose says so
  const { compose } = await import('../compose.ts')
  const { clock, environment } = io
  const server = await compose(config, { log, version, clock, store, environment })
  life.take(server)
  try {
    const { url } = await server.start()
    log.info(`${PRODUCT} serves at ${url}`, {
      component: 'server',
      url,
      data: dataOf(config),
      docs: `${url}/docs`,
      version,
      pid: process.pid,
    })
    if (hint !== undefined) log.info(hint, { component: 'server' })
  } catch (error) {
    await server.stop()
    throw error
  }
  return ended.promise

  /** Whatever is still open must not keep the process. */
  function end(code: number): void {
    ended.resolve(code)
    process.exit(code)
  }
}

function dataOf(config: Config): string {
  const directory = config['data.directory']
  return directory === MEMORY ? 'memory, nothing is kept' : resolve(directory)
}
