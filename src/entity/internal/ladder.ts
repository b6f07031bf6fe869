/**
 * The snapshots of an entity as a ladder: its rungs save replaying, and never change what comes out.
 *
 * A rung holds the state after the first `seq` events. It may be stood on if every later event took
 * effect after everything that is in it; a late event thereby disqualifies exactly the rungs it makes
 * wrong, and nobody has to delete them for that. Rungs are tried from the newest down, then history is
 * folded from zero. A rung that cannot be read is as good as none.
 */
import { PAGE_BYTES_MIN, READ_LIMIT_DEFAULT } from '../../journal/index.ts'
import type { Journal, Snapshot, SnapshotWrite, StoredEvent } from '../../journal/index.ts'
import { Accident, fault } from '../../std/index.ts'
import type { SnapshotPolicy } from '../entity.ts'
import {
  decodeEvent,
  foldOf,
  JSON_DATA,
  lastingJson,
  streamOf,
  type Decoding,
  type Folding,
} from './codec.ts'
import { Fold, type Entry } from './fold.ts'

/** After how many events a snapshot is taken, unless the definition says otherwise. */
export const SNAPSHOT_EVERY_DEFAULT = 100
/** How many are kept, unless the definition says otherwise. */
export const SNAPSHOTS_KEPT_DEFAULT = 3
/** Each further snapshot that is kept lets the oldest reach back so many times as far. */
const REACH = 8

/** A snapshot without its state. */
export type Rung = Pick<Snapshot, 'seq' | 'topAt' | 'topSeq'>

export type Loaded<State, Event> = Readonly<{
  fold: Fold<State, Event>
  /** Events that were folded for it. */
  replayed: number
  /** The rung it stands on, 0 for none. */
  rungSeq: number
  /** The position of the last event that was read, 0 for none. */
  position: number
  /** All there are, the newest first: what `planSnapshot` wants to know. */
  rungs: readonly Rung[]
  /** Snapshots that could not be read. */
  damaged: number
}>

/** What of a history is to be folded. */
export type Extent = Readonly<{
  /** So many events of the stream; all unless given. */
  upTo?: number
  /** Of these, what took effect by then; all unless given. The fold then is for looking at only. */
  asOf?: number
}>

/** Both steps of coming back: the rungs there are, and what happened since the best of them. */
export async function load<State, Event>(
  journal: Journal,
  definition: Folding<State, Event>,
  id: string,
  extent?: Extent,
): Promise<Loaded<State, Event>> {
  return replay(journal, definition, id, await rungsOf(journal, definition, id), extent)
}

/** What today's fold may stand on, the newest first; nothing where the journal cannot give it out. */
export async function rungsOf<State, Event>(
  journal: Journal,
  definition: Folding<State, Event>,
  id: string,
): Promise<readonly Snapshot[]> {
  try {
    return await journal.snapshots(streamOf({ type: definition.type, id }), foldOf(definition))
  } catch (error) {
    if (error instanceof Accident && error.code === 'damaged') return []
    throw error
  }
}

/** Folds what comes after the best of the rungs, and everything where none will do. */
export async function replay<State, Event>(
  journal: Journal,
  definition: Folding<State, Event>,
  id: string,
  rungs: readonly Snapshot[],
  { upTo = Infinity, asOf = Infinity }: Extent = {},
): Promise<Loaded<State, Event>> {
  const stream = streamOf({ type: definition.type, id })
  let damaged = 0
  for (const rung of rungs) {
    if (rung.seq > upTo || rung.topAt > asOf) continue
    const fold = foldFrom(definition, id, rung)
    const caught = fold && (await catchUp(journal, stream, fold, { upTo, asOf }))
    if (fold === undefined) damaged += 1
    else if (caught !== undefined) return { fold, ...caught, rungSeq: rung.seq, rungs, damaged }
  }
  const fold = new Fold(definition, id)
  const caught = (await catchUp(journal, stream, fold, { upTo, asOf }))!
  return { fold, ...caught, rungSeq: 0, rungs, damaged }
}

/** Hands out the events after `after` up to `upTo`, page by page, until the visitor has had enough. */
export async function eachStored(
  journal: Journal,
  stream: string,
  { after, upTo }: Readonly<{ after: number; upTo: number }>,
  visit: (stored: StoredEvent) => boolean,
): Promise<void> {
  for (let seq = after; seq < upTo;) {
    const limit = Math.min(READ_LIMIT_DEFAULT, upTo - seq)
    const page = await journal.readStream(stream, { after: seq, limit })
    let chars = 0
    for (const stored of page) {
      if (!visit(stored)) return
      chars += stored.data.length
    }
    // A character is 3 bytes at most.
    if (page.length === 0 || (page.length < limit && chars * 3 < PAGE_BYTES_MIN)) return
    seq += page.length
  }
}

/**
 * Folds what comes after a fold. Undefined, and the fold is to be thrown away, if it
 * covers an event that is not there, or something after it took effect before what is in it. What late
 * events may reorder is in memory as a whole while this runs.
 */
