/**
 * One run of the service on a seed: clients, pots, a journal on a disk, and what goes wrong.
 *
 * Every run has a theme, so that what is rare in a mix of everything is frequent in some run: moves to
 * and fro, in circles and onto themselves, facts that are told late, requests that are repeated, pots
 * that are put away, a power that fails. Each draws its own troubles of disk and journal. At the end the
 * sky clears, the power has failed once more, clients ask again what they were not told, and the
 * history is judged.
 */
import { inspect, isDeepStrictEqual } from 'node:util'

import type { Random } from '../../../src/std/index.ts'
import { DISK_FAULTS, JOURNAL_TROUBLES, world, type World } from '../../../src/testkit/index.ts'
import type { Millionths, Request } from './books.ts'
import { judge } from './judge.ts'
import { LOCATIONS, PRODUCTS, Subject } from './subject.ts'
import type { Issued, Outcome, Sending } from './verdict.ts'

export type Theme = Readonly<{
  /** How often each thing is done, as parts of their sum. */
  deliver: number
  sell: number
  count: number
  move: number
  /** Where a move goes to from the first place: the next one, any, or the same. */
  route: 'there-and-back' | 'circle' | 'any' | 'self'
  repeat: number
  misuse: number
  passivate: number
  crash: number
  /** One fact in so many is told late. */
  lateOneIn: number
}>

const MIX: Theme = {
  deliver: 6,
  sell: 4,
  count: 1,
  move: 10,
  route: 'any',
  repeat: 3,
  misuse: 1,
  passivate: 3,
  crash: 1,
  lateOneIn: 5,
}

export const THEMES: Readonly<Record<string, Theme>> = {
  mix: MIX,
  opposite: { ...MIX, deliver: 2, sell: 1, count: 0, move: 24, route: 'there-and-back' },
  circle: { ...MIX, deliver: 2, sell: 1, count: 0, move: 24, route: 'circle' },
  self: { ...MIX, route: 'self' },
  late: { ...MIX, count: 4, lateOneIn: 2 },
  repeated: { ...MIX, repeat: 14, misuse: 6 },
  unloaded: { ...MIX, passivate: 16 },
  outages: { ...MIX, crash: 6 },
}

export type Run = Readonly<{
  violations: readonly string[]
  /** What has happened, so that one can see that something has. */
  tally: Readonly<Record<string, number>>
}>

const STEPS = 16
const ORDERS = ['any', 'arrival', 'newest'] as const
const NAMES = Object.keys(THEMES)
/** Every deadline has passed by then. */
const REST_MS = 30_000
const DEADLINES = [50, 1_000, 20_000] as const
const ROUNDS_AT_END = 6

export async function play(seed: number): Promise<Run> {
  const earth = world({
    seed,
    order: ORDERS[seed % ORDERS.length]!,
    turnMsMax: Math.floor(seed / ORDERS.length) % 2,
    stepsMax: 1_000_000,
    diskFaults: DISK_FAULTS,
    journalTroubles: JOURNAL_TROUBLES,
  })
  try {
    const run = new Play(earth, THEMES[NAMES[seed % NAMES.length]!]!)
    await run.act()
    return await run.end()
  } finally {
    await earth.stop()
  }
}

export class Play {
  readonly issued: Issued[] = []
  readonly tally: Record<string, number> = {}
  readonly violations: string[] = []
  readonly #world: World
  readonly #theme: Theme
  readonly #draw: Random
  readonly #subject: Subject
  /** The highest position anybody was told. */
  #known = 0
  /** Sendings and answers so far. */
  #moments = 0

  constructor(earth: World, theme: Theme) {
    this.#world = earth
    this.#theme = theme
    this.#draw = earth.random
    this.#subject = new Subject(earth)
  }

