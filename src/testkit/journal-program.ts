/**
 * A journal put through a random program, beside a model of it.
 *
 * The program commits, several batches at a time; reads; closes and opens again; crashes with commits
 * under way. Every answer must be the one the model gives. Where an outcome is unknown, the mark of the
 * batch tells, and from there on the model goes the same way: so a batch that is there in part, an
 * acknowledged one that is gone, or one that took effect twice shows at the next comparison. Somebody
 * follows by subscription all the while, and must have seen everything, once and in order.
 */
import assert from 'node:assert/strict'

import type { CommitResult, Journal, StoredEvent, Subscription } from '../journal/index.ts'
import { Accident, fault, random, unreachable, type Random } from '../std/index.ts'
import { checkJournal } from './check-journal.ts'
import { JournalModel } from './journal-model.ts'
import { turnUntil, type JournalEngine, type JournalStorage } from './journal-engine.ts'
import {
  COLLECTIONS,
  FENCE,
  FOLDS,
  JournalWriter,
  MARKS,
  ODD_NAMES,
  type Marked,
} from './journal-writer.ts'
import { hop } from './settling.ts'
import { isError } from './show.ts'
import { virtualClock, type VirtualClock } from './virtual-clock.ts'

export type ProgramOptions = Readonly<{ seed: number; steps?: number }>

/** What happened, so that whoever plays can tell whether anything did. */
export type JournalPlay = Readonly<{
  /** Commits that took effect, that were refused by the journal's state, or by the verdict. */
  committed: number
  turnedAway: number
  refused: number
  /** Commits whose outcome was unknown, and those among them that had taken effect. */
  unknown: number
  unknownCommitted: number
  crashes: number
  /** How often it was opened after the first time. */
  reopened: number
}>

type Step = 'commit' | 'read' | 'fence' | 'reopen' | 'crash' | 'pass' | 'forget'

/** A commit that was called, and what came of it; nothing yet, or never, where it crashed. */
type Called = Marked & { came?: CommitResult | Accident; settled: Promise<void> }

const STEPS_DEFAULT = 16
const RETENTION_MS = 3_600_000
/** Accidents after which it is certain that nothing was kept. */
const NOTHING_KEPT: ReadonlySet<string> = new Set([
  'journal-overloaded',
  'read-only',
  'journal-closed',
])

/** Rejects with `journal-wrong`, which names the seed and the steps that led there. */
export async function playJournal(
  engine: JournalEngine,
  options: ProgramOptions,
): Promise<JournalPlay> {
  const clock = virtualClock()
  const storage = await engine.storage(clock)
  const play = new Play(engine, storage, clock, random(options.seed))
  try {
    await play.run(options.steps ?? STEPS_DEFAULT)
    return play.counts
  } catch (error) {
    throw wrong(options.seed, play.steps, error)
  } finally {
    await storage.remove?.()
  }
}

class Play {
  readonly steps: Step[] = []
  readonly counts = {
    committed: 0,
    turnedAway: 0,
    refused: 0,
    unknown: 0,
    unknownCommitted: 0,
    crashes: 0,
    reopened: -1,
  }
  readonly #engine: JournalEngine
  readonly #storage: JournalStorage
  readonly #clock: VirtualClock
  readonly #random: Random
  readonly #model = new JournalModel()
  readonly #writer: JournalWriter
  readonly #seen: StoredEvent[] = []
  #onSeen: () => void = () => undefined
  #journal!: Journal
  #follower!: Subscription

  constructor(engine: JournalEngine, storage: JournalStorage, clock: VirtualClock, draws: Random) {
    this.#engine = engine
    this.#storage = storage
    this.#clock = clock
    this.#random = draws
    this.#writer = new JournalWriter(draws.fork(), this.#model)
  }

