/**
 * Back to what is true: what others wrote to the stream, or everything anew.
 *
 * While the journal is read no command is decided; those that come wait in the mailbox.
 */
import { Accident } from '../../std/index.ts'
import type { Active } from './active.ts'
import { bringBackAgain } from './bringing-back.ts'
import { decodeEvent } from './codec.ts'
import { dueOf } from './deciding.ts'
import { failWith } from './failing.ts'
import { tooSlow } from './faults.ts'
import { eachStored } from './ladder.ts'
import { settleStored } from './releasing.ts'
import { within } from './within.ts'

/** Reads what the entity needs, and lets it go on. */
export async function catchUp(entity: Active): Promise<void> {
  const { core, need } = entity
  const ms = core.limits.activationMs
  entity.isReading = true
  try {
    if (need === 'ledger')
      await within(core.timers, ms, readLedger(entity), () => tooSlow(entity, ms))
    const isFolded =
      need === 'tail' &&
      (await within(core.timers, ms, readTail(entity), () => tooSlow(entity, ms)))
    const failure =
      need === 'all' || (need === 'tail' && !isFolded) ? await bringBackAgain(entity) : undefined
    if (failure !== undefined) throw failure
  } catch (error) {
    if (entity.over === undefined) failWith(entity, error)
    return
  }
  if (entity.over !== undefined) return
  entity.need = 'none'
  if (need === 'ledger') entity.isReading = false
  else settle(entity)
  entity.proceed()
}

/** False if something in it took effect before all that is in memory. */
async function readTail(entity: Active): Promise<boolean> {
  const { core, kind, stream, base } = entity
  const { refolds } = base
  let isFolded = true
  await eachStored(core.journal, stream, { after: base.version, upTo: Infinity }, (stored) => {
    if (entity.over !== undefined) return false
    const { seq, at, effectiveAt = at, position } = stored
    isFolded = base.apply(decodeEvent(kind.definition, stored), seq, effectiveAt) === 'folded'
    entity.position = Math.max(entity.position, position)
    core.counts.replayedEvents++
    return isFolded
  })
  core.counts.refolds += base.refolds - refolds
  return isFolded
}

/**
 * One command had been answered before. The others may have been too: they are asked for all at once,
 * not by one refused batch after the other.
 */
async function readLedger({ core, backlog }: Active): Promise<void> {
  await Promise.all(
    backlog.map(async (request) => {
      const { requestId } = request.asking
      if (requestId !== undefined) settleStored(request, await core.journal.lookup(requestId))
    }),
  )
}

/** The state is what the journal says. The alarm it wants may be on record or not. */
export function settle(entity: Active): void {
  const due = dueOf(entity, entity.base.state)
  entity.baseDue = due instanceof Accident ? undefined : due
  entity.alarmDue ??= entity.baseDue
  entity.isAlarmSure = false
  entity.stand(entity.base)
  entity.isReading = false
  entity.isDirty = true
}
