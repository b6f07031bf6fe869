/**
 * A disk that does to what is kept on it what disks do, on a seed.
 *
 * Until a sync has resolved, what was appended or cut since the last one hangs in the air: a crash, or
 * a sync that fails, leaves any part of it on the disk, down to the byte at which a write is torn and
 * to single sectors in the middle of one. What was synced stays, always. So whoever acknowledges only
 * what was synced loses nothing, and whoever does not is found out by some seed.
 *
 * Each seed draws its own few of the faults that are wanted: with all of them at once, most runs would
 * end before anything interesting had happened.
 */
import { diskFull, type Disk } from '../journal/index.ts'
import { Accident, fault, random, unreachable, type Clock, type Random } from '../std/index.ts'

export type DiskFault =
  /** Everything takes up to some milliseconds, or up to two seconds. Needs a clock. */
  | 'slow'
  /** There is little room; from time to time somebody frees some. */
  | 'full'
  /** A write or a cut fails, having done a part of it. */
  | 'broken-write'
  /** A sync fails, and what hung in the air is settled, this way or that. */
  | 'broken-sync'
  /** Reading fails. */
  | 'broken-read'

export const DISK_FAULTS: readonly DiskFault[] = [
  'slow',
  'full',
  'broken-write',
  'broken-sync',
  'broken-read',
]

export type SimulatedDiskOptions = Readonly<{
  seed?: number
  /** Whose time a slow disk takes. */
  clock?: Clock
  /** Those it may have; none unless said otherwise. */
  faults?: readonly DiskFault[]
}>

export interface SimulatedDisk {
  readonly seed: number
  /** The faults that the seed has drawn. */
  readonly faults: readonly DiskFault[]
  /** Bytes that can still be appended. */
  room: number
  /** The disk as a journal wants it, until the next crash: then it rejects whatever is asked of it. */
  mount(): Disk
  /** The power fails. What was being done is not finished, what was not synced is there in part. */
  crash(): void
}

/** Small, so that a write of a few hundred bytes consists of several. */
const SECTOR_BYTES = 64
/** How often a fault strikes that was drawn: once in so many times. */
const ONE_IN = 12

type Change = Readonly<
  { type: 'write'; at: number; bytes: Uint8Array } | { type: 'cut'; length: number }
>

export function simulatedDisk(options: SimulatedDiskOptions = {}): SimulatedDisk {
  return new Platter(options)
}

class Platter implements SimulatedDisk {
  readonly seed: number
  readonly faults: readonly DiskFault[]
  readonly #draws: Random
  readonly #clock: Clock | undefined
  readonly #delayMsMax: number
  /** What is there whatever happens. */
  readonly #settled = new Bytes()
  /** What has changed since, in order. */
  readonly #changes: Change[] = []
  /** How many bytes there are with the changes, and can be. */
  #length = 0
  #capacity = Infinity
  #life = 0

