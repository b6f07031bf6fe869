/**
 * Requests that the queue has taken and nobody has answered yet.
 *
 * A request is handed on with a ref of this kind in place of its `replyTo`. Whoever answers it tells the
 * client through it, directly; the queue only sees that it is answered. So when an actor ends with
 * requests in its mailbox the queue knows which, and none of them is left without an answer, or
 * answered twice.
 *
 * They are linked to each other and not kept in sets: one that was answered is forgotten without a trace,
 * also by a list that is old and through which very many pass.
 */
import type { Ref, Refusal } from '../kernel/index.ts'
import type { ProbeFault, QueueRequest } from './protocol.ts'

export class Requests implements Iterable<Request> {
  #first: Request | undefined

  add(request: Request): void {
    const before = this.#first
    request.among = this
    request.next = before
    if (before !== undefined) before.previous = request
    this.#first = request
  }

  remove(request: Request): void {
    const { previous, next } = request
    if (previous === undefined) this.#first = next
    else previous.next = next
    if (next !== undefined) next.previous = previous
    request.among = undefined
    request.previous = undefined
    request.next = undefined
  }

  /** In the order in which they came. Those that leave meanwhile are seen all the same. */
  [Symbol.iterator](): Iterator<Request> {
    const all: Request[] = []
    for (let at = this.#first; at !== undefined; at = at.next) all.push(at)
    return all.toReversed().values()
  }
}

export class Request implements Ref<unknown> {
  /** As it came, but for where the answer goes. */
  readonly message: QueueRequest
  /** Whoever had it before has ended without an answer. */
  isOrphan = false
  /** Those that it is one of, and its neighbours there; undefined once it was answered. */
  among: Requests | undefined
  previous: Request | undefined
  next: Request | undefined
  readonly #replyTo: Ref<never>

  constructor(message: QueueRequest, among: Requests) {
    this.#replyTo = message.replyTo
    this.message = { ...message, replyTo: this }
    among.add(this)
  }

  get path(): string {
    return this.#replyTo.path
  }

  /** From here on it is one of those, unless it was answered before. */
  handTo(among: Requests): void {
    if (this.among === undefined) return
    this.among.remove(this)
    among.add(this)
  }

  tell(answer: unknown): Refusal | undefined {
    if (this.among === undefined) return undefined
    this.among.remove(this)
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- whoever has it knows its type
    return this.#replyTo.tell(answer as never)
  }
}

export function refuseAll(requests: Requests, reason: ProbeFault): void {
  for (const request of requests) request.tell(reason)
}
