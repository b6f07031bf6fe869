/**
 * Receives that wait for something to be handed out, first come first served.
 *
 * They stand in a line, are found by their time and by whom they answer, and leave from anywhere at the same cost:
 * ten thousand long polls that are cut off at once are ten thousand steps.
 */
import type { Ref } from '../kernel/index.ts'
import { Heap, type HeapItem } from '../std/index.ts'
import type { Delivery, QueueFault } from './broker.ts'

export type WaiterRequest = Readonly<{
  max: number
  until: number
  visibilityMs: number
  signal: AbortSignal | undefined
  attemptId: string | undefined
  replyTo: Ref<readonly Delivery[] | QueueFault>
}>

export class Waiter implements HeapItem {
  heapIndex = -1
  next: Waiter | undefined
  prev: Waiter | undefined
  readonly max: number
  readonly until: number
  readonly visibilityMs: number
  readonly signal: AbortSignal | undefined
  readonly attemptId: string | undefined
  readonly replyTo: Ref<readonly Delivery[] | QueueFault>

  constructor(request: WaiterRequest) {
    this.max = request.max
    this.until = request.until
    this.visibilityMs = request.visibilityMs
    this.signal = request.signal
    this.attemptId = request.attemptId
    this.replyTo = request.replyTo
  }

  /** Whoever asked has gone meanwhile. */
  get isGone(): boolean {
    return this.signal?.aborted === true
  }
}

export class Waiters {
  readonly #byTime = new Heap<Waiter>((a, b) => a.until < b.until)
  readonly #byReply = new Map<Waiter['replyTo'], Waiter>()
  #last: Waiter | undefined
  first: Waiter | undefined

  get size(): number {
    return this.#byReply.size
  }

  /** When the first of them has waited long enough; Infinity for never. */
  get nextUntil(): number {
    return this.#byTime.peek()?.until ?? Infinity
  }

  add(waiter: Waiter): void {
    waiter.prev = this.#last
    if (this.#last === undefined) this.first = waiter
    else this.#last.next = waiter
    this.#last = waiter
    this.#byTime.push(waiter)
    this.#byReply.set(waiter.replyTo, waiter)
  }

  by(replyTo: Waiter['replyTo']): Waiter | undefined {
    return this.#byReply.get(replyTo)
  }

  /** Whoever has waited longest of those whose time is over. */
  overdue(now: number): Waiter | undefined {
    return this.nextUntil <= now ? this.#byTime.peek() : undefined
  }

  remove(waiter: Waiter): void {
    const { next, prev } = waiter
    if (prev === undefined) this.first = next
    else prev.next = next
    if (next === undefined) this.#last = prev
    else next.prev = prev
    waiter.next = waiter.prev = undefined
    this.#byTime.remove(waiter)
    this.#byReply.delete(waiter.replyTo)
  }
}
