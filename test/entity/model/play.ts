/**
 * One run of the model test: clients, two runtimes and one journal, on a seed.
 *
 * The runtimes do not know of each other, so they get in each other's way. Weather comes and goes, lines
 * are cut and runtimes begun anew, entities are put away at any moment, requests are repeated at any
 * moment and through either runtime. At the end the sky clears, clients ask again what they were not
 * told, and everybody comes to rest. Then the history is judged.
 */
import { inspect } from 'node:util'

import { createEntities, type Answer, type Entities } from '../../../src/entity/index.ts'
import { memoryJournal, type Journal, type StoredEvent } from '../../../src/journal/index.ts'
import { silentLog, type Random } from '../../../src/std/index.ts'
import { world, type World } from '../../../src/testkit/index.ts'
import { refusalOf, type Ask, type Issued } from './played.ts'
import { CALM, line, type Line, type Weather } from './storm.ts'
import { audit, vault, type VaultCommand, type VaultReply } from './vault.ts'
import { Verdict } from './verdict.ts'

export type Run = Readonly<{
  violations: readonly string[]
  /** What has happened, so that one can see that something has. */
  tally: Readonly<Record<string, number>>
}>

const STEPS = 60
const ORDERS = ['any', 'arrival', 'newest'] as const
const CLIENTS = 3
const IDS = ['a', 'b', 'c'] as const
const RUNTIMES = 2
/** Virtual time in which everything comes to rest once the sky has cleared. */
const REST_MS = 120_000
const DEADLINE_MS_MAX = 20_000
/** How often a client asks again, in good weather, before it gives up. */
const REPEATS_AT_END = 5

export async function play(seed: number): Promise<Run> {
  const earth = world({
    seed,
    order: ORDERS[seed % ORDERS.length]!,
    turnMsMax: Math.floor(seed / ORDERS.length) % 2,
    stepsMax: 1_000_000,
    msMax: 10 * REST_MS,
  })
  try {
    const run = new Play(earth, await memoryJournal({ clock: earth.clock }))
    await run.act()
    return await run.end()
  } finally {
    await earth.stop()
  }
}

type Runtime = { readonly number: number; readonly line: Line; readonly entities: Entities }

class Play {
  readonly #world: World
  readonly #journal: Journal
  readonly #draw: Random
  readonly #weather: Weather = { ...CALM }
  readonly #runtimes: Runtime[] = []
  readonly #issued: Issued[] = []
  readonly #violations: string[] = []
  readonly #tally: Record<string, number> = {}
  #started = 0
  #step = 0

  constructor(earth: World, journal: Journal) {
    this.#world = earth
    this.#journal = journal
    this.#draw = earth.random
    for (let n = 0; n < RUNTIMES; n++) this.#runtimes.push(this.#start())
  }

  async act(): Promise<void> {
    const draw = this.#draw
    for (let n = 0; n < STEPS; n++) {
      this.#step++
      const dice = draw.below(100)
      if (dice < 55) this.#burst()
      else if (dice < 70) this.#repeat()
      else if (dice < 74) this.#misuse()
      else if (dice < 84) this.#passivate()
      else if (dice < 90) this.#turnWeather()
      else if (dice < 93) await this.#crash()
      else await this.#world.advance(draw.below(400))
      await this.#world.advance(draw.below(4) === 0 ? draw.below(30) : draw.below(3))
    }
  }