  async run(steps: number): Promise<void> {
    await this.#open()
    const kinds = this.#kinds()
    for (let n = 0; n < steps; n++) {
      const step = this.#random.pick(kinds)
      this.steps.push(step)
      await this.#take(step)
    }
    if (this.#engine.isLasting) await this.#reopen()
    await this.#compare()
    await this.#wait(this.#journal.close())
  }

  #kinds(): Step[] {
    const kinds: Step[] = [
      'commit',
      'commit',
      'commit',
      'commit',
      'read',
      'fence',
      'pass',
      'forget',
    ]
    if (this.#engine.isLasting) kinds.push('reopen')
    if (this.#engine.canCrash) kinds.push('crash', 'crash')
    return kinds
  }

  async #take(step: Step): Promise<void> {
    switch (step) {
      case 'commit': {
        const called = this.#call()
        await this.#wait(Promise.all(called.map(({ settled }) => settled)))
        return this.#agree(called)
      }
      case 'read':
        return this.#compare()
      case 'fence':
        return this.#fence()
      case 'reopen':
        return this.#reopen()
      case 'crash':
        return this.#crash()
      case 'pass':
        return this.#clock.advance(this.#random.below(3_000))
      case 'forget':
        this.#clock.advance(RETENTION_MS + 1)
        this.#model.answers.clear()
        return undefined
      default:
        return unreachable(step)
    }
  }

  async #open(): Promise<void> {
    this.#journal = await this.#wait(this.#storage.open({ ledgerRetentionMs: RETENTION_MS }))
    this.counts.reopened++
    this.#follower = this.#journal.subscribe({
      after: this.#seen.length,
      limit: 1 + this.#random.below(7),
      handle: (events) => {
        this.#seen.push(...events)
        this.#onSeen()
      },
    })
    this.#follower.ended.catch(() => undefined) // the journal failed: what it was asked says so too
  }

  async #reopen(): Promise<void> {
    await this.#wait(this.#journal.close())
    await this.#open()
  }

  #call(): Called[] {
    return Array.from({ length: 1 + this.#random.below(6) }, () => {
      const call: Called = { ...this.#writer.batch(), settled: Promise.resolve() }
      call.settled = this.#journal.commit(call.batch).then(
        (result) => void (call.came = result),
        (error) => void (call.came = accident(error)),
      )
      call.settled.catch(() => undefined) // where it crashes, nobody waits for it
      return call
    })
  }

  async #crash(): Promise<void> {
    const called = this.#call()
    for (let n = this.#random.below(6); n > 0; n--) {
      await hop()
      const { next } = this.#clock
      if (next !== undefined) this.#clock.advance(Math.max(0, next - this.#clock.monotonic()))
    }
    void this.#follower.close()
    await this.#storage.crash?.()
    this.counts.crashes++
    await this.#open()
    await this.#agree(called)
    await this.#compare()
  }

  /** Takes the model where the journal went, batch by batch in the order of the calls. */
  async #agree(called: readonly Called[]): Promise<void> {
    if (this.#journal.state === 'failed') await this.#reopen()
    const marks = await this.#marks(called.filter(isDoubtful))
    for (const call of called) {
      if (isDoubtful(call)) this.#follow(call, marks.has(call.mark))
      else if (call.came instanceof Accident) this.#turnedAway(call.came)
      else this.#judge(call, call.came)
    }
  }

  #follow({ batch }: Called, hasTakenEffect: boolean): void {
    this.counts.unknown++
    if (!hasTakenEffect) return
    this.counts.unknownCommitted++
    assert.equal(this.#model.commit(batch).type, 'committed')
  }

  #turnedAway({ code, message }: Accident): void {
    this.counts.turnedAway++
    assert.ok(NOTHING_KEPT.has(code), message)
  }

  #judge({ batch }: Called, result: CommitResult | undefined): void {
    const expected = this.#model.commit(batch)
    this.counts[expected.type === 'committed' ? 'committed' : 'refused']++
    assert.deepEqual(result, expected)
  }

  async #marks(called: readonly Called[]): Promise<Set<string>> {
    if (called.length === 0) return new Set()
    const keys = called.map(({ mark }) => mark)
    const found = await this.#wait(this.#journal.getRecords(MARKS, keys))
    return new Set(found.map(({ key }) => key))
  }

  async #fence(): Promise<void> {
    const before = this.#model.tokens.get(FENCE) ?? 0
    try {
      const token = await this.#wait(this.#journal.takeFence(FENCE))
      assert.equal(token, before + 1)
      this.#model.tokens.set(FENCE, token)
    } catch (error) {
      const { code } = accident(error)
      if (NOTHING_KEPT.has(code)) return
      assert.equal(code, 'unknown-outcome')
      if (this.#journal.state === 'failed') await this.#reopen()
      await this.#findToken(before)
    }
  }

  /** A batch of nothing but a fence tells which token is good. */
  async #findToken(before: number): Promise<void> {
    for (const token of [before, before + 1].filter((each) => each > 0)) {
      const result = await this.#insist(() =>
        this.#journal.commit({ fence: { name: FENCE, token } }),
      )
      if (result.type === 'committed') this.#model.tokens.set(FENCE, token)
    }
  }

  /** For what may be done twice: again until it is answered. */
  async #insist<T>(call: () => Promise<T>): Promise<T> {
    for (;;) {
      try {
        return await this.#wait(call())
      } catch (error) {
        accident(error)
      }
      if (this.#journal.state === 'failed') await this.#reopen()
      this.#clock.advance(1_000)
    }
  }

  async #compare(): Promise<void> {
    try {
      await this.#compareAll()
    } catch (error) {
      if (this.#journal.state !== 'failed') throw error
      await this.#reopen() // it failed while it was being looked at, looking for room
      await this.#compare()
    }
  }

  async #compareAll(): Promise<void> {
    const { events } = await this.#wait(checkJournal(this.#journal))
    assert.deepEqual(events, this.#model.events)
    await this.#wait(this.#compareReads())
    await this.#wait(this.#caughtUp())
    assert.deepEqual(this.#seen, events, 'the follower has seen everything once and in order')
  }

  async #compareReads(): Promise<void> {
    const [journal, model] = [this.#journal, this.#model]
    const [after, limit] = [this.#random.pick(ODD_NAMES), 1 + this.#random.below(4)]
    for (const collection of [...COLLECTIONS, MARKS]) {
      assert.deepEqual(await journal.readRecords(collection, ''), model.recordsOf(collection, ''))
      const prefix = this.#random.pick(['a', '%', '_', '', after])
      const all = model.recordsOf(collection, prefix)
      const page = await journal.readRecords(collection, prefix, { after, limit })
      assert.deepEqual(page, all.filter(({ key }) => isBehind(key, after)).slice(0, limit))
      const found = await journal.getRecords(collection, ODD_NAMES)
      const there = ODD_NAMES.map((key) => all.find((record) => record.key === key))
      if (prefix === '')
        assert.deepEqual(
          found,
          there.filter((record) => record !== undefined),
        )
    }
    assert.deepEqual(await journal.streams('a'), model.streams('a'))
    for (const key of this.#writer.keys) {
      const answer = await journal.lookup(key)
      const { at: _, ...rest } = answer ?? {}
      assert.deepEqual(answer && rest, model.answers.get(key))
    }
    for (const stream of ODD_NAMES)
      for (const fold of FOLDS)
        assert.deepEqual(await journal.snapshots(stream, fold), model.snapshotsOf(stream, fold))
  }

  /** Settles when the follower has seen as much as there is, or has ended. */
  async #caughtUp(): Promise<void> {
    const last = this.#model.events.length
    const seen = new Promise<void>((resolve) => {
      this.#onSeen = () => this.#seen.length >= last && resolve()
      this.#onSeen()
    })
    await Promise.race([seen, this.#follower.ended.catch(() => undefined)])
  }

  #wait<T>(promise: Promise<T>): Promise<T> {
    return turnUntil(this.#clock, promise)
  }
}

function isDoubtful({ came }: Called): boolean {
  return came === undefined || (came instanceof Accident && came.code === 'unknown-outcome')
}

function accident(error: unknown): Accident {
  if (error instanceof Accident) return error
  throw error
}

function isBehind(key: string, after: string): boolean {
  return Buffer.compare(Buffer.from(key), Buffer.from(after)) > 0
}

function wrong(seed: number, steps: readonly Step[], error: unknown): Accident {
  return new Accident(
    fault('journal-wrong', `seed ${seed}: ${isError(error) ? error.message : String(error)}`, {
      seed,
      steps,
      remedy: `play seed ${seed} alone; it went ${steps.join(', ')}`,
    }),
    { cause: error },
  )
}
