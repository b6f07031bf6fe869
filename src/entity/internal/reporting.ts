/** Entities as people see them: those that are awake, and those that cannot be. */
import type { EntityReport } from '../entities.ts'
import type { EntityKey } from '../entity.ts'
import type { Active } from './active.ts'
import type { Trouble } from './kind.ts'

export function reportOf(entity: Active): EntityReport {
  const { kind, id, phase, base, pending, replayed, activationMs } = entity
  const version = phase === 'activating' ? 0 : base.version
  return { type: kind.type, id, phase, version, pending, replayedEvents: replayed, activationMs }
}

export function troubleReport(
  key: EntityKey,
  { phase, accident, retryAtMs }: Trouble,
): EntityReport {
  const { code, message } = accident.fault
  return {
    ...key,
    phase,
    version: 0,
    pending: 0,
    replayedEvents: 0,
    activationMs: 0,
    fault: { code, message },
    ...(phase === 'failed' && { retryAtMs }),
  }
}
