/**
 * Makes a runner: Cucumber in a process of its own for each run, behind the walls of bubblewrap or not.
 *
 * `sandbox` runs nothing without its walls. `auto` takes them where they can be built, and each run
 * says in its log which it was. Without them a run can neither stop nor hang the server, but reads
 * what the server may read, and leaves a process behind that has left its group and its environment.
 */
import { execFile } from 'node:child_process'
import { tmpdir } from 'node:os'
import { promisify } from 'node:util'

import { Accident, fault, type Clock, type Log } from '../../std/index.ts'
import { trialOf } from './command.ts'
import { ProcessRun, type RunLimits } from './process-run.ts'
import type { Isolation, Runner } from './runner.ts'

export type RunnerOptions = Readonly<{
  isolation: Isolation | 'auto'
  clock: Clock
  log: Log
  limits?: Partial<RunLimits>
  /** The program, if it is not on the path. */
  bubblewrap?: string
}>

/** Memory of all processes of one run. */
export const RUN_MEMORY_BYTES_DEFAULT = 1_073_741_824

/** Processes of one run. */
export const RUN_PROCESSES_DEFAULT = 64

const TRIAL_MS = 20_000

export function createRunner(options: RunnerOptions): Runner {
  const { isolation, clock, log, bubblewrap = 'bwrap' } = options
  const limits = {
    memoryBytes: RUN_MEMORY_BYTES_DEFAULT,
    processes: RUN_PROCESSES_DEFAULT,
    ...options.limits,
  }
  let chosen: Promise<Isolation> | undefined
  return {
    start: (job, hooks) =>
      new ProcessRun(job, hooks, {
        isolation: async () => (chosen ??= choose()),
        bubblewrap,
        limits,
        clock,
      }),
  }

  async function choose(): Promise<Isolation> {
    if (isolation === 'process') return 'process'
    const error = await trial()
    if (error === undefined) return 'sandbox'
    chosen = undefined // somebody may install it meanwhile
    if (isolation === 'auto') {
      log.warn('tests run without a sandbox', { error })
      return 'process'
    }
    throw new Accident(
      fault('sandbox-unavailable', 'the sandbox cannot be built on this machine', {
        error,
        remedy: 'install bubblewrap, or choose the isolation that does without',
      }),
    )
  }

  async function trial(): Promise<string | undefined> {
    const { program, args, env } = trialOf({
      isolation: 'sandbox',
      bubblewrap,
      bundle: tmpdir(),
      temporary: tmpdir(),
      hasNetwork: false,
      memoryBytes: limits.memoryBytes,
      parallel: 1,
      testId: 'trial',
      mark: 'trial',
    })
    try {
      await promisify(execFile)(program, args, { env, timeout: TRIAL_MS })
      return undefined
    } catch (error) {
      return error instanceof Error ? error.message : String(error)
    }
  }
}
