/** What was folded before: the snapshots of the entity that today's fold can stand on. */
import type { Snapshot } from '../../journal/index.ts'
import type { Active } from './active.ts'
import { rungsOf } from './ladder.ts'

export function loadSnapshot({ core, kind, id }: Active): Promise<readonly Snapshot[]> {
  return rungsOf(core.journal, kind.definition, id)
}