async function catchUp<State, Event>(
  journal: Journal,
  stream: string,
  fold: Fold<State, Event>,
  { upTo, asOf }: Required<Extent>,
): Promise<Pick<Loaded<State, Event>, 'replayed' | 'position'> | undefined> {
  const { definition, topAt, version: rungSeq } = fold
  const late = definition.effectiveAt !== undefined
  const tail: Entry<Event>[] = []
  let last = 0
  let position = 0
  let valid = true
  // The last event that is covered is read too: it tells that there is such a history.
  await eachStored(journal, stream, { after: Math.max(0, rungSeq - 1), upTo }, (stored) => {
    last = stored.seq
    position = stored.position
    if (last === rungSeq) return true
    const entry = entryOf(definition, stored)
    if (!late) fold.apply(entry.event, entry.seq, entry.at)
    else if (entry.at < topAt) valid = false
    else if (entry.at <= asOf) tail.push(entry)
    return valid
  })
  if (!valid || last < rungSeq) return undefined
  if (late) fold.resume(tail.toSorted(inOrderOfEffect), last)
  return { replayed: late ? tail.length : last - rungSeq, position }
}

/** The state that a snapshot holds, unless it is damaged. */
function foldFrom<State, Event>(
  definition: Folding<State, Event>,
  id: string,
  rung: Snapshot,
): Fold<State, Event> | undefined {
  try {
    return new Fold(definition, id, rung)
  } catch (error) {
    if (error instanceof SyntaxError) return undefined
    throw error
  }
}

function entryOf<Event>(definition: Decoding<Event>, stored: StoredEvent): Entry<Event> {
  const { seq, at, effectiveAt = at } = stored
  return { event: decodeEvent(definition, stored), seq, at: effectiveAt }
}

/** The order of the stream decides among equals. */
function inOrderOfEffect(a: Entry<unknown>, b: Entry<unknown>): number {
  return a.at - b.at || a.seq - b.seq
}

/**
 * What to write so that there is a rung where the fold stands, and at most as many as the policy keeps.
 * Nothing if it would cover fewer than `least` events more than the newest there is. Throws
 * `bad-state` if the state would not come back as it is.
 */
export function planSnapshot<State, Event>(
  rungs: readonly Rung[],
  fold: Fold<State, Event>,
  policy: SnapshotPolicy = {},
  least: number = policy.every ?? SNAPSHOT_EVERY_DEFAULT,
): SnapshotWrite[] {
  const { definition, id, version: seq, topAt, topSeq } = fold
  const newest = rungs[0]?.seq ?? 0
  if (policy.every === Infinity || seq <= newest || seq - newest < least) return []
  const stream = streamOf({ type: definition.type, id })
  const print = foldOf(definition)
  const kept = keptRungs(rungs, seq, policy)
  const dropped = rungs.filter((rung) => !kept.includes(rung))
  return [
    { stream, seq, topAt, topSeq, fold: print, state: jsonOf(stream, fold.state) },
    ...dropped.map((rung) => ({ stream, seq: rung.seq, fold: print, dropped: true }) as const),
  ]
}

/** What is there after the writes of a plan: what the next plan is made from. */
export function rungsAfter(
  rungs: readonly Rung[],
  plan: readonly SnapshotWrite[],
): readonly Rung[] {
  const dropped = new Set(plan.flatMap((write) => ('dropped' in write ? [write.seq] : [])))
  const added = plan.flatMap((write) => ('dropped' in write ? [] : [write]))
  return [
    ...added.map(({ seq, topAt, topSeq }) => ({ seq, topAt, topSeq })),
    ...rungs.filter(({ seq }) => !dropped.has(seq)),
  ]
}

/** Which rungs stay: the lowest goes when it is out of reach, else the one that leaves the smallest step. */
function keptRungs(rungs: readonly Rung[], top: number, policy: SnapshotPolicy): readonly Rung[] {
  const { every = SNAPSHOT_EVERY_DEFAULT, keep = SNAPSHOTS_KEPT_DEFAULT } = policy
  const reach = every * REACH ** (keep - 1)
  const seqs = [top, ...rungs.map(({ seq }) => seq)]
  while (seqs.length > keep) {
    const isOutOfReach = top - seqs.at(-1)! > reach
    seqs.splice(isOutOfReach ? -1 : leastOf(seqs, (seq) => top - seq + every), 1)
  }
  return rungs.filter(({ seq }) => seqs.includes(seq))
}

/** The place, neither first nor last unless there are but two, whose neighbours are closest to each other. */
function leastOf(seqs: readonly number[], distance: (seq: number) => number): number {
  let [least, step] = [1, Infinity]
  for (let i = 1; i < seqs.length - 1; i++) {
    const left = distance(seqs[i + 1]!) / distance(seqs[i - 1]!)
    if (left < step) [least, step] = [i, left]
  }
  return least
}

function jsonOf(stream: string, state: unknown): string {
  return lastingJson(state, (lost, cause) => {
    const place = lost === undefined ? undefined : `state${lost}`
    const where = place === undefined ? '' : ` at ${place}`
    return new Accident(
      fault('bad-state', `the state of ${stream} is not JSON${where}`, {
        stream,
        ...(place !== undefined && { place }),
        remedy: `make states of ${JSON_DATA}`,
      }),
      { cause },
    )
  })
}
