/**
 * A program: what clients, the world and fate do to an orchestrator, one thing after the other.
 *
 * It is data, drawn from a seed, and means something with any of its parts left out. Each program draws
 * first what may happen in it at all: with everything at once most tests would never get far.
 */
import type { ProbeSettings } from '../../../src/probe/options.ts'
import { CHILD_KINDS, type ChildKind, type QueueMode } from '../../../src/probe/protocol.ts'
import { random, type Random } from '../../../src/std/index.ts'
import { JOURNAL_TROUBLES, type JournalTrouble, type Order } from '../../../src/testkit/index.ts'

/** What comes of something that is asked of the world, and after how long. */
export type Way = Readonly<{ end: 'ok' | 'fail' | 'hang'; ms: number }>

/** What a bundle does when a test is started with it. */
export type Script = Readonly<{
  fetch: Way
  check: 'ok' | 'bad'
  credentials: Way
  producing: Way
  consuming: Way
  run: 'passes' | 'fails' | 'throws' | 'hangs' | 'refused'
  runMs: number
  /** How long a run takes to end that was asked to. */
  endMs: number
  /** How its evidence is stored, try by try; as the last one from then on. */
  stores: readonly Way[]
  /** Names that the bundle wants for itself. */
  keys: readonly string[]
}>

export type Victim = 'queue' | 'test' | ChildKind

/** `test` is the number of a test, from 0; there may be none of that number. */
export type Deed =
  | Readonly<{ do: 'initialize'; priority: number; requestId?: string }>
  | Readonly<{
      do: 'start'
      test: number
      script: Script
      priority?: number
      exclusive: readonly string[]
      requestId?: string
    }>
  /** The start of that test once more. */
  | Readonly<{ do: 'start-again'; test: number }>
  | Readonly<{ do: 'status' | 'cancel' | 'retry' | 'lose-consumer'; test: number }>
  | Readonly<{ do: 'queue-status'; test?: number }>
  | Readonly<{ do: 'extend'; test: number; ms: number }>
  | Readonly<{ do: 'mode'; mode: QueueMode }>
  | Readonly<{ do: 'list' }>
  | Readonly<{ do: 'time'; ms: number }>
  /** An actor is ended from outside, or throws at the next message. */
  | Readonly<{ do: 'end' | 'throw'; whom: Victim; test: number; times: number }>
  /** The power fails, or the server is stopped in order; then there is another one. */
  | Readonly<{ do: 'crash' | 'restart' }>

/** Turns are what is done before the next deed; -1 is as many as there are without time going on. */
export type Op = Deed & Readonly<{ turns: number }>

export type Program = Readonly<{
  seed: number
  order: Order
  troubles: readonly JournalTrouble[]
  settings: Partial<ProbeSettings>
  ops: readonly Op[]
}>

export const TIMES = {
  setupMs: 60_000,
  loadingMs: 30_000,
  testingMs: 40_000,
  completedMs: 20_000,
  exceptionMs: 10_000,
  graceMs: 5_000,
} as const

export const KEYS = ['a', 'b'] as const
const PASSING_MS = [0, 0, 10, 1_000, 4_999, 10_001, 20_001, 40_001, 60_001] as const
const GOOD: Way = { end: 'ok', ms: 0 }
const DEEDS_MAX = 12
const TESTS_MAX = 4

export function programOf(seed: number): Program {
  return new Writer(random(seed)).program(seed)
}

/** A bundle with which nothing goes wrong. */
export function goodScript(keys: readonly string[]): Script {
  return {
    fetch: GOOD,
    check: 'ok',
    credentials: GOOD,
    producing: GOOD,
    consuming: GOOD,
    run: 'passes',
    runMs: 0,
    endMs: 0,
    stores: [GOOD],
    keys,
  }
}

class Writer {
  readonly #draws: Random
  readonly #hurts: boolean
  readonly #breaks: boolean
  readonly #ailing: boolean
  readonly #steers: boolean
  /** As many tests are made and started first; the more, the more of them run at a time. */
  readonly #crowd: number
  #tests = 0
  #started = 0
  #requests = 0

  constructor(draws: Random) {
    this.#draws = draws
    this.#hurts = this.#oneIn(2)
    this.#breaks = this.#oneIn(3)
    this.#ailing = this.#oneIn(2)
    this.#steers = this.#oneIn(3)
    this.#crowd = 1 + draws.below(3)
  }

