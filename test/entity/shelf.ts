/**
 * A journal with one entity in it, filled by hand: what the runtime does to it, one step at a time and
 * without the runtime.
 */
import assert from 'node:assert/strict'

import { encodeEvent, streamOf } from '../../src/entity/internal/codec.ts'
import type { Fold } from '../../src/entity/internal/fold.ts'
import { planSnapshot, rungsAfter, type Rung } from '../../src/entity/internal/ladder.ts'
import { memoryJournal, type Journal, type StoredEvent } from '../../src/journal/index.ts'
import { pot, type Pot, type PotDefinition, type PotEvent } from './pot.ts'

export interface Shelf {
  readonly journal: Journal
  readonly stream: string
  /** Appends events as they are recorded, without folding them. */
  append(events: readonly PotEvent[], recordedAt?: number): Promise<void>
  /** Makes a rung of the fold as it stands; the policy decides which others stay. */
  snapshot(fold: Fold<Pot, PotEvent>): Promise<void>
  stored(): Promise<readonly StoredEvent[]>
}

export async function shelf(definition: PotDefinition = pot, id = 'a'): Promise<Shelf> {
  const journal = await memoryJournal()
  const stream = streamOf({ type: definition.type, id })
  let rungs: readonly Rung[] = []
  return {
    journal,
    stream,
    async append(events, recordedAt) {
      const recorded = events.map((event) =>
        encodeEvent(definition, event, { at: recordedAt ?? event.happenedAt }),
      )
      await committed(journal, { streams: [{ stream, expected: 'any', events: recorded }] })
    },
    async snapshot(fold) {
      const snapshots = planSnapshot(rungs, fold, definition.snapshots, 1)
      await committed(journal, { snapshots })
      rungs = rungsAfter(rungs, snapshots)
      fold.rungSeq = fold.version
    },
    stored: () => journal.readStream(stream, { limit: 10_000 }),
  }
}

async function committed(journal: Journal, batch: Parameters<Journal['commit']>[0]): Promise<void> {
  const { type } = await journal.commit(batch)
  assert.equal(type, 'committed')
}

export function delivered(quantity: number, happenedAt: number): PotEvent {
  return { type: 'delivered', quantity, happenedAt }
}

export function sold(quantity: number, happenedAt: number): PotEvent {
  return { type: 'sold', quantity, happenedAt }
}

export function counted(quantity: number, happenedAt: number): PotEvent {
  return { type: 'counted', quantity, happenedAt }
}

export function movedIn(quantity: number, happenedAt: number): PotEvent {
  return { type: 'moved-in', quantity, happenedAt, from: 'b' }
}

/** A journal that does some things otherwise. */
export function overriding(journal: Journal, otherwise: Partial<Journal>): Journal {
  return new Proxy(journal, {
    get(target, name) {
      const [own, theirs] = [Reflect.get(otherwise, name), Reflect.get(target, name)] as unknown[]
      if (own !== undefined) return own
      return typeof theirs === 'function' ? theirs.bind(target) : theirs
    },
  })
}
