/**
 * Reads from history: an entity as it was, along either axis of time, without waking it.
 *
 * `asOf` asks when things took effect, `asAt` when they became known; the two and `version` combine.
 * Where a definition has no time of effect, what was recorded took effect then. Recorded times are
 * those of a clock that may be set back: what was known at a time is everything up to the first event
 * recorded after it, so that it always is a beginning of the stream.
 */
import type { Journal } from '../../journal/index.ts'
import type { Moment, Reading } from '../entities.ts'
import { streamOf, type Folding } from './codec.ts'
import { eachStored, load } from './ladder.ts'

export async function read<State, Event>(
  journal: Journal,
  definition: Folding<State, Event>,
  id: string,
  { version = Infinity, asOf = Infinity, asAt = Infinity }: Moment = {},
): Promise<Reading<State>> {
  const known = definition.effectiveAt === undefined ? Math.min(asAt, asOf) : asAt
  const upTo =
    known === Infinity
      ? version
      : await versionAt(journal, streamOf({ type: definition.type, id }), known, version)
  const { fold, replayed, rungSeq } = await load(journal, definition, id, { upTo, asOf })
  return { state: fold.state, version: rungSeq + replayed }
}

/** How many events a stream had at that time, as far as `upTo`. */
async function versionAt(
  journal: Journal,
  stream: string,
  time: number,
  upTo: number,
): Promise<number> {
  let version = 0
  await eachStored(journal, stream, { after: 0, upTo }, ({ seq, at }) => {
    if (at > time) return false
    version = seq
    return true
  })
  return version
}
