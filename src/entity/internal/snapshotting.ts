/**
 * Snapshots of an entity: taken from what is durable, after its callers have been answered.
 *
 * They are for speed only. One that fails is counted and said, and is tried again after as many events
 * more; no command ever fails for it.
 */
import type { Active } from './active.ts'
import { reasonOf } from './faults.ts'
import { planSnapshot, rungsAfter } from './ladder.ts'

/** Fewer events than this are replayed rather than saved when an entity is put away. */
export const SNAPSHOT_WORTH_EVENTS = 20

export function snapshotIfDue(entity: Active): void {
  const { base, kind } = entity
  if (eventsSinceRung(entity) < kind.snapshotEvery || base.version < entity.snapshotFrom) return
  if (!entity.isSnapshotting) void snapshot(entity, kind.snapshotEvery)
}

/** Whether waking the entity again would be cheaper with a snapshot. */
export function isSnapshotWorth(entity: Active): boolean {
  const { base, kind } = entity
  if (kind.snapshotEvery === Infinity || base.version < entity.snapshotFrom) return false
  return eventsSinceRung(entity) >= Math.min(SNAPSHOT_WORTH_EVENTS, kind.snapshotEvery)
}

/** How many events have to be replayed at least to wake the entity again. */
export function eventsSinceRung({ base, rungs }: Active): number {
  return base.version - (rungs[0]?.seq ?? 0)
}

export async function snapshot(entity: Active, least: number): Promise<void> {
  const { core, kind, base, rungs } = entity
  entity.isSnapshotting = true
  entity.snapshotFrom = base.version + kind.snapshotEvery
  try {
    const snapshots = planSnapshot(rungs, base, kind.definition.snapshots, least)
    if (snapshots.length === 0) return
    const { fence } = core
    const result = await core.journal.commit({ snapshots, ...(fence !== undefined && { fence }) })
    if (result.type === 'committed') {
      entity.rungs = rungsAfter(rungs, snapshots)
      entity.snapshotFrom = 0
      core.counts.snapshotsTaken++
    } else failed(entity, { code: result.type, message: 'the journal would not have it' })
  } catch (error) {
    failed(entity, reasonOf(error))
  } finally {
    entity.isSnapshotting = false
    entity.proceed()
  }
}

function failed(
  { core, kind, id }: Active,
  why: Readonly<{ code: string; message: string }>,
): void {
  core.counts.snapshotsFailed++
  core.log.warn('a snapshot failed', { type: kind.type, id, code: why.code, why: why.message })
}
