/**
 * A worker process as its parent sees it: it is `ready`, is told to go, and is ready again or
 * answers with its samples. Its end without an answer, or its silence, is an error.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

export type Samples = Readonly<Record<string, readonly number[]>>
export type Answer = 'ready' | Readonly<{ samples?: Samples; skipped?: string }>

const PROGRAM = join(import.meta.dirname, 'worker.mjs')
const PROCESS_MS_MAX = 40_000

/** Stripping types takes longer than most workloads; a cache of compiled modules ends that. */
const CACHE = join(tmpdir(), 'flytower-bench-cache')

export class Worker {
  readonly #child: ChildProcess
  #heard = Promise.withResolvers<Answer>()
  #errors = ''

  constructor(args: readonly string[], program: string = PROGRAM) {
    this.#child = spawn(process.execPath, ['--expose-gc', program, ...args], {
      stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
      timeout: PROCESS_MS_MAX,
      env: { ...process.env, NODE_COMPILE_CACHE: CACHE },
    })
    this.#child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      this.#errors += text
    })
    this.#child.on('message', (answer: Answer) => this.#heard.resolve(answer))
    this.#child.on('error', (error) => this.#heard.reject(error))
    this.#child.on('close', (code, signal) => {
      this.#heard.reject(new Error(why(this.#errors, code, signal)))
    })
  }

  answer(): Promise<Answer> {
    return this.#heard.promise
  }

  go(): void {
    this.#heard = Promise.withResolvers()
    this.#child.send('go')
  }
}

/** Node ends a process with this when nothing is left to do and a promise at the top is unsettled. */
const UNSETTLED = 13

/** The line above the first stack, or how the process ended. */
function why(errors: string, code: number | null, signal: string | null): string {
  if (code === UNSETTLED) return 'went idle before everything was handled'
  const lines = errors.split('\n')
  const stack = lines.findIndex((line) => line.startsWith('    at '))
  return lines[stack - 1] ?? `ended with ${signal ?? code}`
}