  async end(): Promise<Run> {
    this.#step++
    Object.assign(this.#weather, CALM)
    await this.#allAnswered()
    await this.#askAgain()
    await this.#world.advance(REST_MS)
    await this.#judge()
    for (const { entities } of this.#runtimes) await this.#world.until(entities.drain())
    return { violations: this.#violations, tally: this.#tally }
  }

  #start(): Runtime {
    const { clock, system } = this.#world
    const number = this.#started++
    const own = line(this.#journal, this.#weather, clock, this.#draw.fork())
    const entities = createEntities({
      system,
      journal: own.journal,
      definitions: [vault, audit],
      name: `runtime-${number}`,
      random: this.#draw.fork(),
      log: silentLog,
      activeMax: 2,
      idleMs: 300,
      sweepMs: 100,
    })
    return { number, line: own, entities }
  }

  /** Several commands of one client, most of them for one entity, without waiting. */
  #burst(): void {
    const draw = this.#draw
    const client = draw.below(CLIENTS)
    const runtime = draw.pick(this.#runtimes)
    let id = draw.pick(IDS)
    for (let n = draw.below(6); n >= 0; n--) {
      if (draw.below(4) === 0) id = draw.pick(IDS)
      const tag = `t${this.#issued.length}`
      const issued: Issued = {
        tag,
        id,
        client,
        command: this.#anyCommand(tag),
        asks: [],
        ...(draw.below(3) > 0 && { requestId: `r${this.#issued.length}` }),
        ...(draw.below(12) === 0 && { expected: draw.below(40) }),
      }
      this.#issued.push(issued)
      this.#ask(runtime, issued)
      if (issued.requestId !== undefined && draw.below(6) === 0) this.#askSeveralTimes(issued)
    }
  }

  #askSeveralTimes(issued: Issued): void {
    for (let n = this.#draw.below(4); n >= 0; n--)
      this.#ask(this.#draw.pick(this.#runtimes), issued)
  }

  #repeat(): void {
    const named = this.#issued.filter(({ requestId }) => requestId !== undefined)
    if (named.length > 0) this.#askSeveralTimes(this.#draw.pick(named.slice(-12)))
  }

  /** The request id of one command for another. */
  #misuse(): void {
    const draw = this.#draw
    const named = this.#issued.filter(({ requestId }) => requestId !== undefined)
    if (named.length === 0) return
    const { requestId } = draw.pick(named.slice(-6))
    const tag = `t${this.#issued.length}`
    const issued: Issued = {
      tag,
      id: draw.pick(IDS),
      client: draw.below(CLIENTS),
      command: this.#anyCommand(tag),
      requestId: requestId!,
      asks: [],
    }
    this.#issued.push(issued)
    this.#ask(draw.pick(this.#runtimes), issued)
  }

  #passivate(): void {
    const { entities } = this.#draw.pick(this.#runtimes)
    void entities.passivate({ type: 'vault', id: this.#draw.pick(IDS) })
  }

  #turnWeather(): void {
    const draw = this.#draw
    const bad = (): number => (draw.below(2) === 0 ? 0 : 2 + draw.below(20))
    Object.assign(this.#weather, {
      delayMsMax: draw.pick([0, 2, 20, 100]),
      refusedOneIn: bad(),
      openOneIn: bad(),
      unreadOneIn: draw.below(3) === 0 ? 5 + draw.below(20) : 0,
    })
  }

