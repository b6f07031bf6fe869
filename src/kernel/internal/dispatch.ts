/**
 * What this thread is about to run: the express lane, the parked newborns, the
 * turn's fuel and who is running.
 *
 * The express lane is one ring of (cell, message) pairs for all systems of the
 * thread. A cell owns at most EXPRESS_MAX entries of it; the rest of its mail is
 * in its mailbox. The running entry stays at the head until its handler has
 * returned, so who runs needs no store of its own.
 *
 * Module variables instead of an object: reading them through a cell costs a
 * tenth of the message rate (docs/decisions/0002-express-lane.md).
 */
import { systemClock } from '../../std/index.ts'
import type { Next } from '../behavior.ts'
import type { Cell } from './cell.ts'
import type { Core } from './core.ts'
import { heartbeat } from './heartbeat.ts'
import { HALTED } from './status.ts'

/** How many messages one cell may have on the express lane. */
export const EXPRESS_MAX = 128
/** How long a drain may hold the thread before I/O gets its turn. */
export const BUDGET_MS = 0.5

const RING_MIN = 2_048
const GRANT_MAX = 256
const READS_PER_BUDGET = 8

let ring: unknown[] = emptyRing(RING_MIN)
let head = 0
let tail = 0
let mask = RING_MIN - 1

let armed = false
let loop: Loop = {
  soon: () => undefined,
  now: () => undefined,
  follow: () => undefined,
  setAside: () => undefined,
  meanwhile: () => undefined,
}

/** Entries below this credit take the slow path: 0, or everything while somebody listens. */
let floor = 0
let listeners = 0

export let running: Cell | null = null
export let draining = false
export let ambient: unknown

let fuel = 0
let grant = 16
let turnStart = 0
let lastRead = 0
export let overBudget = false
/** Messages run on this thread, by the fuel that was granted. */
let burnt = 0
let drains = 0
let yields = 0
/** The longest time between two clock readings of one drain. */
let holdMax = 0
let readInDrain = false

/** Newborns with their first messages. One that runs keeps its place meanwhile, as on the express lane. */
const parked: (Cell | null)[] = []
let parkedFrom = 0
let parkedAt = -1

function emptyRing(length: number): unknown[] {
  return Array<unknown>(length).fill(null)
}

/** Appends to the express lane and sees to it that the loop runs. */
export function push(cell: Cell, message: unknown): void {
  ring[tail] = cell
  ring[tail + 1] = message
  tail = (tail + 2) & mask
  if (tail === head) grow()
  if (!armed) wakeLoop()
}

/**
 * Runs the express lane until it is empty (false) or the time is used up (true). What a handler
 * throws is thrown, with its entry still at the head. It stands here, beside the variables it lives
 * on, because the compiler knows more about those of its own module.
 */
export function runExpress(): boolean {
  while (head !== tail) {
    const cell = ring[head] as Cell
    const { credit } = cell
    if (credit >= floor) {
      const message = ring[head + 1]
      cell.credit = credit + 1
      const next = cell.receive(cell, message as never)
      if (next !== undefined && next !== 'same') loop.follow(cell, message, next)
      pop() // not before: what the actor's own code tells meanwhile is told by it
    } else {
      loop.setAside(cell)
    }
    if (--fuel < 0) {
      if (refuel()) return true
      loop.meanwhile()
    }
  }
  return false
}

export function isDrained(): boolean {
  return head === tail && parked.length === parkedFrom && !overBudget
}

export function headCell(): Cell {
  return ring[head] as Cell
}

export function headMessage(): unknown {
  return ring[head + 1]
}

/** Clears the head entry and moves on. */
export function pop(): void {
  ring[head] = null
  ring[head + 1] = null
  head = (head + 2) & mask
}

function grow(): void {
  const old = ring
  const length = old.length
  ring = emptyRing(length * 2)
  for (let at = 0; at < length; at++) ring[at] = old[(head + at) & mask]
  head = 0
  tail = length
  mask = length * 2 - 1
}

/** What the run loop does for this file, which knows neither cells nor mailboxes. */
export type Loop = Readonly<{
  /** Drains in a microtask. */
  soon: () => void
  /** Drains at once, from a cell that has not stood in line. */
  now: (cell: Cell) => void
  /** Does what a handler answered. */
  follow: (cell: Cell, message: unknown, next: Next<never>) => void
  /** Deals with the head entry, which its cell may not take as it is, and pops it. */
  setAside: (cell: Cell) => void
  /** Gives what is not on the express lane a turn. */
  meanwhile: () => void
}>

export function connect(runLoop: Loop): void {
  loop = runLoop
}

/** Takes an idle loop for the caller, who must run it; false where it is under way already. */
export function claim(): boolean {
  if (armed) return false
  armed = true
  return true
}

