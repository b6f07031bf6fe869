/** The thread of `errand.ts`: does one thing, says what came of it, and ends. */
import { DatabaseSync } from 'node:sqlite'
import { parentPort, workerData } from 'node:worker_threads'

import { Accident, unreachable, type Fault } from '../../std/index.ts'
import { backupTables, restoreBackup } from './backup.ts'
import type { Errand, Outcome } from './errand.ts'
import { inspectNow } from './inspect.ts'
import { repairNow } from './repair.ts'
import { verifyDatabase } from './verify.ts'

/** What the thread says when it is done. */
export type Said =
  | Readonly<{ type: 'done'; outcome: unknown }>
  | Readonly<{ type: 'refused'; fault: Fault }>

const errand: Errand = workerData
const answer = await said()
parentPort?.postMessage(answer, [])

async function said(): Promise<Said> {
  try {
    return { type: 'done', outcome: await run() }
  } catch (error) {
    if (error instanceof Accident) return { type: 'refused', fault: error.fault }
    throw error
  }
}

async function run(): Promise<Outcome[Errand['type']]> {
  switch (errand.type) {
    case 'verify': {
      const database = new DatabaseSync(errand.file, { readOnly: true })
      try {
        return verifyDatabase(database)
      } finally {
        database.close()
      }
    }
    case 'backup':
      return backupTables(errand.file, errand.target)
    case 'inspect':
      return inspectNow(errand.directory)
    case 'repair':
      return repairNow(errand.directory, errand.options)
    case 'restore':
      return restoreBackup(errand.backup, errand.directory)
    default:
      return unreachable(errand)
  }
}