  async #crash(): Promise<void> {
    const n = this.#draw.below(RUNTIMES)
    const old = this.#runtimes[n]!
    await old.line.cut()
    void old.entities.drain({ drainMs: 1, totalMs: 2 })
    this.#runtimes[n] = this.#start()
    this.#count('crashes')
  }

  #anyCommand(tag: string): VaultCommand {
    const draw = this.#draw
    const now = this.#world.clock.now()
    const quantity = 1 + draw.below(12)
    const dice = draw.below(20)
    const late = draw.below(4) === 0 && { happenedAt: now - draw.below(draw.pick([5, 100, 3_000])) }
    if (dice < 6) return { type: 'deliver', tag, quantity, ...late }
    if (dice < 9) return { type: 'sell', tag, quantity, ...late }
    if (dice < 10) return { type: 'count', tag, quantity, ...late }
    if (dice < 15) {
      const patientUntil = draw.below(2) === 0 ? 0 : now + draw.below(400)
      return { type: 'move', tag, quantity, to: draw.pick(IDS), patientUntil }
    }
    if (dice < 17) return { type: 'hold', tag, quantity, until: now + draw.below(300) }
    return { type: draw.pick(['agree', 'look', 'throw', 'trap'] as const), tag }
  }

  #ask({ number, entities }: Runtime, issued: Issued): void {
    const { id, command, requestId, expected, asks } = issued
    const ask: Ask = { runtime: number, step: this.#step++, outcome: { type: 'pending' } }
    asks.push(ask)
    this.#count('asks')
    const options = {
      deadlineMs: this.#draw.pick([20, 500, DEADLINE_MS_MAX]),
      ...(requestId !== undefined && { requestId }),
      ...(expected !== undefined && { expected }),
    }
    void this.#follow(issued, ask, entities.ask(vault, id, command, options))
  }

  async #follow({ tag }: Issued, ask: Ask, answering: Promise<Answer<VaultReply>>): Promise<void> {
    try {
      const answer = await answering
      ask.outcome = { type: 'answered', answer, step: this.#step++ }
      this.#count(answer.replayed ? 'replayed' : 'answered')
    } catch (error) {
      const refusal = refusalOf(error)
      if (refusal === undefined) this.#violations.push(`${tag} met with ${inspect(error)}`)
      const { code, isDefinite } = refusal ?? { code: 'none', isDefinite: false }
      ask.outcome = { type: 'refused', code, isDefinite, step: this.#step++ }
      this.#count(code)
    }
  }

  /** Every deadline has passed by then. */
  async #allAnswered(): Promise<void> {
    await this.#world.advance(DEADLINE_MS_MAX)
    for (const { tag, id, command, asks } of this.#issued)
      for (const { outcome, runtime, step } of asks)
        if (outcome.type === 'pending')
          this.#violations.push(
            `${tag} of vault ${id}, ${command.type}, asked of runtime ${runtime} at ${step}, was never answered`,
          )
  }

  /** Clients want to know what has become of what they may ask again. */
  async #askAgain(): Promise<void> {
    for (let round = 0; round < REPEATS_AT_END; round++) {
      const open = this.#issued.filter(
        ({ requestId, asks }) =>
          requestId !== undefined && asks.every(({ outcome }) => outcome.type !== 'answered'),
      )
      for (const issued of open) this.#ask(this.#draw.pick(this.#runtimes), issued)
      await this.#allAnswered()
      await this.#world.advance(5_000)
    }
  }

  async #judge(): Promise<void> {
    const verdict = new Verdict(await allOf(this.#journal), this.#issued)
    this.#violations.push(...verdict.judge())
    for (const id of IDS) await this.#checkEnd(id, verdict)
    for (const { actor, error } of this.#world.failures)
      this.#violations.push(`${actor} failed: ${String(error)}`)
    for (const { entities } of this.#runtimes) this.#countAll(entities.metrics())
    this.#count('effects', verdict.effects.size)
  }

  /** Everybody who looks at the entity sees what the history comes to, and nothing is left undone. */
  async #checkEnd(id: string, verdict: Verdict): Promise<void> {
    const { entities } = this.#draw.pick(this.#runtimes)
    const { state, version } = await this.#world.until(entities.read(vault, id))
    const expected = JSON.stringify(verdict.stateOf(id))
    if (JSON.stringify(state) !== expected || version !== verdict.versionOf(id))
      this.#violations.push(`vault ${id} reads ${JSON.stringify(state)}, not ${expected}`)
    if (state.holds.length > 0) this.#violations.push(`vault ${id} still holds something`)
    const fresh = this.#start()
    const command = { type: 'look', tag: 'last' } as const
    const { reply } = await this.#world.until(fresh.entities.ask(vault, id, command))
    if (reply.trail !== verdict.stateOf(id).trail)
      this.#violations.push(`vault ${id} shows ${JSON.stringify(reply)}, not ${expected}`)
    await this.#world.until(fresh.entities.drain())
  }

  #count(what: string, times = 1): void {
    this.#tally[what] = (this.#tally[what] ?? 0) + times
  }

  #countAll(metrics: Readonly<Record<string, number>>): void {
    for (const [what, times] of Object.entries(metrics)) this.#count(`runtime ${what}`, times)
  }
}

async function allOf(journal: Journal): Promise<readonly StoredEvent[]> {
  const all: StoredEvent[] = []
  for (;;) {
    const page = await journal.readAll({ after: all.length })
    if (page.length === 0) return all
    all.push(...page)
  }
}
