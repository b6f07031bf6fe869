/**
 * How a level came about: the events of one pot, in either order of time, with what they came to.
 *
 * In order of effect an event shows what the pot had come to then, with all that is known. In the order
 * of recording it shows what was believed at that moment, which a late fact changes for what is past.
 */
import type { Change, Entities } from '../entity/index.ts'
import { fault, type Fault } from '../std/index.ts'
import { potKey } from './names.ts'
import { stockPot, type Pot, type PotEvent } from './pot.ts'
import { minus, NOTHING, numberOf, plus, type Quantity } from './quantity.ts'
import { badCursor, STOCK_LIST_DEFAULT, STOCK_LIST_MAX } from './reading.ts'
import type {
  ExplainQuestion,
  Explanation,
  HistoryEntry,
  HistoryQuestion,
  Listed,
  Standing,
} from './stock.ts'
import { isoOf } from './time.ts'

/** Events of a pot whose history is told. */
export const HISTORY_EVENTS_MAX = 100_000

type Fact = Change<PotEvent>

/** An event among others, with the pot before and after it. */
type Step = Readonly<{ fact: Fact; before: Pot; after: Pot; overtook: number }>

export async function historyOf(
  entities: Entities,
  question: HistoryQuestion,
): Promise<Listed<HistoryEntry> | Fault<'bad-cursor' | 'history-too-long'>> {
  const { order, from = -Infinity, to = Infinity, after, limit = STOCK_LIST_DEFAULT } = question
  const cursor = after === undefined ? undefined : cursorOf(after)
  if (after !== undefined && cursor === undefined) return badCursor(after)
  const facts = await factsOf(entities, potKey(question))
  if (facts === undefined) return tooLong()
  const isEffective = order === 'effective'
  const late = lateOnes(facts)
  const steps = (isEffective ? inOrderOfEffect(facts) : inOrderOfRecording(facts)).filter(
    ({ fact }) => {
      const time = isEffective ? fact.event.effectiveAt : fact.stored.at
      return time >= from && time <= to && (cursor === undefined || isBehind(fact, cursor))
    },
  )
  const most = Math.min(Math.max(1, limit), STOCK_LIST_MAX)
  const page = steps.slice(0, most)
  const last = page.at(-1)
  return {
    ok: true,
    items: page.map((step) => entryOf(step, late)),
    ...(steps.length > most && last !== undefined ? { next: nextAfter(last.fact) } : undefined),
    position: facts.at(-1)?.stored.position ?? 0,
  }

  /** In its order: by effect the time comes first, by recording the version says it all. */
  function isBehind({ event: { effectiveAt }, stored: { seq } }: Fact, start: Cursor): boolean {
    if (!isEffective || effectiveAt === start.effectiveAt) return seq > start.seq
    return effectiveAt > start.effectiveAt
  }
}

export async function explain(
  entities: Entities,
  { locationId, productId, from, to }: ExplainQuestion,
): Promise<Explanation | Fault<'history-too-long' | 'no-such-version'>> {
  const facts = await factsOf(entities, potKey({ locationId, productId }), to)
  if (facts === undefined) return tooLong()
  if (from > to || to > facts.length) return noSuchVersion(from, to, facts.length)
  const late = lateOnes(facts)
  const steps = inOrderOfRecording(facts)
  const contributing = steps.slice(from)
  const start = from === 0 ? stockPot.initial('') : steps[from - 1]!.after
  const end = to === 0 ? start : steps[to - 1]!.after
  let variance: Quantity = NOTHING
  for (const step of contributing) variance = plus(variance, varianceOf(step) ?? NOTHING)
  return {
    ok: true,
    locationId,
    productId,
    before: standing(from, start),
    after: standing(to, end),
    events: contributing.map((step, n) => {
      const before = n === 0 ? start : contributing[n - 1]!.after
      return {
        ...entryOf(step, late),
        quantityChange: numberOf(minus(step.after.quantity, before.quantity)),
        pendingChange: numberOf(minus(step.after.pending, before.pending)),
        overtook: step.overtook,
      }
    }),
    lateFacts: contributing.map(({ fact }) => fact.stored.seq).filter((seq) => late.has(seq)),
    variance: numberOf(variance),
  }
}

export function standing(version: number, { quantity, pending }: Pot): Standing {
  return { version, quantity: numberOf(quantity), pendingAdjustment: numberOf(pending) }
}

