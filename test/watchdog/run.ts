/** Runs a scene of program.ts in a process of its own, and says what came of it. */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'

export type Outcome = Readonly<{
  exitCode: number | null
  /** What the scene found. */
  found: unknown
  /** What the watchdog wrote to stderr, line by line. */
  lines: readonly Readonly<Record<string, unknown>>[]
}>

export const PROGRAM: string = join(import.meta.dirname, 'program.ts')

export function run(...args: readonly string[]): Promise<Outcome> {
  return runWith(['--expose-gc'], args)
}

export async function runWith(flags: readonly string[], args: readonly string[]): Promise<Outcome> {
  const folder = mkdtempSync(join(tmpdir(), 'watchdog-'))
  const path = join(folder, 'stderr')
  const stderr = openSync(path, 'a')
  try {
    const child = spawn(process.execPath, [...flags, PROGRAM, ...args], {
      stdio: ['ignore', 'pipe', stderr],
    })
    assert(child.stdout !== null)
    const [said, [exitCode]] = await Promise.all([text(child.stdout), once(child, 'exit')])
    const written = readFileSync(path, 'utf8')
    return { exitCode, found: said === '' ? undefined : JSON.parse(said), lines: parse(written) }
  } finally {
    closeSync(stderr)
    rmSync(folder, { recursive: true })
  }
}

/** A line that is not the watchdog's is an error of the program. */
function parse(written: string): Outcome['lines'] {
  try {
    return written
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line))
  } catch {
    throw new Error(`the program failed: ${written}`)
  }
}
