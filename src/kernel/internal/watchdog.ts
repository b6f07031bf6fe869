/**
 * The watchdog: names the turn that holds the thread, while it still does.
 *
 *   the heartbeat moves                   all is well, nothing is asked
 *   it stands still     --look-->         which turn is it?
 *   it still does       --look again-->   the same turn, for slowTurnMs: it is named
 *
 * The heartbeat is read by a thread of its own (watchdog-thread.ts), one for all systems that ask
 * for it. Where it stands still, that thread has `look` called here by way of the inspector, in the
 * middle of whatever is running. So `look` reads and allocates, and changes nothing that runs; what
 * is to be counted and logged waits until the running code has returned. The inspector only
 * evaluates: no debugger is enabled, so nothing is paused and nothing is deoptimised.
 */
import type * as Inspector from 'node:inspector'
import { getCallSites, type CallSiteObject } from 'node:util'
import { isMainThread, Worker } from 'node:worker_threads'
import { afterTurn, freshId, PRODUCT, systemClock } from '../../std/index.ts'
import type { Cell } from './cell.ts'
import type { Core } from './core.ts'
import { current, threadFigures } from './dispatch.ts'
import { heartbeat } from './heartbeat.ts'
import type { Orders } from './watchdog-thread.ts'

export type Sight =
  | 'idle'
  | Readonly<{
      /** How long what runs may go on before it is named; below zero once it is. */
      leftMs: number
      named: Named | null
      /** Whether a debugger can stop the thread. */
      inspected: boolean
    }>

/** Without an actor it is something outside of a turn, such as what follows an `await`. */
export type Named = Readonly<{ heldMs: number; system?: string; actor?: string; where: string }>

type Dog = Readonly<{ worker: Worker; hook: symbol; inspector: typeof Inspector }>

const SLOW_MS_MAX = 2 ** 31 - 1
const FRAMES_MAX = 50
const OWN_FRAMES = 2 // look, and the expression that calls it
const KERNEL = new URL('..', import.meta.url).href

const watched = new Map<Core, number>()
const slowMs = new Int32Array(new SharedArrayBuffer(4))
const askedAt = new Float64Array(new SharedArrayBuffer(8))
let dog: Dog | null = null

/** What was running at the last look, and since when it is known to. */
const seen = { cell: null as Cell | null, beat: 0, count: 0, since: 0, named: false }

/** Has turns of more than `ms` on this thread named, until the answer is called. */
export function watchThread(core: Core, ms: number): () => void {
  dog ??= start()
  watched.set(core, Math.min(Math.ceil(ms), SLOW_MS_MAX))
  slowMs[0] = smallest()
  return () => {
    if (!watched.delete(core)) return
    slowMs[0] = smallest()
    if (watched.size === 0) stop()
  }
}

function smallest(): number {
  return Math.min(SLOW_MS_MAX, ...watched.values())
}

function start(): Dog {
  const name = `${PRODUCT}.watchdog.${freshId()}`
  const orders: Orders = { heartbeat, slowMs, askedAt, hook: canBeAsked() ? name : null }
  // The thread's file has the extension of this one: .ts in development, .js when released.
  const extension = /\.\w+$/.exec(import.meta.url)?.[0] ?? '.js'
  const worker = new Worker(new URL(`./watchdog-thread${extension}`, import.meta.url), {
    name: `${PRODUCT} watchdog`,
    workerData: orders,
    execArgv: [], // what the program preloads is not for this thread
  })
  worker.unref()
  worker.on('error', (error) => {
    for (const { log } of watched.keys()) log.error('the watchdog has ended', { error })
    if (dog?.worker === worker) stop()
  })
  const hook = Symbol.for(name)
  Object.defineProperty(globalThis, hook, { configurable: true, value: look })
  return { worker, hook, inspector: process.getBuiltinModule('node:inspector') }
}

/** The inspector reaches the main thread alone, and ends a process that is not permitted to use it. */
function canBeAsked(): boolean {
  // Whatever its type says, it is there only under the permission model.
  const isPermitted = !Object.hasOwn(process, 'permission') || process.permission.has('inspector')
  return isMainThread && isPermitted
}

function stop(): void {
  if (dog === null) return
  Reflect.deleteProperty(globalThis, dog.hook)
  void dog.worker.terminate()
  dog = null
  seen.cell = null
}

/** Called from outside, in the middle of anything. */
function look(): Sight {
  const frames = getCallSites(FRAMES_MAX).slice(OWN_FRAMES)
  if (frames.length === 0) return 'idle'
  recognise()
  const { cell, since } = seen
  const heldMs = Math.round(systemClock.monotonic() - since)
  const leftMs = ((cell && watched.get(cell.core)) ?? smallest()) - heldMs
  const inspected = dog?.inspector.url() !== undefined
  if (leftMs > 0 || seen.named) return { leftMs, named: null, inspected }

  seen.named = true
  const where = whereabouts(frames, KERNEL)
  afterTurn(() => report(cell, Math.round(systemClock.monotonic() - since), where))
  const who = cell === null ? {} : { system: cell.core.name, actor: cell.path }
  return { leftMs, named: { ...who, heldMs, where }, inspected }
}

/**
 * The heartbeat alone does not tell turns apart, because it moves once for many short ones. With the
 * number of messages run so far it does.
 */
function recognise(): void {
  const cell = current()
  const beat = heartbeat[0]!
  const count = threadFigures().messages
  if (seen.cell === cell && seen.beat === beat && seen.count === count) return
  seen.cell = cell
  seen.beat = beat
  seen.count = count
  seen.named = false
  // Running code answers at once. What answers late was in one call out of it all the while.
  seen.since = systemClock.monotonic() - Math.max(0, systemClock.now() - askedAt[0]!)
  if (cell === null) afterTurn(moveOn)
}

/** For what is no turn and so does not move the heartbeat when it ends. */
function moveOn(): void {
  heartbeat[0]!++
}

function report(cell: Cell | null, ms: number, where: string): void {
  if (cell !== null) cell.core.slowTurns.report(cell.path, { kind: 'sync', ms, where })
  else for (const { log } of watched.keys()) log.warn('the thread was held', { ms, where })
}

/** The innermost frame that is neither Node's nor the kernel's. */
export function whereabouts(frames: readonly CallSiteObject[], kernel: string): string {
  const own = frames.filter(({ scriptName: url }) => url !== '' && !url.startsWith('node:'))
  // Where program and kernel are bundled into one file, all frames are in the same place.
  const frame = own.find(({ scriptName: url }) => !url.startsWith(kernel)) ?? own[0]
  if (frame === undefined) return 'unknown'
  const { functionName, scriptName, lineNumber, columnNumber } = frame
  return `${functionName || '<anonymous>'} (${scriptName}:${lineNumber}:${columnNumber})`
}
