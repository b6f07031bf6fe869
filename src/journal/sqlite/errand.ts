/**
 * Long work on the file of a journal, done in a thread of its own: it has its own connection, so
 * commits, filing and reads go on beside it, and the event loop that asked for it is never held up.
 */
import { Worker } from 'node:worker_threads'

import { Accident, PRODUCT } from '../../std/index.ts'
import type { Said } from './errand-thread.ts'
import type { RepairOptions } from './repair.ts'
import type { RepairReport, VerifyReport } from './report.ts'

export type Errand =
  | Readonly<{ type: 'verify'; file: string }>
  | Readonly<{ type: 'backup'; file: string; target: string }>
  | Readonly<{ type: 'inspect'; directory: string }>
  | Readonly<{ type: 'repair'; directory: string; options: RepairOptions }>
  | Readonly<{ type: 'restore'; backup: string; directory: string }>

export type Outcome = {
  verify: VerifyReport
  backup: undefined
  inspect: VerifyReport
  repair: RepairReport
  restore: VerifyReport
}

/** Looks for damage in a directory that no journal has open. Throws `journal-in-use` otherwise. */
export function verifyDirectory(directory: string): Promise<VerifyReport> {
  return runErrand({ type: 'inspect', directory })
}

/**
 * Makes a damaged directory whole again from everything in it that is still right. What it was is kept
 * beside. Throws `journal-in-use`, and `target-exists` where `into` is there already.
 */
export function repairDirectory(
  directory: string,
  options: RepairOptions = {},
): Promise<RepairReport> {
  return runErrand({ type: 'repair', directory, options })
}

/**
 * Makes a journal out of a backup, or of a copy of a directory that nobody used. The directory may be there
 * if it is empty; throws `target-exists` otherwise, and `damaged` where the backup is not whole.
 */
export function restoreDirectory(backup: string, directory: string): Promise<VerifyReport> {
  return runErrand({ type: 'restore', backup, directory })
}

/** When `signal` is aborted the thread ends at once, and what it made is left unfinished. */
export function runErrand<E extends Errand>(
  errand: E,
  signal?: AbortSignal,
): Promise<Outcome[E['type']]> {
  return new Promise((resolve, reject) => {
    // The thread's file has the extension of this one: .ts in development, .js when released.
    const extension = /\.\w+$/.exec(import.meta.url)?.[0] ?? '.js'
    const worker = new Worker(new URL(`./errand-thread${extension}`, import.meta.url), {
      name: `${PRODUCT} ${errand.type}`,
      workerData: errand,
      execArgv: [],
    })
    const abort = (): void => {
      reject(signal?.reason)
      void worker.terminate()
    }
    if (signal?.aborted === true) abort()
    signal?.addEventListener('abort', abort)
    worker.on('message', (said: Said) => {
      if (said.type === 'refused') reject(new Accident(said.fault))
      else if (isOutcome(errand, said.outcome)) resolve(said.outcome)
    })
    worker.on('error', reject)
    worker.on('exit', () => {
      signal?.removeEventListener('abort', abort)
      reject(new Error(`the thread for ${errand.type} has ended before it was done`))
    })
  })
}

/** Nobody else speaks through the port of that thread. */
function isOutcome<E extends Errand>(_: E, outcome: unknown): outcome is Outcome[E['type']] {
  return outcome === undefined || typeof outcome === 'object'
}
