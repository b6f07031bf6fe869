/**
 * Erlang and Go, the same workloads out of language. Built into a temporary folder and run when
 * their tools are installed; left out, and said so, when they are not.
 */
/* oxlint-disable no-await-in-loop -- One process at a time is the point. */
import { execFile } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { Readings } from './rounds.ts'

type Reference = Readonly<{
  id: string
  build: readonly [command: string, ...args: string[]]
  run: readonly [command: string, ...args: string[]]
  env?: Readonly<Record<string, string>>
}>

const SOURCES = join(import.meta.dirname, 'peers', 'actors', 'refs')
const RUN_MS_MAX = 180_000

/** On all cores, and on one, as JavaScript has it. */
function references(built: string): readonly Reference[] {
  const beam = ['+P', '2000000', '-pa', built, '-noshell', '-run', 'bench', 'main', 'x']
  const end = ['-s', 'init', 'stop']
  const erlc = ['erlc', '-o', built, join(SOURCES, 'bench.erl')] as const
  const binary = join(built, 'gobench')
  const go = ['go', 'build', '-o', binary, join(SOURCES, 'bench.go')] as const
  return [
    { id: 'erlang', build: erlc, run: ['erl', ...beam, ...end] },
    { id: 'erlang-1-core', build: erlc, run: ['erl', '+S', '1:1', ...beam, ...end] },
    { id: 'go', build: go, run: [binary] },
    { id: 'go-1-core', build: go, run: [binary], env: { GOMAXPROCS: '1' } },
  ]
}

export const REFERENCES: readonly string[] = references('').map(({ id }) => id)

export async function takeReferences(
  ids: readonly string[],
  readings: Readings,
  say: (line: string) => void,
): Promise<void> {
  const built = await mkdtemp(join(tmpdir(), 'flytower-bench-'))
  try {
    for (const reference of references(built)) {
      if (ids.includes(reference.id)) await takeReference(reference, readings, say)
    }
  } finally {
    await rm(built, { recursive: true, force: true })
  }
}

async function takeReference(
  { id, build, run, env }: Reference,
  readings: Readings,
  say: (line: string) => void,
): Promise<void> {
  const execute = async ([command, ...args]: readonly [string, ...string[]]): Promise<string> => {
    const options = { timeout: RUN_MS_MAX, env: { ...process.env, ...env } }
    return (await promisify(execFile)(command, args, options)).stdout
  }
  let lines: readonly string[]
  try {
    await execute(build)
    say(`reference ${id}`)
    lines = (await execute(run)).split('\n')
  } catch (error) {
    const missing = error instanceof Error && 'code' in error && error.code === 'ENOENT'
    say(`${id}: left out, ${missing ? `${build[0]} is not installed` : String(error)}`)
    return
  }
  for (const line of lines) {
    if (!line.startsWith('{')) continue
    const { workload, rate, spawnNs, bytes, bytesAfter }: Reading = JSON.parse(line)
    readings.add(id, workload, {
      rate: [rate],
      ...(spawnNs !== undefined && { spawnNs: [spawnNs] }),
      ...(bytes !== undefined && { bytesIdle: [bytes] }),
      ...(bytesAfter !== undefined && { bytesAfter: [bytesAfter] }),
    })
  }
}

type Reading = Readonly<{
  workload: string
  rate: number
  spawnNs?: number
  bytes?: number
  bytesAfter?: number
}>
