/**
 * The thread of the watchdog. It looks at the heartbeat of the watched thread now and then, and asks
 * further only where it stands still.
 *
 * That thread cannot say anything while it is held, so what is found is written to stderr from here.
 * A session with the inspector lives for one question: a process that exits waits for open ones.
 */
import { writeSync } from 'node:fs'
import { Session } from 'node:inspector'
import { workerData } from 'node:worker_threads'
import { lineLog, systemClock } from '../../std/index.ts'
import type { Sight } from './watchdog.ts'

export type Orders = Readonly<{
  heartbeat: Int32Array<SharedArrayBuffer>
  /** One word: the smallest `slowTurnMs` of the systems that are watched. */
  slowMs: Int32Array<SharedArrayBuffer>
  /** One word, written here: when the watched thread was asked, in wall time. */
  askedAt: Float64Array<SharedArrayBuffer>
  /** Where the watched thread can be asked; null where the inspector does not reach it. */
  hook: string | null
}>

/** A heartbeat that stands still. */
type Stall = {
  readonly beat: number
  looks: number
  /** Since when there is no answer. */
  silentAt: number | undefined
  /** When what holds the thread is to be named, as far as it is known. */
  nameAt: number
  /** It was written that nothing is known. */
  unknown: boolean
  inspected: boolean
  /** A debugger has stopped the thread, so what is measured means nothing. */
  paused: boolean
}

const LOOKS_PER_SLOW_TURN = 4
const LOOK_MS_MIN = 50
const ANSWER_MS_MIN = 1_000 // less than 1 is usual, but a busy machine may let it wait
const BURNING_SHARE = 0.1 // a loop has less than a whole core where there are few
const STDERR = 2
const SLEEP = new Int32Array(new SharedArrayBuffer(4))

const { heartbeat, slowMs, askedAt, hook }: Orders = workerData
const log = lineLog((line) => void writeSync(STDERR, `${line}\n`))

let stall = stallAt(0)
let asking = false
let lookedAt = systemClock.monotonic()
let cpuBefore = process.cpuUsage()

watch()

function watch(): void {
  // Asleep rather than behind a timer: waking up costs half as much. Only answers come as events.
  while (!look()) Atomics.wait(SLEEP, 0, 0, untilNextLook())
  systemClock.setTimer(systemClock.monotonic() + untilNextLook(), watch)
}

/** True while an answer is awaited. */
function look(): boolean {
  const beat = Atomics.load(heartbeat, 0)
  const inTurn = Atomics.load(heartbeat, 1) === 1
  const burning = isBurning()
  if (beat !== stall.beat || (!inTurn && !burning)) stall = stallAt(beat)
  else if (inTurn || stall.looks > LOOKS_PER_SLOW_TURN) pursue(stall)
  stall.looks++
  return asking
}

function untilNextLook(): number {
  const lookMs = Math.max(LOOK_MS_MIN, slowMs[0]! / LOOKS_PER_SLOW_TURN)
  const nameMs = stall.nameAt - systemClock.monotonic()
  return nameMs > 0 ? Math.min(nameMs, lookMs) : lookMs
}

/** Whether the process has worked since the last look: a thread that rests is never asked. */
function isBurning(): boolean {
  const now = systemClock.monotonic()
  const cpu = process.cpuUsage()
  const usedMs = (cpu.user + cpu.system - cpuBefore.user - cpuBefore.system) / 1_000
  const burning = usedMs > (now - lookedAt) * BURNING_SHARE
  lookedAt = now
  cpuBefore = cpu
  return burning
}

function stallAt(beat: number): Stall {
  return {
    beat,
    looks: 0,
    silentAt: undefined,
    nameAt: 0,
    unknown: false,
    inspected: false,
    paused: false,
  }
}

function pursue(about: Stall): void {
  if (about.paused) return
  about.silentAt ??= systemClock.monotonic()
  const silentMs = Math.round(systemClock.monotonic() - about.silentAt)
  if (silentMs >= Math.max(ANSWER_MS_MIN, slowMs[0]!) && !about.unknown) {
    about.unknown = true
    log.warn('the thread is held, and does not say by what', { heldMs: silentMs })
  }
  if (hook !== null && !asking) void ask(about, hook)
}

async function ask(about: Stall, key: string): Promise<void> {
  asking = true
  about.paused = about.inspected && (await isPaused())
  const sight = about.paused ? undefined : await call(key)
  asking = false
  if (sight === undefined) return
  if (sight === 'idle') {
    if (stall === about) stall = stallAt(about.beat)
    return
  }
  about.silentAt = undefined
  about.nameAt = systemClock.monotonic() + sight.leftMs
  about.inspected = sight.inspected
  if (sight.named === null) return
  const what = sight.named.actor === undefined ? 'something outside of a turn' : 'a turn'
  log.warn(`${what} holds the thread`, sight.named)
}

/** What the watched thread answers; undefined where it cannot be asked. */
function call(key: string): Promise<Sight | undefined> {
  // Always the same text, because the engine keeps what it has compiled.
  const expression = `globalThis[Symbol.for('${key}')]?.()`
  askedAt[0] = systemClock.now()
  return withSession((session, done) => {
    session.post('Runtime.evaluate', { expression, returnByValue: true }, (error, answer) => {
      done(error === null ? answer.result.value : undefined)
    })
  })
}

/** Whether a debugger of somebody else has stopped the watched thread: a second one is told at once. */
async function isPaused(): Promise<boolean> {
  const paused = await withSession<boolean>((session, done) => {
    let stopped = false
    session.once('Debugger.paused', () => (stopped = true))
    session.post('Debugger.enable', () => done(stopped))
  })
  return paused ?? false
}

function withSession<T>(
  talk: (session: Session, done: (value: T | undefined) => void) => void,
): Promise<T | undefined> {
  return new Promise((resolve) => {
    const session = new Session()
    const done = (value: T | undefined): void => {
      session.disconnect()
      resolve(value)
    }
    try {
      session.connectToMainThread()
      talk(session, done)
    } catch {
      done(undefined) // the process was started without an inspector
    }
  })
}
