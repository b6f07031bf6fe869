/**
 * Writes the reports of a run from its messages: in a thread of its own, because a long run has many
 * and the server has other things to do.
 *
 * A report that cannot be written is not there; the messages are, and the result does not depend on it.
 * Why it is not there is for the metadata to say.
 */
import { Worker } from 'node:worker_threads'

import { asBuilt } from '../as-built.ts'

export type ReportsJob = Readonly<{ directory: string; failure: string | undefined }>

const HEAP_MEGABYTES = 1_024

/** `failure` is why the run came to no result, if it did not. Answers why a report is missing, if one is. */
export async function writeReports(
  directory: string,
  failure: string | undefined,
): Promise<string | undefined> {
  const worker = new Worker(asBuilt(new URL('./reports-thread.ts', import.meta.url)), {
    workerData: { directory, failure } satisfies ReportsJob,
    execArgv: [],
    resourceLimits: { maxOldGenerationSizeMb: HEAP_MEGABYTES },
  })
  return new Promise((resolve) => {
    worker.once('error', (error) => resolve(String(error)))
    worker.once('exit', () => resolve(undefined))
  })
}
