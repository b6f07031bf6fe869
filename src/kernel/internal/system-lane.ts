/**
 * Work for the cell itself rather than its behavior: stop, a child's end, a
 * child's failure. It runs before any user message, and also while suspended.
 */
import { Deque } from '../../std/index.ts'
import { extrasOf, lower, mailboxOf, raise, wake, type Cell } from './cell.ts'
import { hurry } from './dispatch.ts'
import { SYSTEM } from './status.ts'
import type { Token } from './tokens.ts'

/** Pieces of system work that may wait for one actor. */
export const SYSTEM_LANE_MAX = 1_024

export type SystemWork =
  | Readonly<{ type: 'stop' }>
  | Readonly<{ type: 'child-ended' }>
  | Readonly<{ type: 'child-failed'; child: Cell; error: unknown; token: Token }>

/** False where the lane is full. A stop, and one note that children have ended, always find room. */
export function postSystem(cell: Cell, work: SystemWork): boolean {
  const extras = extrasOf(cell)
  const lane = (extras.systemLane ??= new Deque())
  if (work.type === 'child-failed' && lane.length >= SYSTEM_LANE_MAX) return false
  if (work.type === 'child-ended') {
    if (extras.childEnded) return true
    extras.childEnded = true
  }
  if (work.type === 'stop') lane.pushFront(work) // nothing else matters to an actor that ends
  else lane.pushBack(work)
  mailboxOf(cell)
  raise(cell, SYSTEM)
  wake(cell)
  hurry()
  return true
}

export function takeSystem(cell: Cell): SystemWork | undefined {
  const { extras } = cell
  const work = extras?.systemLane?.popFront()
  if (work === undefined) lower(cell, SYSTEM)
  else if (work.type === 'child-ended' && extras !== null) extras.childEnded = false
  return work
}
