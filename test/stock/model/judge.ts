/**
 * The end of a run, looked at from all sides: the history against the books, the ledger against the
 * history, and every pot as it lives, as its snapshots remember it, as it is folded from nothing, as the
 * view shows it and as it was at some moment of the past.
 */
import type { Journal, StoredAnswer, StoredEvent } from '../../../src/journal/index.ts'
import { isoOf } from '../../../src/stock/index.ts'
import type { World } from '../../../src/testkit/index.ts'
import type { Standing } from './books.ts'
import { decimal, LOCATIONS, millionths, PRODUCTS, type Subject } from './subject.ts'
import { Verdict, type Issued } from './verdict.ts'

/** What is wrong; nothing, if all is well. The runs of the world are over by then. */
export async function judge(
  earth: World,
  subject: Subject,
  issued: readonly Issued[],
): Promise<readonly string[]> {
  const history = await earth.until(allOf(subject.journal))
  const verdict = new Verdict(history, issued)
  verdict.checkLedger(await earth.until(ledgerOf(subject.journal, issued)))
  const found = [...verdict.violations]
  for (const product of PRODUCTS)
    for (const location of LOCATIONS) {
      const pot = new PotCheck(earth, subject, verdict, product, location)
      await pot.check(history)
      found.push(...pot.violations)
    }
  return found
}

class PotCheck {
  readonly violations: string[] = []
  readonly #world: World
  readonly #subject: Subject
  readonly #verdict: Verdict
  readonly #product: string
  readonly #location: string
  readonly #due: Standing

  constructor(earth: World, subject: Subject, verdict: Verdict, product: string, location: string) {
    this.#world = earth
    this.#subject = subject
    this.#verdict = verdict
    this.#product = product
    this.#location = location
    this.#due = verdict.books.standing(product, location)
  }

  async check(history: readonly StoredEvent[]): Promise<void> {
    const stream = `stock-pot/${this.#product}|${this.#location}`
    const times = history.filter((event) => event.stream === stream).map(({ at }) => at)
    await this.#checkView()
    await this.#checkLive('live')
    await this.#checkPast(times)
    await this.#checkRungs(stream)
    await this.#world.until(this.#subject.stock.passivate(`${this.#product}|${this.#location}`))
    await this.#checkLive('woken')
  }

  /** The view says what the books say, up to the last position; and nobody was woken for it. */
  async #checkView(): Promise<void> {
    const seen = await this.#world.until(this.#subject.journal.position())
    const { books } = this.#verdict
    await this.#checkLevel('the view', { seen }, this.#due)
    const [product, location] = [this.#product, this.#location]
    if (this.#due.quantity < 0n) this.#say('is below nothing')
    const pot = await this.#world.until(this.#subject.stock.pot(`${product}|${location}`))
    const version = books.version(product, location)
    if (pot.ok && pot.pot.version !== version && pot.pot.phase !== 'activating')
      this.#say(`is at version ${pot.pot.version}, not ${version}`)
  }

  /** A move of more than there can be is refused with what there is, by the pot itself. */
  async #checkLive(as: string): Promise<void> {
    const tooMuch = millionths('999999999')
    const result = await this.#world.until(
      this.#subject.stock.move(
        {
          requestId: `too-much-${as}-${this.#product}-${this.#location}`,
          productId: this.#product,
          sourceLocationId: this.#location,
          destinationLocationId: LOCATIONS.find((id) => id !== this.#location)!,
          quantity: decimal(tooMuch),
          reason: 'replenishment',
          movedAt: this.#world.clock.now(),
        },
        { actor: 'judge' },
      ),
    )
    if (result.ok || result.code !== 'insufficient-stock')
      return this.#say(`${as} answers ${JSON.stringify(result)}`)
    const quantity = millionths(String(result.detail['quantity']))
    if (quantity !== this.#due.quantity)
      this.#say(`${as} has ${quantity}, not ${this.#due.quantity}`)
  }

  /** Folded from nothing, as of the times at which something was recorded. */
  async #checkPast(times: readonly number[]): Promise<void> {
    const { books } = this.#verdict
    for (const asOf of [times[0], times[times.length >> 1]]) {
      if (asOf === undefined) continue
      const due = books.standing(this.#product, this.#location, asOf)
      await this.#checkLevel(`as of ${asOf} it`, { asOf }, due)
    }
    await this.#checkLevel('folded anew it', { asOf: this.#world.clock.now() + 600_000 }, this.#due)
  }

  /** Every snapshot is what the events it covers come to. */
  async #checkRungs(stream: string): Promise<void> {
    const { books } = this.#verdict
    for (const fold of this.#subject.folds)
      for (const { seq, state } of await this.#world.until(
        this.#subject.journal.snapshots(stream, fold),
      )) {
        const { quantity, pending, lastAt } = books.standing(
          this.#product,
          this.#location,
          Infinity,
          seq,
        )
        const found = JSON.parse(state) as Record<string, unknown>
        const rung = [found['quantity'], found['pending'], found['lastUpdated']]
        const due = [decimal(quantity), decimal(pending), lastAt]
        if (String(rung) !== String(due))
          this.#say(`the rung at ${seq} has ${String(rung)}, not ${String(due)}`)
      }
  }

  async #checkLevel(
    who: string,
    moment: Readonly<{ seen?: number; asOf?: number }>,
    due: Standing,
  ): Promise<void> {
    const question = { productId: this.#product, locationId: this.#location, ...moment }
    const level = await this.#world.until(
      this.#subject.stock.level({ ...question, includeChildren: false }),
    )
    if (!level.ok) return this.#say(`${who} answers ${JSON.stringify(level)}`)
    const { quantity, pendingAdjustment = 0, lastUpdated } = level.body
    const lastAt = due.lastAt === null ? undefined : isoOf(due.lastAt)
    const expected = [Number(decimal(due.quantity)), Number(decimal(due.pending)), lastAt]
    const found = [quantity, pendingAdjustment, lastUpdated]
    if (String(found) !== String(expected))
      this.#say(`${who} shows ${String(found)}, not ${String(expected)}`)
  }

  #say(what: string): void {
    this.violations.push(`${this.#product} at ${this.#location}: ${what}`)
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

async function ledgerOf(
  journal: Journal,
  issued: readonly Issued[],
): Promise<ReadonlyMap<string, StoredAnswer | undefined>> {
  const answers = new Map<string, StoredAnswer | undefined>()
  for (const { requestId } of issued) answers.set(requestId, await journal.lookup(requestId))
  return answers
}
