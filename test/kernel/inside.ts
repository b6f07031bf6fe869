/**
 * What the model test knows of the kernel's inside, all in one place.
 *
 * It reads; the two exceptions are the hand-out of the ready queue, which is watched, and the fuel of
 * the run loop, which is set to the same amount before every program so that a seed repeats itself.
 */
import type { Core } from '../../src/kernel/internal/core.ts'
import { Actor } from '../../src/kernel/internal/actor.ts'
import { roomOf } from '../../src/kernel/internal/capacity.ts'
import { expressOf, type Cell } from '../../src/kernel/internal/cell.ts'
import * as dispatch from '../../src/kernel/internal/dispatch.ts'
import { NONE, type Mailbox } from '../../src/kernel/internal/mailbox.ts'
import type { Ready, ReadyQueue } from '../../src/kernel/internal/ready-queue.ts'
import { ready } from '../../src/kernel/internal/run-loop.ts'
import {
  AWAIT,
  HALTED,
  RESTARTING,
  STOPPED,
  STOPPING,
  SUSPEND,
  SYSTEM,
} from '../../src/kernel/internal/status.ts'
import type { Ref } from '../../src/kernel/index.ts'
import { systemClock } from '../../src/std/index.ts'

export { Actor, type Cell }

/** Every so many hand-outs the lanes of the ready queue take turns in the same order again. */
const LANE_CYCLE = 64

export function actorOf(ref: Ref<never>): Actor {
  if (ref instanceof Actor) return ref
  throw new TypeError(`${ref.path} is not an actor`)
}

/** What can be seen of one actor. */
export type Sight = Readonly<{
  /** The suspend counter, and how many tokens are linked to the cell. */
  counter: number
  tokens: number
  awaiting: boolean
  restarting: boolean
  stopping: boolean
  stopped: boolean
  ahead: boolean
  room: number
  stash: number
  held: number
  system: number
  systemFlag: boolean
  linked: boolean
  halted: boolean
  /** Entries on the express lane that are run as they come: what the ready depth counts. */
  open: number
  /** Entries on the express lane by the cell's own account, a parked first message included. */
  express: number
}>

export function see(cell: Actor): Sight {
  const { status, extras, mail } = cell
  let tokens = 0
  for (let token = extras?.token ?? null; token !== null; token = token.next) tokens++
  return {
    counter: Math.floor(status / SUSPEND),
    tokens,
    awaiting: (status & AWAIT) !== 0,
    restarting: (status & RESTARTING) !== 0,
    stopping: (status & STOPPING) !== 0,
    stopped: (status & STOPPED) !== 0,
    ahead: mail !== null && mail.urgent !== NONE,
    room: roomOf(cell),
    stash: extras?.stash?.length ?? 0,
    held: extras?.outbox?.held.length ?? 0,
    system: extras?.systemLane?.length ?? 0,
    systemFlag: (status & SYSTEM) !== 0,
    linked: mail?.queued ?? false,
    halted: (status & HALTED) !== 0,
    open: (status & HALTED) === 0 ? expressOf(cell) : 0,
    express: expressOf(cell),
  }
}

/** Whether a request to stop ends the actor within the call, or has done so already. */
export function endsAtOnce(cell: Actor): boolean {
  const { mail, behavior, youngest, status } = cell
  if ((status & STOPPED) !== 0) return true
  if ((status & STOPPING) !== 0) return (status & SYSTEM) === 0
  return mail === null && youngest === null && behavior.onStop === undefined
}

/** How many messages wait for the cell itself, off the express lane. */
export function boxed(cell: Actor): number {
  return cell.options.bound - roomOf(cell) - expressOf(cell)
}

/** Whether the actor has a turn of its mailbox right now. */
export function isRunning(cell: Actor): boolean {
  return dispatch.running === cell
}

/** How many wait for room in its mailbox. */
export function waitersFor(cell: Actor): number {
  let waiting = 0
  for (const { cancelled } of cell.mail?.waiters ?? []) if (!cancelled) waiting++
  return waiting
}

export function waits(cell: Actor): number {
  return cell.options.bound - roomOf(cell)
}

/** What the express lane says is ready. */
export function expressDepth(core: Core): number {
  return dispatch.expressDepth(core)
}

/** Whether the handler that runs was called by the express lane, which shows it as ready meanwhile. */
export function runsExpress(): boolean {
  return dispatch.running === null
}

/** Says what is wrong with the links of the ready queue, where `mailboxes` are all there are. */
export function brokenLinks(
  queue: ReadyQueue<Mailbox>,
  mailboxes: readonly Mailbox[],
): string | undefined {
  const linked = new Set<Ready>(mailboxes.filter((mail) => mail.queued))
  if (linked.size !== queue.depth) return `${linked.size} are marked, the depth is ${queue.depth}`
  const seen = new Set<Ready>()
  for (const mail of linked) {
    if (mail.before !== null) continue
    for (let at: Ready | null = mail; at !== null; at = at.after) {
      if (seen.has(at)) return 'a mailbox is linked twice'
      if (!linked.has(at)) return 'a mailbox is linked and not marked'
      if (at.after !== null && at.after.before !== at) return 'a link back is wrong'
      if (at.lane !== mail.lane) return 'a mailbox is in the wrong lane'
      seen.add(at)
    }
  }
  if (seen.size !== linked.size) return 'a mailbox is marked and not linked'
  for (const mail of mailboxes) {
    if (!mail.queued && (mail.before !== null || mail.after !== null)) return 'links were left over'
  }
  return undefined
}

/** Whether the loop of this thread has nothing to do, where `cells` are all there are. */
export function isIdle(cells: readonly Actor[]): boolean {
  if (ready.depth > 0) return false
  return cells.every((cell) => expressOf(cell) === 0)
}

export type TurnWatch = Readonly<{
  onTake: (cell: Cell) => void
  onSettle: (cell: Cell) => void
}>

/** Hears of every mailbox that is handed out, and of the end of its turn. */
export function watchTurns(queue: ReadyQueue<Mailbox>, watch: TurnWatch): void {
  const take = queue.take.bind(queue)
  const takeAt = queue.takeAt.bind(queue)
  const settle = queue.settle.bind(queue)
  queue.take = () => told(take())
  queue.takeAt = (index) => told(takeAt(index))
  queue.settle = (mail, result) => {
    settle(mail, result)
    watch.onSettle(mail.cell)
  }

  function told(mail: Mailbox | undefined): Mailbox | undefined {
    if (mail !== undefined) watch.onTake(mail.cell)
    return mail
  }
}

let watching: TurnWatch | undefined
let handOuts = 0
const handOut = ready.take.bind(ready)
watchTurns(ready, {
  onTake: (cell) => watching?.onTake(cell),
  onSettle: (cell) => watching?.onSettle(cell),
})
const watched = ready.take.bind(ready)
ready.take = () => {
  handOuts++
  return watched()
}

/** Hears of the turns on this thread's own ready queue, until the next one listens. */
export function watchThread(watch: TurnWatch | undefined): void {
  watching = watch
}

let hostMs = 0
let tickMs = 0
systemClock.monotonic = () => (hostMs += tickMs)

/** The run loop begins as always: least fuel, and the host's clock moves by so much a reading. */
export function sameBeginning(tick: number): void {
  tickMs = 10
  for (let i = 0; i < 16; i++) dispatch.refuel()
  dispatch.hurry()
  dispatch.startTurn()
  tickMs = tick
  for (; handOuts % LANE_CYCLE !== 0; handOuts++) handOut()
}
