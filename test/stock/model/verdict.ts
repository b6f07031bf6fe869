/**
 * What must be true of every run: the journal, read from its first position to its last, is what a clerk
 * would have written who took one request after the other, and everybody was told the truth.
 *
 * Nothing is taken from the service but the events it has stored and the answers it has given. What
 * each request should have come to is worked out anew by the books.
 */
import { isDeepStrictEqual } from 'node:util'

import type { StoredAnswer, StoredEvent } from '../../../src/journal/index.ts'
import { Books, potOf, type Fact, type Millionths, type Request } from './books.ts'
import { factOf } from './subject.ts'

/** One sending of a request; the same request may be sent several times. */
export type Sending = {
  /** The highest position anybody had been told when it was sent. */
  readonly known: number
  readonly life: number
  /** When it was sent and answered, counted in sendings and answers. */
  readonly sent: number
  answered: number
  outcome: Outcome
}

export type Outcome =
  | Readonly<{ type: 'pending' }>
  | Readonly<{
      type: 'recorded'
      body: unknown
      version: number
      position: number
      replayed: boolean
    }>
  | Readonly<{ type: 'refused'; code: string; isDefinite: boolean }>

export type Issued = Readonly<{
  requestId: string
  request: Request
  sendings: Sending[]
}>

/** What a request has come to: its pots, and where the batch ends that has it. */
export type Effect = Readonly<{ issued: Issued; batch: number; position: number; version: number }>

export class Verdict {
  readonly books: Books = new Books()
  readonly violations: string[] = []
  readonly effects: Map<string, Effect> = new Map()
  /** After every batch: where it ends, and what the pots of its facts had then. */
  readonly #quantities = new Map<string, { position: number; quantity: Millionths }[]>()
  readonly #issued: readonly Issued[]

  constructor(history: readonly StoredEvent[], issued: readonly Issued[]) {
    this.#issued = issued
    this.#checkPlaces(history)
    for (const events of Map.groupBy(history, ({ batch }) => batch).values())
      this.#checkBatch(events)
    this.#checkRequests()
  }

