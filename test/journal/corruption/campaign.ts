/** Many corruptions of many journals, and what came of them. */
import { random, type Random } from '../../../src/std/index.ts'
import { makeBase, type Base, type BaseKind } from './base.ts'
import { damage, KINDS, type Damage } from './damage.ts'
import { judge, PARTS, type Judgement, type Parts } from './judge.ts'
import { flushNothing } from './unflushed.ts'

export type CampaignOptions = Readonly<{
  seed: number
  corruptions: number
  /** Corruptions of one journal before the next is made. */
  each: number
  kinds?: readonly string[]
  parts?: Parts
  /** Ends at the first thing that must not be. */
  untilWrong?: boolean
}>

export type Tally = Record<Judgement['outcome'], number> & { kept: number; items: number }

export type Outcome = Readonly<{
  tallies: ReadonlyMap<string, Tally>
  share: number
  wrong: readonly string[]
}>

const BASE_KINDS: readonly BaseKind[] = ['closed', 'killed', 'reopened']
const WRONG_MAX = 20

export function campaign(options: CampaignOptions): Outcome {
  const { seed, corruptions, each, kinds = KINDS, parts = PARTS } = options
  flushNothing()
  const chance = random(seed)
  const tallies = new Map(kinds.map((kind) => [kind, noTally()]))
  const wrong: string[] = []
  let base: Base | undefined
  for (let n = 0; n < corruptions && wrong.length < WRONG_MAX; n++) {
    if (base === undefined || n % each === 0) base = nextBase(chance, n / each)
    const done = damage(base, kinds[n % kinds.length]!, chance)
    const judgement = judge(base, done, parts)
    const { kind } = done
    const tally = tallies.get(kind) ?? noTally()
    tallies.set(kind, tally)
    tally[judgement.outcome] += 1
    tally.kept += judgement.kept
    tally.items += judgement.items
    if (judgement.wrong.length > 0) {
      const where = `base ${base.seed} ${base.kind}, ${kind} ${placeOf(base, done)}`
      wrong.push(`${where}: ${judgement.wrong.slice(0, 3).join('; ')}`)
      if (options.untilWrong === true) break
    }
  }
  return { tallies, share: shareOf([...tallies.values()]), wrong }
}

/** All together. */
export function sumOf(outcomes: readonly Outcome[]): Outcome {
  const tallies = new Map<string, Tally>()
  for (const outcome of outcomes)
    for (const [kind, tally] of outcome.tallies) {
      const sum = tallies.get(kind) ?? noTally()
      tallies.set(kind, sum)
      sum.found += tally.found
      sum.hidden += tally.hidden
      sum.tail += tally.tail
      sum.kept += tally.kept
      sum.items += tally.items
    }
  const wrong = outcomes.flatMap((outcome) => outcome.wrong)
  return { tallies, share: shareOf([...tallies.values()]), wrong }
}

/** One line for each kind of damage. */
export function printed({ tallies, share }: Pick<Outcome, 'tallies' | 'share'>): string {
  const lines = [...tallies].map(([kind, tally]) => {
    const { found, hidden, tail } = tally
    const kept = percent(shareOf([tally]))
    return `  ${kind}: ${found} found, ${hidden} changed nothing, ${tail} at the torn end; kept ${kept}`
  })
  return [`kept ${percent(share)} of all items`, ...lines].join('\n')
}

function nextBase(chance: Random, n: number): Base {
  return makeBase(chance.below(2 ** 32), BASE_KINDS[n % BASE_KINDS.length]!)
}

function noTally(): Tally {
  return { found: 0, hidden: 0, tail: 0, kept: 0, items: 0 }
}

function shareOf(tallies: readonly Tally[]): number {
  const [kept, items] = tallies.reduce(
    ([keptSum, itemSum], tally) => [keptSum + tally.kept, itemSum + tally.items],
    [0, 0],
  )
  return items === 0 ? 1 : kept / items
}

function percent(share: number): string {
  return `${(share * 100).toFixed(2)} %`
}

/** Where the files begin to differ. */
function placeOf(base: Base, { files }: Damage): string {
  const changes = [...base.files].flatMap(([name, image]) => {
    const damaged = files.get(name) ?? Buffer.alloc(0)
    const at = image.findIndex((byte, n) => damaged[n] !== byte)
    return at === -1 ? [] : [`${name} at ${at}`]
  })
  return changes.join(', ')
}
