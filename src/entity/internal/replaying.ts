/** What has happened since the best of the snapshots; all of it, where none will do. */
import type { Snapshot } from '../../journal/index.ts'
import type { Active } from './active.ts'
import { replay } from './ladder.ts'

export async function replayHistory(entity: Active, rungs: readonly Snapshot[]): Promise<void> {
  const { core, kind, id } = entity
  const loaded = await replay(core.journal, kind.definition, id, rungs)
  entity.base = loaded.fold
  entity.position = loaded.position
  entity.rungs = loaded.rungs.map(({ seq, topAt, topSeq }) => ({ seq, topAt, topSeq }))
  entity.replayed = loaded.replayed
  core.counts.replayedEvents += loaded.replayed
}