/** All events up to a version; undefined if they are too many. */
async function factsOf(
  entities: Entities,
  key: string,
  upTo: number = Infinity,
): Promise<readonly Fact[] | undefined> {
  const facts: Fact[] = []
  while (facts.length < upTo) {
    const page = await entities.history(stockPot, key, { after: facts.length })
    if (page.length === 0) break
    facts.push(...page.slice(0, upTo - facts.length))
    if (facts.length > HISTORY_EVENTS_MAX) return undefined
  }
  return facts
}

/** Versions of those that were recorded after something that took effect later. */
function lateOnes(facts: readonly Fact[]): ReadonlySet<number> {
  const late = new Set<number>()
  let top = -Infinity
  for (const { event, stored } of facts) {
    if (event.effectiveAt < top) late.add(stored.seq)
    top = Math.max(top, event.effectiveAt)
  }
  return late
}

function inOrderOfEffect(facts: readonly Fact[]): readonly Step[] {
  let before = stockPot.initial('')
  return facts
    .toSorted((a, b) => a.event.effectiveAt - b.event.effectiveAt)
    .map((fact) => {
      const step = { fact, before, after: stockPot.evolve(before, fact.event), overtook: 0 }
      before = step.after
      return step
    })
}

/** `after` is what all events up to this one came to, `before` what stood where it took effect. */
function inOrderOfRecording(facts: readonly Fact[]): readonly Step[] {
  const line: { event: PotEvent; after: Pot }[] = []
  return facts.map((fact) => {
    const { event } = fact
    const place = line.findLastIndex((one) => one.event.effectiveAt <= event.effectiveAt) + 1
    const before = line[place - 1]?.after ?? stockPot.initial('')
    line.splice(place, 0, { event, after: before })
    for (let n = place; n < line.length; n++) {
      const base = line[n - 1]?.after ?? stockPot.initial('')
      line[n]!.after = stockPot.evolve(base, line[n]!.event)
    }
    return { fact, before, after: line.at(-1)!.after, overtook: line.length - 1 - place }
  })
}

function varianceOf({ fact: { event }, before }: Step): Quantity | undefined {
  return event.type === 'counted' ? minus(event.quantity, before.quantity) : undefined
}

function entryOf(step: Step, late: ReadonlySet<number>): HistoryEntry {
  const { event, stored } = step.fact
  const { actor } = stored
  const variance = varianceOf(step)
  return {
    version: stored.seq,
    position: stored.position,
    batch: stored.batch,
    type: event.type,
    effectiveAt: isoOf(event.effectiveAt),
    recordedAt: isoOf(stored.at),
    requestId: event.requestId,
    ...(actor === undefined ? undefined : { actor }),
    amount: numberOf(event.quantity),
    quantity: numberOf(step.after.quantity),
    pendingAdjustment: numberOf(step.after.pending),
    ...particulars(event),
    ...(variance === undefined ? undefined : { variance: numberOf(variance) }),
    late: late.has(stored.seq),
  }
}

/** What some kinds of events have and others do not. */
export function particulars(
  event: PotEvent,
): Pick<HistoryEntry, 'moveId' | 'counterpart' | 'reason' | 'supplierId' | 'supplierRef'> {
  switch (event.type) {
    case 'delivered':
      return { supplierId: event.supplierId, supplierRef: event.supplierRef }
    case 'moved-out':
      return { moveId: event.moveId, counterpart: event.to, reason: event.reason }
    case 'moved-in':
      return { moveId: event.moveId, counterpart: event.from, reason: event.reason }
    case 'counted':
      return { reason: event.reason }
    case 'sold':
    case 'level-set':
      return {}
  }
}

type Cursor = Readonly<{ effectiveAt: number; seq: number }>

function nextAfter({ event: { effectiveAt }, stored: { seq } }: Fact): string {
  return `${effectiveAt}.${seq}`
}

function cursorOf(text: string): Cursor | undefined {
  const parts = /^(-?\d{1,15})\.(\d{1,15})$/.exec(text)
  return parts === null ? undefined : { effectiveAt: Number(parts[1]), seq: Number(parts[2]) }
}

function tooLong(): Fault<'history-too-long'> {
  return fault(
    'history-too-long',
    `a history of more than ${HISTORY_EVENTS_MAX} events is not told`,
    {
      limit: HISTORY_EVENTS_MAX,
      remedy: 'follow the change feed instead',
    },
  )
}

function noSuchVersion(from: number, to: number, version: number): Fault<'no-such-version'> {
  return fault('no-such-version', 'the pot has no such versions', {
    from,
    to,
    version,
    remedy: 'give two versions from 0 to the one the pot has, the earlier first',
  })
}