  checkLedger(answers: ReadonlyMap<string, StoredAnswer | undefined>): void {
    for (const [requestId, answer] of answers) {
      const effect = this.effects.get(requestId)
      if ((answer === undefined) !== (effect === undefined))
        this.#say(
          `${requestId} is ${answer ? '' : 'not '}in the ledger and has ${effect ? 'an' : 'no'} effect`,
        )
      else if (answer !== undefined && effect !== undefined && answer.position !== effect.position)
        this.#say(
          `${requestId} was answered at ${answer.position} and happened at ${effect.position}`,
        )
    }
  }

  #say(what: string): void {
    this.violations.push(what)
  }

  #checkPlaces(history: readonly StoredEvent[]): void {
    const versions = new Map<string, number>()
    for (const [n, { stream, seq, position }] of history.entries()) {
      if (position !== n + 1) this.#say(`position ${position} follows ${n}`)
      const before = versions.get(stream) ?? 0
      if (seq !== before + 1) this.#say(`version ${seq} of ${stream} follows ${before}`)
      versions.set(stream, seq)
    }
  }

  /** A batch holds one request or several, each with all that it comes to where the books stand. */
  #checkBatch(events: readonly StoredEvent[]): void {
    const facts = events.flatMap((stored) => {
      const fact = factOf(stored)
      return fact === undefined ? [] : [{ fact, stored }]
    })
    if (facts.length === 0) return
    const { batch } = events[0]!
    const { position } = events.at(-1)!
    const written = new Map<string, Fact[]>()
    for (const [requestId, own] of Map.groupBy(facts, ({ stored }) => stored.requestId ?? 'none')) {
      const issued = this.#issued.find(
        (each) =>
          each.requestId === requestId &&
          isMeant(
            each,
            own.map(({ fact }) => fact),
          ),
      )
      if (issued === undefined) {
        this.#say(
          `${requestId} at ${position} is nothing that was asked for: ${told(own.map(({ fact }) => fact))}`,
        )
        continue
      }
      const due = this.books.factsOf(issued.request)
      const found = own.map(({ fact }) => fact)
      if (typeof due === 'string') this.#say(`${requestId} at ${position} is ${due}`)
      else if (!isDeepStrictEqual(sorted(found), sorted(due)))
        this.#say(`${requestId} at ${position} has written ${told(found)}, not ${told(due)}`)
      if (this.effects.has(requestId)) this.#say(`${requestId} has taken effect twice`)
      const version = own[0]!.stored.seq
      this.effects.set(requestId, { issued, batch, position, version })
      this.books.write(found)
      for (const fact of found) {
        const pot = potOf(fact.product, fact.location)
        written.set(pot, [...(written.get(pot) ?? []), fact])
      }
    }
    this.#checkOrder(
      facts.map(({ fact }) => fact),
      written,
      position,
    )
    this.#checkConservation(
      facts.map(({ fact }) => fact),
      position,
    )
    this.#remember(written, position)
  }

  /** Within one pot the facts of a batch stand in the order of its requests. */
  #checkOrder(
    facts: readonly Fact[],
    written: ReadonlyMap<string, readonly Fact[]>,
    position: number,
  ): void {
    for (const [pot, stored] of Map.groupBy(facts, (fact) => potOf(fact.product, fact.location)))
      if (!isDeepStrictEqual(stored, written.get(pot)))
        this.#say(`the facts of ${pot} up to ${position} are in another order than their requests`)
  }

  /** What is moved out is moved in, product by product, with nothing in between. */
  #checkConservation(facts: readonly Fact[], position: number): void {
    const moved = facts.filter(({ other }) => other !== undefined)
    for (const [product, ends] of Map.groupBy(moved, (fact) => fact.product)) {
      const left = ends.reduce(
        (sum, { says, quantity }) => sum + (says === 'more' ? quantity : -quantity),
        0n,
      )
      if (left !== 0n) this.#say(`moves of ${product} at ${position} leave ${left}`)
    }
    for (const product of new Set(facts.map((fact) => fact.product)))
      this.#checkBalance(product, position)
  }

  /** Where nobody has counted, what was delivered was sold or is there, wherever it was moved. */
  #checkBalance(product: string, position: number): void {
    const all = this.books.facts.filter((fact) => fact.product === product)
    if (all.some(({ says }) => says === 'is' || says === 'is-settled')) return
    let due = 0n
    for (const { says, quantity, other } of all)
      if (other === undefined) due += says === 'more' ? quantity : -quantity
    let there = 0n
    for (const location of new Set(all.map((fact) => fact.location))) {
      const { quantity, pending } = this.books.standing(product, location)
      there += quantity + pending
    }
    if (there !== due) this.#say(`there are ${there} of ${product} at ${position}, not ${due}`)
  }

  #remember(written: ReadonlyMap<string, readonly Fact[]>, position: number): void {
    for (const [pot, [fact]] of written) {
      const { quantity } = this.books.standing(fact!.product, fact!.location)
      const all = this.#quantities.get(pot) ?? []
      this.#quantities.set(pot, [...all, { position, quantity }])
    }
  }

  #checkRequests(): void {
    for (const issued of this.#issued) {
      const { requestId, sendings } = issued
      const effect = this.effects.get(requestId)
      const isOwn = effect?.issued === issued
      for (const sending of sendings) {
        const { outcome } = sending
        switch (outcome.type) {
          case 'pending':
            this.#say(`${requestId} was never answered`)
            break
          case 'recorded':
            if (!isOwn) this.#say(`${requestId} was acknowledged and has not happened`)
            else this.#checkRecorded(requestId, effect, outcome)
            break
          case 'refused':
            this.#checkRefused(issued, effect, outcome.code, sending)
        }
      }
      if (isOwn && sendings.every(({ outcome: o }) => o.type === 'refused' && o.isDefinite))
        this.#say(`${requestId} was refused each time and has happened`)
      this.#checkSameAnswer(issued)
    }
  }

  #checkRecorded(
    requestId: string,
    effect: Effect,
    { version, position }: Extract<Outcome, { type: 'recorded' }>,
  ): void {
    if (position < effect.position)
      this.#say(`${requestId} was told ${position} and happened at ${effect.position}`)
    if (version !== effect.version)
      this.#say(`${requestId} was told version ${version} and has ${effect.version}`)
  }

  #checkSameAnswer({ requestId, sendings }: Issued): void {
    const bodies = sendings.flatMap(({ outcome }) =>
      outcome.type === 'recorded' ? [JSON.stringify(outcome.body)] : [],
    )
    if (new Set(bodies).size > 1) this.#say(`${requestId} was answered in two ways`)
    const firsts = sendings.filter(
      ({ outcome }) => outcome.type === 'recorded' && !outcome.replayed,
    )
    if (new Set(firsts.map(({ life }) => life)).size > 1)
      this.#say(`${requestId} was granted in two lives`)
  }

  #checkRefused(issued: Issued, effect: Effect | undefined, code: string, sending: Sending): void {
    const { requestId, request } = issued
    const { known } = sending
    if (code === 'insufficient-stock') this.#checkInsufficient(issued, known)
    if (code === 'same-location' && (request.type !== 'move' || request.to !== request.location))
      this.#say(`${requestId} was refused for one location and has two`)
    if (code !== 'request-mismatch') return
    const rivals = this.#issued.filter((other) => other.requestId === requestId && other !== issued)
    if (rivals.length === 0)
      this.#say(`${requestId} is refused for another request of that id, and there is none`)
    // Whoever uses the id for something else at the same moment is heard first.
    const isMisused = rivals.some((rival) => rival.sendings.some((each) => overlap(each, sending)))
    if (effect?.issued === issued && effect.position <= known && !isMisused)
      this.#say(`${requestId} had happened and was refused for another request of that id`)
  }

  /** At some moment since it was sent there was too little, of all that anybody had been told by then. */
  #checkInsufficient({ requestId, request }: Issued, known: number): void {
    if (request.type !== 'move') return this.#say(`${requestId} is no move and was insufficient`)
    const all = this.#quantities.get(potOf(request.product, request.location)) ?? []
    const before = all.findLast(({ position }) => position <= known)?.quantity ?? 0n
    const since = all.filter(({ position }) => position > known)
    if (![before, ...since.map(({ quantity }) => quantity)].some((q) => q < request.quantity))
      this.#say(`${requestId} was refused for too little stock, and there was enough`)
  }
}

