/**
 * Everybody who is awake, and who has to go.
 *
 * Who has had nothing to do for long enough goes. Where there are too many, or memory is short, those
 * go first that have been idle for long and are cheap to bring back: of a few drawn at random, the one
 * with the longest idleness for the events it would take to replay it.
 */
import type { Active } from './active.ts'
import type { Core } from './core.ts'
import { askToRetire, mayRetire } from './retiring.ts'
import { eventsSinceRung } from './snapshotting.ts'

/** Entities that are put away at the same time where many have to go: each may leave a snapshot. */
export const LEAVING_MAX = 256
/** Entities that are drawn to choose one from. */
const DRAWN = 16
/** Draws before it is given up: nearly everybody is busy. */
const DRAWS_MAX = 8
/** What bringing back costs besides replaying, in events. */
const WAKING_EVENTS = 16
/** Memory is looked at after so many awakenings, and with every sweep. */
const AWAKENINGS_BETWEEN_LOOKS = 256
/** Share of the entities that go when memory is short, each time it is looked at. */
const SHED_SHARE = 0.125

export class Population {
  readonly #core: Core
  readonly #all: Active[] = []
  /** Those who have been told to go. */
  leaving = 0
  #awakenings = 0
  /** Up to here the last sweep has not looked yet. It goes down: who leaves is replaced by the last. */
  #unswept = 0
  /** How many have to go because memory is short. */
  #toShed = 0

  constructor(core: Core) {
    this.#core = core
  }

  get size(): number {
    return this.#all.length
  }

  get all(): readonly Active[] {
    return this.#all
  }

  add(entity: Active): void {
    entity.place = this.#all.length
    this.#all.push(entity)
    this.relieve()
    if (++this.#awakenings % AWAKENINGS_BETWEEN_LOOKS === 0) this.#shedIfShort()
  }

  /** Sends somebody away where too many stay. */
  relieve(): void {
    if (this.#all.length - this.leaving > this.#core.limits.activeMax) this.#evict()
  }

  remove(entity: Active): void {
    const last = this.#all.pop()
    if (last === undefined || last === entity) return
    this.#all[entity.place] = last
    last.place = entity.place
  }

  /** Sends away who has been idle for too long, and forgets troubles that are over. */
  sweep(): void {
    const { clock, limits, kinds } = this.#core
    const now = clock.monotonic()
    for (const { troubles } of kinds.values())
      for (const [id, { retryMs }] of troubles)
        if (retryMs + limits.sweepMs < now) troubles.delete(id)
    this.#unswept = this.#all.length
    this.#shedIfShort()
    this.#sendOn()
  }

  /** Somebody who was told to go has gone, or stays. */
  left(): void {
    this.leaving--
    this.#sendOn()
  }

  #shedIfShort(): void {
    const { memory, memoryMax } = this.#core.limits
    if (memory === undefined || memory() <= memoryMax) return
    this.#toShed = Math.ceil(this.#all.length * SHED_SHARE)
    this.#sendOn()
  }

  /** Sends away who has to go, a few at a time: the journal is for those who write, too. */
  #sendOn(): void {
    if (this.#unswept === 0 && this.#toShed === 0) return
    const { steady, limits } = this.#core
    const idleSince = steady.now() - limits.idleMs
    while (this.leaving < LEAVING_MAX && this.#unswept > 0) {
      const entity = this.#all[--this.#unswept]
      if (entity !== undefined && entity.usedAt <= idleSince && mayGo(entity)) askToRetire(entity)
    }
    while (this.leaving < LEAVING_MAX && this.#toShed > 0)
      this.#toShed = this.#evict() ? this.#toShed - 1 : 0
  }

  #evict(): boolean {
    for (let draws = 0; draws < DRAWS_MAX; draws++) {
      const coldest = this.#coldest()
      if (coldest === undefined) continue
      this.#core.counts.evictions++
      askToRetire(coldest)
      return true
    }
    return false
  }

  #coldest(): Active | undefined {
    const { random, steady } = this.#core
    const now = steady.now()
    const all = this.#all
    const first = all.length <= DRAWN ? 0 : random.below(all.length)
    let coldest: Active | undefined
    let most = -1
    for (let n = 0; n < Math.min(DRAWN, all.length); n++) {
      const at = all.length <= DRAWN || n === 0 ? first + n : random.below(all.length)
      const entity = all[at % all.length]!
      if (!mayGo(entity)) continue
      const coldness = (now - entity.usedAt + 1) / (WAKING_EVENTS + eventsSinceRung(entity))
      if (coldness <= most) continue
      most = coldness
      coldest = entity
    }
    return coldest
  }
}

function mayGo(entity: Active): boolean {
  return entity.phase === 'running' && !entity.isLeaving && mayRetire(entity)
}
