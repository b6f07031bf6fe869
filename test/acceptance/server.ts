/**
 * The real server as a child process, on a port that is free and in a directory that is gone
 * afterwards. Whatever it logs is kept, so that a test can look for what it should have said.
 *
 * A server that a test forgot ends with the process of the test.
 */
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { createInterface } from 'node:readline'

import { until } from './until.ts'

export type Settings = Readonly<Record<string, unknown>>

export type LogLine = Readonly<Record<string, unknown>>

export type Ended = Readonly<{ code: number | null; signal: NodeJS.Signals | null }>

export type RunningServer = Readonly<{
  url: string
  pid: number
  /** Of the config and the data; a server started again may be given it. */
  directory: string
  log: readonly LogLine[]
  /** What it said outside of the log. */
  said: readonly string[]
  signal(signal: NodeJS.Signals): void
  ended: Promise<Ended>
  /** Ends it if it still runs. */
  stop(signal?: NodeJS.Signals): Promise<Ended>
  /** Ends it, and removes its directory. */
  remove(): Promise<void>
}>

const MAIN = resolve(import.meta.dirname, '../../src/server/main.ts')
/** What no start takes that is not stuck. */
const START_MS_MAX = 120_000

const running = new Set<ChildProcess>()

process.once('exit', () => {
  for (const child of running) child.kill('SIGKILL')
})

export async function startServer(
  settings: Settings = {},
  directory: string = mkdtempSync(join(tmpdir(), 'flytower-served-')),
  variables: Readonly<Record<string, string>> = {},
): Promise<RunningServer> {
  const config = join(directory, 'config.json')
  const fixed = { 'listen.host': '127.0.0.1', 'listen.port': 0, 'log.format': 'json' }
  const data = { 'data.directory': join(directory, 'data') }
  writeFileSync(config, JSON.stringify({ ...fixed, ...data, ...settings }, undefined, 2))

  const child = spawn(process.execPath, [MAIN, 'serve', '--config', config], {
    cwd: directory,
    env: { ...environment(), ...variables },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  running.add(child)
  const log: LogLine[] = []
  const said: string[] = []
  for (const stream of [child.stdout, child.stderr])
    createInterface({ input: stream }).on('line', (line) => keep(line, log, said))
  const ended = endOf(child)
  let end: Ended | undefined
  void ended.then((how) => (end = how))
  void ended.then(() => running.delete(child))

  const url = await until(`the server listens: ${config}`, START_MS_MAX, () => {
    if (end !== undefined)
      throw new Error(`the server ended: ${JSON.stringify({ end, said, log: log.slice(-5) })}`)
    return addressIn(said, log)
  }).catch((error: unknown) => {
    child.kill('SIGKILL') // or it keeps the process of the test from ending
    throw error
  })
  const stop = async (signal: NodeJS.Signals = 'SIGKILL'): Promise<Ended> => {
    if (end === undefined) child.kill(signal)
    return ended
  }
  return {
    url,
    pid: child.pid!,
    directory,
    log,
    said,
    signal: (signal) => void child.kill(signal),
    ended,
    stop,
    async remove() {
      await stop()
      rmSync(directory, { recursive: true, force: true })
    },
  }
}

/** What surrounds the tests does not configure the server. */
function environment(): NodeJS.ProcessEnv {
  const kept = Object.entries(process.env).filter(
    ([name]) => !name.startsWith('FLYTOWER_') && name !== 'NODE_TEST_CONTEXT',
  )
  return Object.fromEntries(kept)
}

function keep(line: string, log: LogLine[], said: string[]): void {
  try {
    const value: unknown = JSON.parse(line)
    if (typeof value === 'object' && value !== null) log.push(value as LogLine)
    else said.push(line)
  } catch {
    said.push(line)
  }
}

function addressIn(said: readonly string[], log: readonly LogLine[]): string | undefined {
  const everything = [...said, ...log.map((line) => JSON.stringify(line))]
  for (const line of everything) {
    const found = /http:\/\/127\.0\.0\.1:\d+/.exec(line)
    if (found !== null) return found[0]
  }
  return undefined
}

async function endOf(child: ChildProcess): Promise<Ended> {
  const [code, signal] = await once(child, 'close')
  return { code, signal }
}