/** Whether one was under way while the other was; what is left open may be so still. */
function overlap(one: Sending, other: Sending): boolean {
  const isOpen = one.outcome.type === 'refused' && !one.outcome.isDefinite
  return one.sent < other.answered && (isOpen || other.sent < one.answered)
}

/** Whether the facts can be those of this request, so that two requests of one id are told apart. */
function isMeant({ request }: Issued, facts: readonly Fact[]): boolean {
  const { type, at, location } = request
  const first = facts.find((fact) => fact.location === location && fact.at === at)
  if (first === undefined) return false
  if (type === 'delivery')
    return facts.every(
      ({ product, says, other }) =>
        says === 'more' &&
        other === undefined &&
        request.lines.some((line) => line.product === product),
    )
  return (
    first.product === request.product &&
    first.quantity === request.quantity &&
    first.says === SAYS[type] &&
    (type !== 'move' || first.other === request.to)
  )
}

const SAYS = { sale: 'less', move: 'less', count: 'is', 'stock-take': 'is-settled' } as const

function sorted(facts: readonly Fact[]): readonly Fact[] {
  return facts.toSorted((a, b) => (told([a]) < told([b]) ? -1 : 1))
}

function told(facts: readonly Fact[]): string {
  return facts
    .map(
      ({ product, location, says, quantity, at, other }) =>
        `${potOf(product, location)} ${says} ${quantity} of ${at}${other === undefined ? '' : ` with ${other}`}`,
    )
    .join(', ')
}
