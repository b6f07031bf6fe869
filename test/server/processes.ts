/** The command as a process of its own: run to its end, or serving until a test ends it. */
import { execFile, spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { createInterface } from 'node:readline'
import type { TestContext } from 'node:test'

export const MAIN: string = resolve(import.meta.dirname, '../../src/server/main.ts')

const RUN_MS_MAX = 150_000

export type Ran = Readonly<{ code: number; out: string; err: string }>

/** A shell runs it, as whoever reads a remedy would. */
export function shell(line: string): Promise<Ran> {
  return ran('sh', ['-c', line])
}

export function command(args: readonly string[], options: { cwd?: string } = {}): Promise<Ran> {
  return ran(process.execPath, [MAIN, ...args], options)
}

function ran(file: string, args: readonly string[], options: { cwd?: string } = {}): Promise<Ran> {
  return new Promise((done, fail) => {
    const child = execFile(
      file,
      args,
      { ...options, env: environment(), timeout: RUN_MS_MAX },
      (error, out, err) => {
        if (error !== null && typeof error.code !== 'number' && child.exitCode === null) fail(error)
        else done({ code: child.exitCode ?? -1, out, err })
      },
    )
  })
}

/** A server that runs; it is killed with its test. */
export class Serving {
  readonly child: ChildProcess
  readonly lines: string[] = []
  /** Exit code, or the signal that ended it. */
  readonly ended: Promise<number | string>
  readonly #waiting = new Set<() => void>()
  #isOver = false

  constructor(t: TestContext, args: readonly string[], wrapper: readonly string[] = []) {
    const [file, ...rest] = [...wrapper, process.execPath, ...args]
    this.child = spawn(file!, rest, { env: environment(), stdio: ['ignore', 'pipe', 'pipe'] })
    t.after(() => this.child.kill('SIGKILL'))
    for (const stream of [this.child.stdout!, this.child.stderr!])
      createInterface({ input: stream }).on('line', (line) => {
        this.lines.push(line)
        this.#look()
      })
    this.ended = once(this.child, 'close').then(([code, signal]: (number | string)[]) => {
      this.#isOver = true
      this.#look()
      return code ?? signal ?? 'unknown'
    })
  }

  /** The first line it says that matches, said already or not. */
  async says(pattern: RegExp): Promise<RegExpExecArray> {
    for (;;) {
      for (const line of this.lines) {
        const match = pattern.exec(line)
        if (match !== null) return match
      }
      if (this.#isOver)
        throw new Error(`it has ended without saying ${pattern}:\n${this.lines.join('\n')}`)
      await new Promise<void>((again) => this.#waiting.add(again))
    }
  }

  async url(): Promise<string> {
    const [, url] = await this.says(/"url":"(http:[^"]+)"/)
    return url!
  }

  #look(): void {
    for (const again of this.#waiting) again()
    this.#waiting.clear()
  }
}

export function serving(t: TestContext, ...args: string[]): Serving {
  return new Serving(t, [MAIN, 'serve', ...args])
}

export function freshFolder(t: TestContext): string {
  const directory = mkdtempSync(join(tmpdir(), 'server-'))
  t.after(() => rmSync(directory, { recursive: true, force: true }))
  return directory
}

/** What surrounds the tests configures nothing. */
function environment(): NodeJS.ProcessEnv {
  const kept = Object.entries(process.env).filter(
    ([name]) => !name.startsWith('FLYTOWER_') && name !== 'NODE_TEST_CONTEXT',
  )
  return Object.fromEntries(kept)
}
