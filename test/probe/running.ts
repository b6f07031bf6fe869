/** A bundle written for a test, and the run of it with all that it told. */
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'

import type { Bundle, Directive } from '../../src/probe/bundle/directive.ts'
import type { RunResult } from '../../src/probe/result.ts'
import { createRunner, type RunnerOptions } from '../../src/probe/runner/create-runner.ts'
import type { Progress, Run, RunJob, StepServices } from '../../src/probe/runner/runner.ts'
import { createMask } from '../../src/probe/secrets/mask.ts'
import type { LiveMask } from '../../src/probe/secrets/secrets.ts'
import { Accident, silentLog, systemClock, type Fault } from '../../src/std/index.ts'

export type Files = Readonly<Record<string, string>>

export type Told = {
  run: Run
  job: RunJob
  lines: string[]
  progress: Progress[]
  result: RunResult | undefined
  fault: Fault | undefined
}

export type Wanted = Readonly<{
  files: Files
  directive?: Partial<Directive>
  job?: Partial<RunJob>
  options?: Partial<RunnerOptions>
  services?: StepServices
  mask?: LiveMask
  /** Called with every line of the log. */
  onLine?: (line: string, told: Told) => void
}>

const NO_SERVICES: StepServices = {
  call: (name) => Promise.reject(new Error(`nobody serves ${name}`)),
}

export const DIRECTIVE: Directive = {
  topics: [],
  tags: undefined,
  steps: ['steps/**/*.{js,mjs,cjs,ts}'],
  secrets: [],
  exclusive: [],
  parallel: 1,
  retries: 0,
  testingMs: undefined,
  network: false,
}

/** A directory that is gone when the test is over. */
export class Scratch implements Disposable {
  readonly path: string

  constructor() {
    this.path = realpathSync(mkdtempSync(join(tmpdir(), 'probe-test-')))
  }

  [Symbol.dispose](): void {
    rmSync(this.path, { recursive: true, force: true })
  }
}

export function start(scratch: Scratch, wanted: Wanted): Told {
  const evidence = mkdtempSync(join(scratch.path, 'evidence-'))
  const directory = mkdtempSync(join(scratch.path, 'bundle-'))
  const bundle = bundleOf(directory, wanted.files, wanted.directive)
  const job: RunJob = {
    testId: 'test-1',
    bundle,
    evidence,
    tags: undefined,
    isDryRun: false,
    ...wanted.job,
  }
  const runner = createRunner({
    isolation: 'process',
    clock: systemClock,
    log: silentLog,
    ...wanted.options,
  })
  const told: Partial<Told> = { job, lines: [], progress: [], result: undefined, fault: undefined }
  const all = told as Told
  all.run = runner.start(job, {
    services: wanted.services ?? NO_SERVICES,
    mask: wanted.mask ?? createMask(),
    onProgress: (progress) => all.progress.push(progress),
    onLog(line) {
      all.lines.push(line)
      wanted.onLine?.(line, all)
    },
  })
  return all
}

/** A run that is over, with its result or its fault. */
export async function ran(scratch: Scratch, wanted: Wanted): Promise<Told> {
  return settled(start(scratch, wanted))
}

export async function settled(told: Told): Promise<Told> {
  try {
    told.result = await told.run.result
  } catch (error) {
    if (!(error instanceof Accident)) throw error
    told.fault = error.fault
  }
  return told
}

function bundleOf(root: string, files: Files, directive: Partial<Directive> = {}): Bundle {
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(root, path)), { recursive: true })
    writeFileSync(join(root, path), text)
  }
  const features = Object.keys(files).filter((path) => path.endsWith('.feature'))
  return { directory: root, directive: { ...DIRECTIVE, ...directive }, features }
}

/** Processes of runs of that test, wherever they are. */
export function processesOf(testId: string): readonly string[] {
  return readdirSync('/proc').filter((pid) => {
    if (!/^\d+$/.test(pid)) return false
    try {
      return readFileSync(`/proc/${pid}/environ`, 'latin1').includes(`FLYTOWER_TEST_ID=${testId}`)
    } catch {
      return false
    }
  })
}
