/**
 * Whether the process lives, and whether it should be given work.
 *
 * Live is a loop that answers. Ready is a journal that can be written, parts that have caught up after
 * a start, and no shutdown in progress; each is a check with a name, and one that is not up says why.
 */
import type { JournalState } from '../journal/index.ts'
import { unreachable } from '../std/index.ts'

export type HealthCheck = Readonly<{ name: string; up: boolean; note?: string }>
export type Health = Readonly<{ ready: boolean; checks: readonly HealthCheck[] }>

export type HealthParts = Readonly<{
  isDraining: () => boolean
  journal: () => JournalState
  /** What features have to say about themselves. */
  features: () => Promise<readonly HealthCheck[]>
}>

export async function readiness(parts: HealthParts): Promise<Health> {
  const checks = [
    { name: 'serving', ...(parts.isDraining() ? down('it is being shut down') : { up: true }) },
    { name: 'storage', ...storage(parts.journal()) },
    ...(await parts.features()),
  ]
  return { ready: checks.every(({ up }) => up), checks }
}

function storage(state: JournalState): Omit<HealthCheck, 'name'> {
  switch (state) {
    case 'open':
      return { up: true }
    case 'read-only':
      return down('the disk has no room; free some, the journal looks for it by itself')
    case 'damaged':
      return down('the data is damaged; stop the server and run repair')
    case 'failed':
      return down('the disk has failed; the process is about to end')
    case 'closed':
      return down('it is closed')
    default:
      return unreachable(state)
  }
}

function down(note: string): Omit<HealthCheck, 'name'> {
  return { up: false, note }
}
