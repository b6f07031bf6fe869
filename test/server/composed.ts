/** A composed server in the process of the test, on a journal in memory unless said otherwise. */
import { tmpdir } from 'node:os'

import { compose, loadConfig, type Server } from '../../src/server/index.ts'
import { silentLog, type Log } from '../../src/std/index.ts'

export type ComposedSettings = Readonly<Record<string, unknown>>

export async function composed(
  settings: ComposedSettings = {},
  log: Log = silentLog,
): Promise<Server> {
  const flags = Object.entries({ 'data.directory': 'memory', 'listen.port': 0, ...settings }).map(
    ([name, value]) => ({
      name,
      value: typeof value === 'string' ? value : JSON.stringify(value),
      flag: '--set',
    }),
  )
  const { config } = await loadConfig({ directory: tmpdir(), environment: {}, flags })
  return compose(config, { log, version: '1.2.3' })
}
