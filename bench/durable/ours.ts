/** Our journal, through its door, on the embedded engine with nothing switched off. */
import type { CommitResult, Journal } from '../../src/journal/index.ts'

/** Another journal in our place, to try the harness itself: a module that exports `sqliteJournal`. */
const STAND_IN = process.env['FLYTOWER_BENCH_JOURNAL']

export async function openJournal(directory: string): Promise<Journal> {
  const door = await import(STAND_IN ?? '../../src/journal/index.ts')
  return door.sqliteJournal({ directory })
}

export function committed(result: CommitResult): boolean {
  return result.type === 'committed'
}
