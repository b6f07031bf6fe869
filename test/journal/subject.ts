/** The observer's end of the process under test, and the machinery to trouble it with. */
import { execFileSync, spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import type { Readable } from 'node:stream'
import type { TestContext } from 'node:test'

import type { Command, Report } from './child.ts'
import type { Dump } from './dump.ts'
import type { Saying } from './history.ts'

export type SubjectOptions = Readonly<{
  directory: string
  /** With the shim between it and its disk, and what it does there written to this file. */
  faults?: Readonly<{ log?: string }>
  /** Put before the command that starts it. */
  wrapper?: readonly string[]
  onReport?: (report: Report) => void
}>

export type Exit = Readonly<{ code: number | null; signal: NodeJS.Signals | null; stderr: string }>

/** What no run takes that is not stuck. */
const RUN_MS_MAX = 400_000
const ENDED_EXIT_CODE = 143
const PROGRAM = join(import.meta.dirname, 'child.ts')
const SHIM = join(import.meta.dirname, 'shim', 'faults.c')
const NEEDED_FOR: Readonly<Record<string, string>> = {
  gcc: 'builds the shim that stands between a process and its disk',
  strace: 'makes system calls fail',
  mount: 'makes a disk small enough to be full',
}

export class Subject implements AsyncDisposable {
  readonly exited: Promise<Exit>
  readonly #process: ChildProcess
  readonly #directory: string
  readonly #waiting: { wanted: (report: Report) => boolean; resolve: (report: Report) => void }[] =
    []
  #stderr = ''

  constructor({ directory, faults, wrapper = [], onReport }: SubjectOptions) {
    const [command, ...args] = [...wrapper, process.execPath, PROGRAM]
    this.#directory = directory
    this.#process = spawn(command, args, {
      stdio: ['pipe', 'inherit', 'pipe', 'pipe'],
      timeout: RUN_MS_MAX,
      killSignal: 'SIGKILL',
      env: {
        ...process.env,
        NODE_COMPILE_CACHE: compiled(),
        ...(faults !== undefined && { LD_PRELOAD: shim(), FAULTS_ROOT: directory }),
        ...(faults?.log !== undefined && { FAULTS_LOG: faults.log }),
      },
    })
    this.#process.stdin!.on('error', () => undefined) // it was killed before it had read everything
    this.#process.stderr!.on('data', (text) => (this.#stderr += String(text)))
    const lines = createInterface({ input: this.#process.stdio[3] as Readable })
    lines.on('line', (line) => this.#hear(line, onReport))
    const end = once(lines, 'close') // what it said is heard to the end, though it is dead
    this.exited = once(this.#process, 'exit').then(async ([code, signal]) => {
      await end
      this.#waiting.length = 0
      return { code, signal, stderr: this.#stderr }
    })
  }

  tell(command: Command): void {
    this.#process.stdin!.write(`${JSON.stringify(command)}\n`)
  }

  /** The next report of that type; it is a failure to end before. */
  async report<T extends Report['type']>(type: T): Promise<Extract<Report, { type: T }>> {
    const heard = new Promise<Report>((resolve) => {
      this.#waiting.push({ wanted: (report) => report.type === type, resolve })
    })
    const ended = this.exited.then(({ code, signal, stderr }) => {
      const what = `it ended (${code ?? signal}) without having '${type}'\n${stderr}`
      throw signal === 'SIGKILL' ? new Killed(what) : new Error(what)
    })
    return (await Promise.race([heard, ended])) as Extract<Report, { type: T }>
  }

  async open(first?: number): Promise<Extract<Report, { type: 'opened' }>> {
    this.tell({ type: 'open', directory: this.#directory, ...(first !== undefined && { first }) })
    return this.report('opened')
  }

  async dump(keys: readonly string[]): Promise<Dump> {
    this.tell({ type: 'dump', keys })
    return (await this.report('dumped')).dump
  }

  kill(): void {
    this.#process.kill('SIGKILL')
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.kill()
    await this.exited
  }

  #hear(line: string, onReport: SubjectOptions['onReport']): void {
    let report: Report
    try {
      report = JSON.parse(line) as Report
    } catch (error) {
      if (this.#process.exitCode === null && this.#process.signalCode === null && line === '')
        throw error
      return // cut off by its death
    }
    onReport?.(report)
    const index = this.#waiting.findIndex(({ wanted }) => wanted(report))
    if (index >= 0) this.#waiting.splice(index, 1)[0]!.resolve(report)
  }
}

/** What was waited for, or nothing where the process was killed first. */
export async function unlessKilled<T>(waited: Promise<T>): Promise<T | undefined> {
  try {
    return await waited
  } catch (error) {
    if (error instanceof Killed) return undefined
    throw error
  }
}

class Killed extends Error {}

export function isSaying(report: Report): report is Saying {
  return ['asked', 'answered', 'rejected', 'took', 'seen'].includes(report.type)
}

/** Says aloud what this machine cannot do, and skips the test. */
export function lacks(t: TestContext, ...tools: readonly string[]): boolean {
  for (const tool of tools) {
    const isThere = (process.env['PATH'] ?? '')
      .split(':')
      .some((dir) => existsSync(join(dir, tool)))
    if (isThere) continue
    t.skip(`there is no ${tool}, which ${NEEDED_FOR[tool]}: apt-get install gcc libc6-dev strace`)
    return true
  }
  return false
}

let place: string | undefined

/** A directory that goes with this process. */
export function workplace(): string {
  if (place === undefined) {
    const made = mkdtempSync(join(tmpdir(), 'flytower-journal-'))
    place = made
    process.on('exit', () => rmSync(made, { recursive: true, force: true }))
    process.once('SIGTERM', () => process.exit(ENDED_EXIT_CODE)) // or nothing is cleared away
  }
  return place
}

export function freshDirectory(name: string): string {
  const path = join(workplace(), name)
  rmSync(path, { recursive: true, force: true })
  mkdirSync(path)
  return path
}

let cache: string | undefined

/**
 * Code that is compiled already, for processes that are killed and so do not get to keep what they
 * compiled. The threads of journals that this process opens find it in the environment.
 */
export function compiled(): string {
  if (cache === undefined) {
    cache = join(workplace(), 'compiled')
    process.env['NODE_COMPILE_CACHE'] = cache
    execFileSync(process.execPath, [PROGRAM, freshDirectory('warm-up')])
  }
  return cache
}

let library: string | undefined

function shim(): string {
  if (library === undefined) {
    library = join(workplace(), 'faults.so')
    const flags = ['-O2', '-Wall', '-Wextra', '-Werror', '-shared', '-fPIC']
    execFileSync('gcc', [...flags, '-o', library, SHIM, '-ldl', '-lpthread'])
  }
  return library
}
