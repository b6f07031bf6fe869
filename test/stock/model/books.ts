/**
 * Stock as a clerk would keep it: a list of facts for each pot, and no memory of any sum.
 *
 * It is the reference the service is judged by, so it shares nothing with it: quantities are whole
 * millionths, and whoever asks for a level has all facts of the pot sorted by when they happened, those
 * of one moment by when they were written down, and goes through them from the first to the last.
 */

export type Millionths = bigint

/** Somebody's request, as it was meant. */
export type Request =
  | Readonly<{ type: 'delivery'; at: number; location: string; lines: readonly Line[] }>
  | Readonly<{ type: 'sale'; at: number; location: string } & Line>
  /** A stock take settles what is pending, too. */
  | Readonly<{ type: 'count' | 'stock-take'; at: number; location: string } & Line>
  | Readonly<{ type: 'move'; at: number; location: string; to: string } & Line>

export type Line = Readonly<{ product: string; quantity: Millionths }>

/** One line in the book of one pot: `more` and `less` by so much, or `is` so much, and nothing pending. */
export type Fact = Readonly<{
  product: string
  location: string
  says: 'more' | 'less' | 'is' | 'is-settled'
  quantity: Millionths
  at: number
  /** The other end, where it is one end of a move. */
  other?: string
}>

export type Standing = Readonly<{
  quantity: Millionths
  pending: Millionths
  lastAt: number | null
}>

export class Books {
  readonly #facts = new Map<string, Fact[]>()

  /** The facts a request comes to as the books stand, in the order of its pots; none if it is refused. */
  factsOf(request: Request): readonly Fact[] | 'insufficient-stock' | 'same-location' {
    const { location, at } = request
    switch (request.type) {
      case 'delivery':
        return summed(request.lines).map((line) => ({ ...line, location, says: 'more', at }))
      case 'sale':
        return [{ ...lineOf(request), location, says: 'less', at }]
      case 'count':
        return [{ ...lineOf(request), location, says: 'is', at }]
      case 'stock-take':
        return [{ ...lineOf(request), location, says: 'is-settled', at }]
      case 'move': {
        const { to, product, quantity } = request
        if (to === location) return 'same-location'
        if (this.standing(product, location).quantity < quantity) return 'insufficient-stock'
        return [
          { product, quantity, location, says: 'less', at, other: to },
          { product, quantity, location: to, says: 'more', at, other: location },
        ]
      }
    }
  }

  write(facts: readonly Fact[]): void {
    for (const fact of facts) {
      const pot = potOf(fact.product, fact.location)
      const all = this.#facts.get(pot)
      if (all === undefined) this.#facts.set(pot, [fact])
      else all.push(fact)
    }
  }

  /** What is there, of what had happened by then and was written down first; of everything, if not said. */
  standing(
    product: string,
    location: string,
    by: number = Infinity,
    first: number = Infinity,
  ): Standing {
    const known = (this.#facts.get(potOf(product, location)) ?? []).slice(0, first)
    const happened = known.filter(({ at }) => at <= by).toSorted((a, b) => a.at - b.at)
    let quantity = 0n
    let pending = 0n
    for (const fact of happened) {
      if (fact.says === 'is-settled') pending = 0n
      if (fact.says === 'is' || fact.says === 'is-settled') quantity = fact.quantity
      else if (fact.says === 'more') quantity += fact.quantity
      else if (fact.quantity <= quantity) quantity -= fact.quantity
      else {
        pending -= fact.quantity - quantity
        quantity = 0n
      }
    }
    return { quantity, pending, lastAt: happened.at(-1)?.at ?? null }
  }

  /** How many facts there are about the pot. */
  version(product: string, location: string): number {
    return this.#facts.get(potOf(product, location))?.length ?? 0
  }

  get facts(): readonly Fact[] {
    return [...this.#facts.values()].flat()
  }
}

export function potOf(product: string, location: string): string {
  return `${product} at ${location}`
}

function lineOf({ product, quantity }: Line): Line {
  return { product, quantity }
}

/** One line for each product, in the order in which they are named first. */
function summed(lines: readonly Line[]): readonly Line[] {
  const sums = new Map<string, Millionths>()
  for (const { product, quantity } of lines) sums.set(product, (sums.get(product) ?? 0n) + quantity)
  return [...sums].map(([product, quantity]) => ({ product, quantity }))
}
