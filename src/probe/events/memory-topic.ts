/**
 * One topic of an in-process cluster: partitions, and the groups that read them.
 *
 * A partition is a run of events with offsets from `low` on. Each group has one place in each partition,
 * which moves as events are handed to the consumer that the partition belongs to; a consumer that leaves
 * hands its partitions to the others of its group, and so nothing is seen twice or missed.
 */
import type { ConsumedEvent, ConsumerOptions, Placed, WireEvent } from './events.ts'
import { partitionOf } from './partition.ts'

type Member = Pick<ConsumerOptions, 'onEvent' | 'onLost'>
/** `began` is where each partition ended when the group came. */
type Group = { members: Member[]; readonly next: number[]; readonly began: readonly number[] }
type Stored = Readonly<{ event: Omit<ConsumedEvent, 'isOld'>; bytes: number }>
type Partition = { low: number; events: Stored[] }

/** Groups that a topic remembers; of those without a consumer the oldest is forgotten first. */
export const TOPIC_GROUPS_MAX = 1_000

export class MemoryTopic {
  readonly name: string
  readonly #retention: Readonly<{ events: number; bytes: number }>
  readonly #partitions: Partition[]
  readonly #groups = new Map<string, Group>()
  #count = 0
  #bytes = 0
  #keyless = 0
  #isDelivering = false

  constructor(
    name: string,
    partitions: number,
    retention: Readonly<{ events: number; bytes: number }>,
  ) {
    this.name = name
    this.#retention = retention
    this.#partitions = Array.from({ length: partitions }, () => ({ low: 0, events: [] }))
  }

  append(event: WireEvent, bytes: number, at: number): Placed {
    const { key, value, headers } = event
    const partition =
      key === undefined
        ? this.#keyless++ % this.#partitions.length
        : partitionOf(key, this.#partitions.length)
    const into = this.#partitions[partition]!
    const placed = { partition, offset: String(high(into)) }
    // A sender may use its buffers again.
    const copy = { key: key?.slice(), value: value?.slice(), headers: { ...headers } }
    into.events.push({ event: { topic: this.name, at, ...placed, ...copy }, bytes })
    this.#count += 1
    this.#bytes += bytes
    this.#forget()
    return placed
  }

  /** Afterwards its start is fixed; the answer takes it out again. */
  join(options: ConsumerOptions): () => void {
    const { group: name, from } = options
    const next = (): number[] =>
      this.#partitions.map((partition) => (from === 'latest' ? high(partition) : partition.low))
    const began = this.#partitions.map(high)
    const group = this.#groups.get(name) ?? { members: [], next: next(), began }
    this.#groups.delete(name)
    this.#groups.set(name, group)
    const member: Member = options
    group.members.push(member)
    this.#forgetGroups()
    return () => {
      group.members = group.members.filter((other) => other !== member)
      this.deliver()
    }
  }

  /** Hands out whatever groups have not seen; an event that is produced meanwhile comes in its turn. */
  deliver(): void {
    if (this.#isDelivering) return
    this.#isDelivering = true
    try {
      while (this.#deliverRound()) continue
    } finally {
      this.#isDelivering = false
    }
  }

  lag(name: string): number {
    const group = this.#groups.get(name)
    return this.#partitions.reduce((lag, partition, at) => {
      const next = Math.max(group?.next[at] ?? 0, partition.low)
      return lag + high(partition) - next
    }, 0)
  }

  end(error: unknown): void {
    for (const group of this.#groups.values())
      for (const member of group.members.splice(0)) member.onLost(error)
    this.#groups.clear()
  }

  #deliverRound(): boolean {
    let isAny = false
    for (const group of this.#groups.values())
      for (const [at, partition] of this.#partitions.entries()) {
        const member = group.members[at % group.members.length]
        if (member === undefined) break
        const next = Math.max(group.next[at]!, partition.low)
        const stored = partition.events[next - partition.low]
        if (stored === undefined) continue
        isAny = true
        group.next[at] = next + 1
        this.#hand(group, member, { ...stored.event, isOld: next < group.began[at]! })
      }
    return isAny
  }

  #hand(group: Group, member: Member, event: ConsumedEvent): void {
    try {
      member.onEvent(event)
    } catch (error) {
      group.members = group.members.filter((other) => other !== member)
      member.onLost(error)
    }
  }

  #forget(): void {
    while (this.#count > this.#retention.events || this.#bytes > this.#retention.bytes) {
      const oldest = this.#partitions.reduce((a, b) => (firstAt(b) < firstAt(a) ? b : a))
      const gone = oldest.events.shift()!
      oldest.low += 1
      this.#count -= 1
      this.#bytes -= gone.bytes
    }
  }

  #forgetGroups(): void {
    if (this.#groups.size <= TOPIC_GROUPS_MAX) return
    for (const [name, group] of this.#groups)
      if (group.members.length === 0) return void this.#groups.delete(name)
  }
}

function high({ low, events }: Partition): number {
  return low + events.length
}

function firstAt({ events }: Partition): number {
  return events[0]?.event.at ?? Infinity
}
