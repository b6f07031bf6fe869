/**
 * Levels: what every pot has come to, kept beside the journal so that no pot is woken to read it.
 *
 * One view holds three kinds of values:
 *
 *   =<product>|<location>   the level of a pot
 *   @<location>|<product>   that there is such a pot, for the list of a location
 *   ><move>                 a move
 *
 * A level follows the events one by one; a fact that came late is folded from history up to itself, so
 * the level is always that of its version.
 */
import type { Entities, Projection, View } from '../entity/index.ts'
import type { MoveReason, Pot, PotEvent } from './pot.ts'
import { stockPot } from './pot.ts'

export type PotStanding = Pot & Readonly<{ version: number }>

export type MoveRecord = Readonly<{
  moveId: string
  requestId: string
  /** The key of the pot it came from. */
  source: string
  to: string
  quantity: string
  reason: MoveReason
  movedAt: number
  recordedAt: number
  position: number
  actor?: string
}>

export type LevelValue = PotStanding | MoveRecord | true

export type Levels = View<LevelValue>

export const LEVEL = '='
export const INDEX = '@'
export const MOVE = '>'

export function levelsProjection(entities: Entities): Projection<LevelValue, PotEvent> {
  return {
    name: 'stock-levels',
    version: 1,
    of: [stockPot],
    on({ key, event, stored }) {
      const level = {
        key: LEVEL + key.id,
        change: (before: LevelValue | undefined) =>
          levelAfter(entities, key.id, standingOf(before), event, stored.seq),
      }
      const touches = stored.seq === 1 ? [level, indexTouch(key.id)] : [level]
      if (event.type !== 'moved-out') return touches
      const { moveId, requestId, to, quantity, reason, effectiveAt: movedAt } = event
      const { at: recordedAt, position, actor } = stored
      const move: MoveRecord = {
        moveId,
        requestId,
        source: key.id,
        to,
        quantity,
        reason,
        movedAt,
        recordedAt,
        position,
        ...(actor === undefined ? undefined : { actor }),
      }
      return [...touches, { key: MOVE + moveId, value: move }]
    },
  }
}

/** The level of a pot, as the view has it. */
export function standingOf(value: LevelValue | undefined): PotStanding | undefined {
  return typeof value === 'object' && 'pending' in value ? value : undefined
}

export function moveIn(value: LevelValue | undefined): MoveRecord | undefined {
  return typeof value === 'object' && 'moveId' in value ? value : undefined
}

function levelAfter(
  entities: Entities,
  id: string,
  before: PotStanding | undefined,
  event: PotEvent,
  seq: number,
): PotStanding | Promise<PotStanding> {
  const state: Pot = before ?? stockPot.initial(id)
  if (state.lastUpdated === null || event.effectiveAt >= state.lastUpdated)
    return { ...stockPot.evolve(state, event), version: seq }
  return entities
    .read(stockPot, id, { version: seq })
    .then(({ state: folded, version }) => ({ ...folded, version }))
}

function indexTouch(id: string): { key: string; value: true } {
  const bar = id.indexOf('|')
  return { key: `${INDEX}${id.slice(bar + 1)}|${id.slice(0, bar)}`, value: true }
}
