/**
 * A saved history against today's code.
 *
 * Save what `journal.readStream` gave, as JSON, before a definition is changed; replay it afterwards in a
 * test. Every event must still be readable, and every way to the state must lead to the same one: all
 * events at once, one after the other as in life, and from a snapshot after any of them.
 */
import type { EntityDefinition, EntityKey } from '../entity/index.ts'
import { decodeEvent, keyOf, type Decoding, type Folding } from '../entity/internal/codec.ts'
import { Fold, type Entry } from '../entity/internal/fold.ts'
import { planSnapshot } from '../entity/internal/ladder.ts'
import type { Snapshot, StoredEvent } from '../journal/index.ts'
import { Accident, fault } from '../std/index.ts'
import { differences, listed } from './compare.ts'
import { deepFreeze } from './freeze.ts'
import { ExpectationFailure } from './inbox.ts'
import { show } from './show.ts'

export type Replayed<State> = Readonly<{
  id: string
  state: State
  version: number
  /** From how many snapshots it came out the same. */
  snapshots: number
}>

/** Snapshots one history is tried from; of a longer one every second, every third … */
const SNAPSHOTS_TRIED = 1_000

/** The entities of a history, each with its state; throws at the first thing that is wrong. */
export function replay<State, Command, Event extends { type: string }, Reply>(
  definition: EntityDefinition<State, Command, Event, Reply>,
  history: readonly StoredEvent[],
): readonly Replayed<State>[] {
  const byStream = Map.groupBy(history, ({ stream }) => stream)
  return [...byStream].map(([stream, events]) => replayOne(definition, stream, events))
}

function replayOne<State, Event extends { type: string }>(
  definition: Folding<State, Event>,
  stream: string,
  events: readonly StoredEvent[],
): Replayed<State> {
  const { type } = definition
  const { id } = ownerOf(type, stream, events)
  const entries = events.map((stored) => entryOf(definition, stored))
  const whole = foldOfAll(definition, id, undefined, entries)
  const earliest = earliestFrom(entries)
  const every = Math.ceil(entries.length / SNAPSHOTS_TRIED)
  let snapshots = 0
  let live = new Fold(definition, id)
  for (const [n, { event, seq, at }] of entries.entries()) {
    if (live.apply(event, seq, at) === 'beyond')
      live = foldOfAll(definition, id, undefined, entries.slice(0, seq))
    deepFreeze(live.state)
    if (seq % every !== 0) continue
    const isGood = definition.effectiveAt === undefined || earliest[n + 1]! >= live.topAt
    const [rung] = planSnapshot([], live, {}, 1)
    if (!isGood || rung === undefined || 'dropped' in rung) continue
    const { state } = foldOfAll(definition, id, rung, entries.slice(seq))
    same(stream, `from a snapshot after event ${seq}`, state, whole.state)
    snapshots += 1
  }
  same(stream, 'one after the other', live.state, whole.state)
  return { id, state: whole.state, version: whole.version, snapshots }
}

/** Whose history it is, if it is one of this type and whole. */
function ownerOf(type: string, stream: string, events: readonly StoredEvent[]): EntityKey {
  const key = keyOf(stream)
  if (key?.type !== type)
    throw badHistory(`${stream} is not the history of a ${type}`, stream, 'replay it with its own')
  for (const [n, { seq }] of events.entries())
    if (seq !== n + 1)
      throw badHistory(
        `event ${n + 1} of ${stream} is missing, or not in its place`,
        stream,
        'save all of a stream, in its order',
      )
  return key
}

function entryOf<Event>(definition: Decoding<Event>, stored: StoredEvent): Entry<Event> {
  const { seq, at, effectiveAt = at } = stored
  return { event: deepFreeze(decodeEvent(definition, stored)), seq, at: effectiveAt }
}

function foldOfAll<State, Event>(
  definition: Folding<State, Event>,
  id: string,
  rung: Snapshot | undefined,
  entries: readonly Entry<Event>[],
): Fold<State, Event> {
  const fold = new Fold(definition, id, rung)
  const isOrdered = definition.effectiveAt === undefined
  const inOrder = isOrdered ? entries : entries.toSorted((a, b) => a.at - b.at || a.seq - b.seq)
  fold.resume(inOrder, fold.version + entries.length)
  return fold
}

/** The earliest time of effect from each place on. */
function earliestFrom(entries: readonly Entry<unknown>[]): readonly number[] {
  const earliest = Array<number>(entries.length + 1).fill(Infinity)
  for (let n = entries.length - 1; n >= 0; n--)
    earliest[n] = Math.min(entries[n]!.at, earliest[n + 1]!)
  return earliest
}

function same(stream: string, way: string, actual: unknown, expected: unknown): void {
  const found = differences(actual, expected)
  if (found.length === 0) return
  throw new ExpectationFailure(
    fault('replay-differs', `${stream} comes to another state ${way}:\n${listed(found)}`, {
      stream,
      differences: found,
      remedy: 'let evolve depend on nothing but its arguments, and keep states that JSON keeps',
    }),
    { actual: show(actual), expected: show(expected) },
  )
}

function badHistory(message: string, stream: string, remedy: string): Accident<'bad-history'> {
  return new Accident(fault('bad-history', message, { stream, remedy }))
}
