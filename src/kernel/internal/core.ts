/**
 * What all cells of one system share, and nothing that two systems share.
 */
import { TimerQueue, type Clock, type Log, type Random } from '../../std/index.ts'
import { Metrics } from '../metrics.ts'
import type { TraceEntry } from '../trace.ts'
import { Asks } from './asks.ts'
import type { Cell } from './cell.ts'
import { DeadLetterOffice } from './dead-letters.ts'
import { DEFAULTS, readOptions, STEPPED_DEFAULTS, type Options } from './options.ts'
import { guardedLog } from './guarded-log.ts'
import type { Mailbox } from './mailbox.ts'
import type { ReadyQueue } from './ready-queue.ts'
import { Registry } from './registry.ts'
import { Signals } from './signals.ts'
import { SlowTurns } from './slow-turns.ts'
import { Tracer } from './tracer.ts'

export type CoreParts = Readonly<{
  name: string
  clock: Clock
  random: Random
  log: Log
  ready: ReadyQueue<Mailbox>
  /** Whether mail may take the express lane; not where the order of turns is chosen from outside. */
  express: boolean
  slowTurnMs: number
  /** Of actors that are spawned without one. */
  bound: number | undefined
}>

export class Core {
  readonly name: string
  readonly clock: Clock
  readonly random: Random
  readonly log: Log
  readonly ready: ReadyQueue<Mailbox>
  readonly express: boolean
  readonly defaults: Options
  readonly metrics: Metrics = new Metrics()
  readonly tracer: Tracer
  readonly timers: TimerQueue
  readonly registry: Registry
  readonly signals: Signals = new Signals()
  readonly deadLetters: DeadLetterOffice
  readonly asks: Asks
  readonly slowTurns: SlowTurns
  /** Names anonymous actors, on first need. */
  names = 0
  root: Cell | null = null

  constructor(parts: CoreParts) {
    this.name = parts.name
    this.clock = parts.clock
    this.random = parts.random
    this.log = guardedLog(parts.log)
    this.ready = parts.ready
    this.express = parts.express
    this.defaults = readOptions(
      parts.bound === undefined ? {} : { bound: parts.bound },
      parts.express ? DEFAULTS : STEPPED_DEFAULTS,
    )
    this.timers = new TimerQueue(parts.clock)
    this.tracer = new Tracer(parts.clock, this.log, parts.express)
    this.registry = new Registry()
    this.deadLetters = new DeadLetterOffice(this)
    this.asks = new Asks(this)
    this.slowTurns = new SlowTurns(this, parts.slowTurnMs)
  }

  /** Says what happened, where somebody listens. */
  trace(cell: Cell, type: TraceEntry['type'], facts?: Readonly<Record<string, unknown>>): void {
    if (this.tracer.active) this.tracer.write(cell.path, type, facts)
  }
}