export function drainClaimed(first: Cell): void {
  loop.now(first)
}

export function wakeLoop(): void {
  if (armed) return
  armed = true
  loop.soon()
}

export function startDrain(): void {
  armed = true
  draining = true
  overBudget = false
  readInDrain = false
  drains++
  heartbeat[0]!++
  heartbeat[1] = 1
}

export function endDrain(stillArmed: boolean): void {
  draining = false
  armed = stillArmed
  if (stillArmed) yields++
  heartbeat[1] = 0
}

/** Who is having its turn on this thread, if anybody. */
export function current(): Cell | null {
  if (running !== null) return running
  if (parkedAt >= 0) return parked[parkedAt] as Cell
  return draining && head !== tail ? (ring[head] as Cell) : null
}

export function setRunning(cell: Cell | null): void {
  running = cell
}

export function setAmbient(context: unknown): void {
  ambient = context
}

/** Counts one message; true when the fuel is out. */
export function spent(): boolean {
  return --fuel < 0
}

/** Fuel for up to `wanted` messages; none when the turn has used its time and must end. */
export function drawFuel(wanted: number): number {
  if (fuel <= 0 && refuel()) return 0
  const drawn = Math.min(fuel, wanted)
  fuel -= drawn
  return drawn
}

export function returnFuel(unused: number): void {
  fuel += unused
}

/** Makes the loop look up from the express lane after the current message. */
export function hurry(): void {
  if (fuel <= 0) return
  grant = Math.max(1, grant - fuel) // what is burnt of it is counted at the next refuel
  fuel = 0
}

/** Reads the clock and grants more fuel; true when the turn has used its time and must end. */
export function refuel(): boolean {
  const now = systemClock.monotonic()
  heartbeat[0]!++
  burnt += grant
  const took = now - lastRead
  lastRead = now
  if (readInDrain && took > holdMax) holdMax = took
  readInDrain = true
  if (took < BUDGET_MS / READS_PER_BUDGET / 2) grant = Math.min(GRANT_MAX, grant * 2)
  else if (took > (BUDGET_MS / READS_PER_BUDGET) * 2) grant = Math.max(1, grant >> 1)
  fuel = grant
  overBudget = now - turnStart > BUDGET_MS
  return overBudget
}

/** A new turn of the event loop: the budget starts over. */
export function startTurn(): void {
  turnStart = systemClock.monotonic()
  lastRead = turnStart
}

/** A newborn with its first message: run newest first, so that short lives end young. */
export function park(cell: Cell): void {
  parked.push(cell)
  if (!armed) wakeLoop()
}

/** The newest newborn, whose turn it is from here to `leaveParked`. */
export function enterNewest(): Cell | null {
  while (parked.length > parkedFrom) {
    const at = parked.length - 1
    const cell = parked[at] as Cell | null
    if (cell !== null) {
      parkedAt = at
      return cell
    }
    parked.pop()
  }
  if (parkedFrom > 0) clearParked()
  return null
}

/** The oldest newborn, whose turn it is from here to `leaveParked`. */
export function enterOldest(): Cell | null {
  for (; parkedFrom < parked.length; parkedFrom++) {
    const cell = parked[parkedFrom] as Cell | null
    if (cell !== null) {
      parkedAt = parkedFrom
      return cell
    }
  }
  clearParked()
  return null
}

export function leaveParked(): void {
  if (parkedAt === parked.length - 1) parked.pop()
  else parked[parkedAt] = null // newer ones were parked above it
  parkedAt = -1
}

function clearParked(): void {
  parked.length = 0
  parkedFrom = 0
}

/** Whether somebody wants to see every message. */
export function isListening(): boolean {
  return listeners > 0
}

/** Somebody wants to see every message: all of them take the slow path meanwhile. */
export function listen(change: 1 | -1): void {
  listeners += change
  floor = listeners > 0 ? EXPRESS_MAX + 1 : 0
}

/** Express entries and parked cells of one system that may run. */
export function expressDepth(core: Core): number {
  let ready = 0
  for (let at = head; at !== tail; at = (at + 2) & mask) if (mayRun(ring[at], core)) ready++
  for (let at = parkedFrom; at < parked.length; at++) {
    if (at !== parkedAt && mayRun(parked[at], core)) ready++
  }
  return ready
}

function mayRun(entry: unknown, core: Core): boolean {
  const cell = entry as Cell | null
  return cell !== null && cell.core === core && (cell.status & HALTED) === 0
}

/** Of the whole thread, all systems together. */
export function threadFigures(): Readonly<{
  messages: number
  drains: number
  yields: number
  hold_ms_max: number
}> {
  const messages = burnt + Math.max(0, grant - fuel)
  return { messages, drains, yields, hold_ms_max: holdMax }
}
