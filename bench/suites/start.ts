/**
 * How long it takes from starting node until the server says that it is ready: what is released, on an
 * empty directory, each time in a fresh process. The first start is left out: it reads files that are
 * not in memory yet.
 */
import { execFile, spawn } from 'node:child_process'
import { copyFileSync, mkdirSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { scratch } from '../durable/disk.ts'
import { type Measured, median } from '../figure.ts'
import { answering, freePort, stopped } from '../stock/server-process.ts'
import type { Options } from './suite.ts'

const FIRST_ANSWER_MS_MAX = 500
const ROUNDS_QUICK = 15
const ROUNDS_FULL = 40
const ROOT = join(import.meta.dirname, '..', '..')
const OK = 200

export async function start(options: Options): Promise<readonly Measured[]> {
  using directory = scratch()
  const tookMs: number[] = []
  try {
    const entry = await built(directory.path)
    const rounds = options.rounds ?? (options.quick ? ROUNDS_QUICK : ROUNDS_FULL)
    for (let round = 0; round <= rounds; round++) {
      const ms = await once(entry, join(directory.path, `data-${round}`))
      if (round > 0) tookMs.push(ms)
    }
  } catch (error) {
    options.say(`failed: start: ${String(error)}`)
    tookMs.length = 0
  }
  return [
    {
      suite: 'start',
      figure: 'first-answer-ms',
      ours: median(tookMs),
      unit: 'ms',
      ...(tookMs.length > 0 && {
        parts: { least: Math.min(...tookMs), most: Math.max(...tookMs) },
      }),
      rounds: tookMs.length,
      goal: [{ field: 'ours', is: '<=', value: FIRST_ANSWER_MS_MAX }],
    },
  ]
}

async function once(entry: string, data: string): Promise<number> {
  const port = await freePort()
  mkdirSync(data)
  const begin = performance.now()
  const child = spawn(process.execPath, [entry, 'serve'], {
    stdio: 'ignore',
    env: { ...process.env, FLYTOWER_LISTEN_PORT: String(port), FLYTOWER_DATA_DIRECTORY: data },
  })
  try {
    await answering(child, port, '/readyz', OK)
    return performance.now() - begin
  } finally {
    await stopped(child)
  }
}

/** What would be released of the sources as they are, with the packages it needs beside it. */
async function built(directory: string): Promise<string> {
  copyFileSync(join(ROOT, 'package.json'), join(directory, 'package.json'))
  symlinkSync(join(ROOT, 'node_modules'), join(directory, 'node_modules'))
  const into = join(directory, 'dist')
  await promisify(execFile)(process.execPath, [join('tools', 'build.ts'), into], { cwd: ROOT })
  return join(into, 'server', 'main.js')
}