  async act(): Promise<void> {
    await this.#subject.start()
    this.#stockUp()
    const { repeat, misuse, passivate, crash } = this.#theme
    const doings: readonly (readonly [number, () => unknown])[] = [
      [16, () => this.#burst()],
      [repeat, () => this.#repeat()],
      [misuse, () => this.#misuse()],
      [passivate, () => this.#passivate()],
      [crash, () => this.#crash()],
    ]
    for (let n = 0; n < STEPS; n++) {
      await weighted(this.#draw, doings)()
      await this.#goOn()
    }
  }

  async end(): Promise<Run> {
    await this.#allAnswered()
    await this.#subject.moveToGoodDisk()
    this.#count('crashes')
    await this.#askAgain()
    this.violations.push(...(await judge(this.#world, this.#subject, this.issued)))
    for (const { actor, error } of this.#world.failures)
      this.violations.push(`${actor} failed: ${inspect(error)}`)
    for (const [what, times] of Object.entries(this.#subject.tally)) this.#count(what, times)
    return { violations: this.violations, tally: this.tally }
  }

  /** Some turns, so that what comes next may come between any two. */
  async #goOn(): Promise<void> {
    const draw = this.#draw
    const dice = draw.below(8)
    if (dice === 0) return this.#world.advance(draw.below(400))
    if (dice < 4) return this.#world.advance(draw.below(3))
    await turns(this.#world, draw.below(30))
  }

  #stockUp(): void {
    const at = this.#world.clock.now()
    for (const location of LOCATIONS.slice(0, 2)) {
      const lines = PRODUCTS.map((product) => ({
        product,
        quantity: this.#quantity() + 5_000_000n,
      }))
      this.#issue({ type: 'delivery', at, location, lines })
    }
  }

  /** Several requests without waiting for any. */
  #burst(): void {
    for (let n = this.#draw.below(4); n >= 0; n--) this.#issue(this.#anyRequest())
  }

  #issue(request: Request, requestId = `r-${this.issued.length}`): void {
    const before = this.issued.find(
      (each) => each.requestId === requestId && isDeepStrictEqual(each.request, request),
    )
    const issued: Issued = before ?? { requestId, request, sendings: [] }
    if (before === undefined) this.issued.push(issued)
    this.#send(issued)
    if (this.#draw.below(8) === 0) this.#send(issued)
  }

  #anyRequest(): Request {
    const draw = this.#draw
    const { deliver, sell, count, move, route, lateOneIn } = this.#theme
    const now = this.#world.clock.now()
    const at = draw.below(lateOneIn) === 0 ? now - draw.below(draw.pick([5, 200, 5_000])) : now
    const product = draw.pick(PRODUCTS)
    const [location, to] = this.#places(route)
    const quantity = this.#quantity()
    const line = { at, location, product, quantity }
    const kinds: readonly (readonly [number, () => Request])[] = [
      [deliver, () => ({ type: 'delivery', at, location, lines: this.#lines() })],
      [sell, () => ({ type: 'sale', ...line })],
      [count, () => ({ type: draw.pick(['count', 'stock-take'] as const), ...line })],
      [move, () => ({ type: 'move', ...line, to })],
    ]
    return weighted(draw, kinds)()
  }

  #places(route: Theme['route']): readonly [string, string] {
    const draw = this.#draw
    const n = draw.below(route === 'there-and-back' ? 2 : LOCATIONS.length)
    const from = LOCATIONS[n]!
    switch (route) {
      case 'there-and-back':
        return [from, LOCATIONS[1 - n]!]
      case 'circle':
        return [from, LOCATIONS[(n + 1) % LOCATIONS.length]!]
      case 'any':
        return [from, draw.pick(LOCATIONS)]
      case 'self':
        return [from, draw.below(2) === 0 ? from : draw.pick(LOCATIONS)]
    }
  }

  #lines(): readonly Readonly<{ product: string; quantity: Millionths }>[] {
    const draw = this.#draw
    return Array.from({ length: 1 + draw.below(3) }, () => ({
      product: draw.pick(PRODUCTS),
      quantity: this.#quantity(),
    }))
  }

  /** Mostly a few pieces, sometimes a weight with all its decimals. */
  #quantity(): Millionths {
    const draw = this.#draw
    if (draw.below(3) > 0) return BigInt(1 + draw.below(6)) * 1_000_000n
    return BigInt(1 + draw.below(5_999_999))
  }

  #repeat(): void {
    const issued = this.#draw.pick(this.issued.slice(-12))
    for (let n = this.#draw.below(3); n >= 0; n--) this.#send(issued)
  }

  /** The id of one request for another: mostly the same move to another place. */
  #misuse(): void {
    const draw = this.#draw
    const { requestId, request } = draw.pick(this.issued.slice(-6))
    const other =
      request.type === 'move' && draw.below(3) > 0
        ? { ...request, to: draw.pick(LOCATIONS) }
        : this.#anyRequest()
    this.#issue(other, requestId)
  }

  #passivate(): void {
    this.#subject.passivate(this.#draw.pick(PRODUCTS), this.#draw.pick(LOCATIONS))
  }

  async #crash(): Promise<void> {
    this.#count('crashes')
    await this.#subject.restart()
  }

  #send(issued: Issued): void {
    const { life } = this.#subject
    const sent = this.#moments++
    const pending = { answered: Infinity, outcome: { type: 'pending' } } as const
    const sending: Sending = { known: this.#known, life, sent, ...pending }
    issued.sendings.push(sending)
    this.#count(`asked ${issued.request.type}`)
    void this.#follow(issued, sending)
  }

  async #follow({ requestId, request }: Issued, sending: Sending): Promise<void> {
    const deadlineMs = this.#draw.pick(DEADLINES)
    const outcome = await this.#subject
      .send(requestId, request, deadlineMs)
      .catch((error: unknown): Outcome => {
        this.violations.push(`${requestId} met with ${inspect(error)}`)
        return { type: 'refused', code: 'none', isDefinite: false }
      })
    sending.outcome = outcome
    sending.answered = this.#moments++
    if (outcome.type === 'recorded') this.#known = Math.max(this.#known, outcome.position)
    if (outcome.type === 'recorded') this.#count(outcome.replayed ? 'replayed' : 'recorded')
    if (outcome.type === 'refused') this.#count(outcome.code)
  }

  /** Everybody wants to know what has become of what was asked, also those who have been told. */
  async #askAgain(): Promise<void> {
    for (let round = 0; round < ROUNDS_AT_END; round++) {
      const open = this.issued.filter(
        ({ sendings }) => round === 0 || !isSettled(sendings.at(-1)!.outcome),
      )
      if (open.length === 0) return
      if (!this.#subject.isWell) await this.#crash()
      for (const issued of open) this.#send(issued)
      await this.#allAnswered()
    }
  }

  /** Every deadline has passed by then; who is not answered is found out by the verdict. */
  async #allAnswered(): Promise<void> {
    const isAnswered = (): boolean =>
      this.issued.every(({ sendings }) => sendings.every(({ answered }) => answered < Infinity))
    await this.#world.until(isAnswered, { withinMs: REST_MS }).catch(() => undefined)
  }

  #count(what: string, times = 1): void {
    this.tally[what] = (this.tally[what] ?? 0) + times
  }
}

/** Whether the answer will not be another one in good weather. */
function isSettled(outcome: Outcome): boolean {
  return outcome.type === 'recorded' || (outcome.type === 'refused' && SETTLED.has(outcome.code))
}

const SETTLED: ReadonlySet<string> = new Set([
  'insufficient-stock',
  'same-location',
  'request-mismatch',
])

/** Lets the world take so many turns, or as many as there are to take soon. */
export async function turns(earth: World, count: number, withinMs = 200): Promise<void> {
  const last = earth.steps + count
  await earth.until(() => earth.steps >= last, { withinMs }).catch(() => undefined)
}

function weighted<T>(draw: Random, parts: readonly (readonly [number, T])[]): T {
  let dice = draw.below(parts.reduce((sum, [weight]) => sum + weight, 0))
  for (const [weight, what] of parts) if ((dice -= weight) < 0) return what
  throw new Error('the parts have no sum')
}