  program(seed: number): Program {
    const draws = this.#draws
    const count = 2 * this.#crowd + draws.below(DEEDS_MAX - 2 * this.#crowd + 1)
    const ops: Op[] = []
    while (ops.length < count) ops.push({ ...this.#deed(), turns: this.#turns() })
    return {
      seed,
      order: draws.pick(['any', 'arrival', 'newest']),
      troubles: this.#oneIn(5) ? JOURNAL_TROUBLES : [],
      settings: {
        ...TIMES,
        slots: 1 + draws.below(3),
        policy: draws.pick(['first-ready', 'first-ready', 'strict']),
        depth: this.#oneIn(10) ? 1 + draws.below(2) : 1_000,
        interrupted: this.#oneIn(4) ? 'keep' : 'requeue',
        attempts: 1 + draws.below(3),
        ...(this.#oneIn(20) && { retentionTests: 1 }),
      },
      ops,
    }
  }

  #turns(): number {
    const draws = this.#draws
    return draws.pick([0, draws.below(8), draws.below(40), -1, -1])
  }

  #deed(): Deed {
    const draws = this.#draws
    if (this.#tests === 0) return this.#initialize()
    if (this.#started < this.#crowd && !this.#oneIn(6))
      return this.#started < this.#tests ? this.#start(this.#started++) : this.#initialize()
    if (this.#hurts && this.#oneIn(4)) return this.#hurt()
    if (this.#breaks && this.#oneIn(6)) return { do: draws.pick(['crash', 'crash', 'restart']) }
    if (this.#steers && this.#oneIn(7))
      return { do: 'mode', mode: draws.pick(['open', 'open', 'paused', 'draining']) }
    if (this.#tests < TESTS_MAX && this.#oneIn(8)) return this.#initialize()
    if (this.#started < this.#tests && draws.below(3) > 0) return this.#start(this.#started++)
    return this.#request()
  }

  #initialize(): Deed {
    this.#tests++
    const priority = this.#priority()
    if (!this.#oneIn(4)) return { do: 'initialize', priority }
    const isRepeated = this.#requests > 0 && this.#oneIn(2)
    const number = isRepeated ? this.#draws.below(this.#requests) : this.#requests++
    return { do: 'initialize', priority, requestId: `r${number}` }
  }

  #start(test: number): Deed {
    return {
      do: 'start',
      test,
      script: this.#script(),
      exclusive: this.#keys(),
      ...(this.#oneIn(3) && { priority: this.#priority() }),
      ...(this.#oneIn(3) && { requestId: `s${test}` }),
    }
  }

  #request(): Deed {
    const draws = this.#draws
    const test = draws.below(this.#tests + (this.#oneIn(10) ? 1 : 0))
    const drawn = draws.below(20)
    if (drawn < 5) return { do: 'time', ms: draws.pick(PASSING_MS) }
    if (drawn < 8) return { do: 'status', test }
    if (drawn < 11) return { do: 'cancel', test }
    if (drawn < 14) return { do: 'retry', test }
    if (drawn < 15) return { do: 'queue-status', ...(this.#oneIn(2) && { test }) }
    if (drawn < 16) return { do: 'extend', test, ms: draws.pick([1, 1_000, 50_000]) }
    if (drawn < 17) return this.#start(test)
    if (drawn < 18) return { do: 'start-again', test }
    return drawn < 19 ? { do: 'lose-consumer', test } : { do: 'list' }
  }

  #hurt(): Deed {
    const draws = this.#draws
    const child = draws.pick(CHILD_KINDS)
    const whom = draws.pick<Victim>(['queue', 'test', 'test', child, child])
    return {
      do: draws.pick(['end', 'throw']),
      whom,
      test: draws.below(this.#tests),
      times: this.#oneIn(12) ? 12 : 1,
    }
  }

  #script(): Script {
    const draws = this.#draws
    return {
      fetch: this.#way(),
      check: this.#ailing && this.#oneIn(12) ? 'bad' : 'ok',
      credentials: this.#way(),
      producing: this.#way(),
      consuming: this.#way(),
      run: draws.pick([
        'passes',
        'passes',
        'fails',
        ...(this.#ailing ? (['throws', 'hangs', 'refused'] as const) : []),
      ]),
      runMs: draws.pick([0, 500, 15_000, 15_000]),
      endMs: draws.pick([0, 0, 1_000, TIMES.graceMs]),
      stores: Array.from({ length: 1 + draws.below(2) }, () => this.#way()),
      keys: this.#keys(),
    }
  }

  #way(): Way {
    const draws = this.#draws
    const ms = draws.pick([0, 0, 0, 200, 3_000])
    if (!this.#ailing || !this.#oneIn(8)) return { end: 'ok', ms }
    return { end: draws.pick(['fail', 'fail', 'hang']), ms }
  }

  #keys(): readonly string[] {
    return this.#oneIn(3) ? KEYS.filter(() => this.#oneIn(2)) : []
  }

  #priority(): number {
    return this.#draws.pick([0, 0, 0, 1, 9])
  }

  #oneIn(n: number): boolean {
    return this.#draws.below(n) === 0
  }
}