  constructor({ seed = 0, clock, faults = [] }: SimulatedDiskOptions) {
    this.seed = seed
    this.#clock = clock
    this.#draws = random(seed)
    const drawn = new Set(DISK_FAULTS.filter(() => this.#draws.below(3) === 0))
    this.faults = DISK_FAULTS.filter(
      (each) =>
        drawn.has(each) && faults.includes(each) && (each !== 'slow' || clock !== undefined),
    )
    this.#delayMsMax = this.#draws.pick([1, 10, 2_000])
    const capacity = 256 + this.#draws.below(8_192)
    if (this.faults.includes('full')) this.#capacity = capacity
  }

  get room(): number {
    return this.#capacity - this.#length
  }

  set room(bytes: number) {
    this.#capacity = this.#length + bytes
  }

  mount(): Disk {
    const life = this.#life
    return {
      read: () => this.#take(life, () => this.#read()),
      append: (bytes) => {
        const copy = new Uint8Array(bytes) // of a Buffer too, whose slice is none
        return this.#take(life, () => this.#append(copy))
      },
      truncate: (length) => this.#take(life, () => this.#cut(length)),
      sync: () => {
        const before = this.#changes.length
        return this.#take(life, () => this.#sync(before))
      },
    }
  }

  crash(): void {
    this.#life++
    this.#settle()
  }

  /** Does it after a while, unless the power fails first. */
  async #take<T>(life: number, work: () => T): Promise<T> {
    await this.#delay()
    if (life !== this.#life) throw crashed()
    return work()
  }

  #delay(): Promise<void> {
    const clock = this.#clock
    if (clock === undefined || !this.faults.includes('slow')) return Promise.resolve()
    const dueMs = clock.monotonic() + this.#draws.below(this.#delayMsMax + 1)
    return new Promise((resolve) => clock.setTimer(dueMs, resolve))
  }

  #read(): Uint8Array {
    if (this.#strikes('broken-read')) throw broken('read')
    const content = new Bytes(this.#settled)
    for (const change of this.#changes) content.apply(change)
    return content.all
  }

  #append(bytes: Uint8Array): void {
    const fits = Math.min(bytes.length, Math.max(0, this.room))
    const isBroken = this.#strikes('broken-write')
    const done = bytes.subarray(0, isBroken ? this.#draws.below(fits + 1) : fits)
    this.#changes.push({ type: 'write', at: this.#length, bytes: done })
    this.#length += done.length
    if (isBroken) throw broken('write')
    if (fits < bytes.length) throw this.#full()
  }

  #full(): Accident {
    if (this.faults.includes('full') && this.#draws.below(3) === 0)
      this.room += this.#draws.below(8_192)
    return diskFull()
  }

  #cut(length: number): void {
    if (this.#strikes('broken-write')) throw broken('cut')
    if (length >= this.#length) return
    this.#changes.push({ type: 'cut', length })
    this.#length = length
  }

  #sync(count: number): void {
    if (this.#strikes('broken-sync')) {
      this.#settle()
      throw broken('sync')
    }
    for (const change of this.#changes.splice(0, count)) this.#settled.apply(change)
  }

  #strikes(kind: DiskFault): boolean {
    return this.faults.includes(kind) && this.#draws.below(ONE_IN) === 0
  }

  /** What hangs in the air comes down, in one of four ways. */
  #settle(): void {
    const changes = this.#changes.splice(0)
    const way = this.#draws.pick(['none', 'all', 'torn', 'any'] as const)
    const torn = this.#draws.below(changes.length + 1)
    for (const [n, change] of changes.entries())
      for (const part of this.#left(way, change, n - torn)) this.#settled.apply(part)
    this.#length = this.#settled.length
  }

  /** `place` is below 0 for what was before the change that was torn, 0 for that one. */
  #left(way: 'none' | 'all' | 'torn' | 'any', change: Change, place: number): readonly Change[] {
    switch (way) {
      case 'none':
        return []
      case 'all':
        return [change]
      case 'torn':
        return place < 0 ? [change] : place === 0 ? this.#torn(change) : []
      case 'any':
        return this.#any(change)
      default:
        return unreachable(way)
    }
  }

  #torn(change: Change): Change[] {
    if (change.type === 'cut') return []
    return [
      { ...change, bytes: change.bytes.subarray(0, this.#draws.below(change.bytes.length + 1)) },
    ]
  }

  #any(change: Change): Change[] {
    if (change.type === 'cut') return this.#draws.below(2) === 0 ? [change] : []
    const sectors: Change[] = []
    for (let from = 0; from < change.bytes.length; from += SECTOR_BYTES) {
      const bytes = change.bytes.subarray(from, from + SECTOR_BYTES)
      if (this.#draws.below(2) === 0) sectors.push({ type: 'write', at: change.at + from, bytes })
    }
    return sectors
  }
}

class Bytes {
  #buffer: Uint8Array
  length: number

  constructor(from?: Bytes) {
    this.#buffer = from?.all ?? new Uint8Array(0)
    this.length = this.#buffer.length
  }

  /** A copy. */
  get all(): Uint8Array {
    return this.#buffer.slice(0, this.length)
  }

  apply(change: Change): void {
    if (change.type === 'cut') this.length = Math.min(this.length, change.length)
    else this.#write(change.at, change.bytes)
  }

  // What lies between the end and a write behind it reads as zeros.
  #write(at: number, bytes: Uint8Array): void {
    if (bytes.length === 0) return
    const end = at + bytes.length
    if (end > this.#buffer.length) {
      const grown = new Uint8Array(2 * end)
      grown.set(this.#buffer)
      this.#buffer = grown
    }
    if (at > this.length) this.#buffer.fill(0, this.length, at)
    this.#buffer.set(bytes, at)
    this.length = Math.max(this.length, end)
  }
}

function broken(what: string): Accident<'disk-broken'> {
  return new Accident(
    fault('disk-broken', `the simulated disk fails a ${what}`, {
      remedy: 'bear it: that is what the disk is for',
    }),
  )
}

function crashed(): Accident<'disk-crashed'> {
  return new Accident(
    fault('disk-crashed', 'the power has failed since the disk was mounted', {
      remedy: 'mount it again',
    }),
  )
}
