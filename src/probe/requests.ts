/**
 * Requests that the queue has taken and nobody has answered yet.
 *
 * A request is handed on with a ref of this kind in place of its `replyTo`. Whoever answers it tells the
 * client through it, directly; the queue only sees that it is answered. So when an actor ends with
 * requests in its mailbox the queue knows which, and none of them is left without an answer, or
 * answered twice.
 */
import type { Ref, Refusal } from '../kernel/index.ts'
import type { ProbeFault, QueueRequest } from './protocol.ts'

export class Request implements Ref<unknown> {
  readonly path: string
  /** As it came, but for where the answer goes. */
  readonly message: QueueRequest
  /** Whoever had it before has ended without an answer. */
  isOrphan = false
  readonly #replyTo: Ref<never>
  #among: Set<Request>

  constructor(message: QueueRequest, among: Set<Request>) {
    this.path = message.replyTo.path
    this.#replyTo = message.replyTo
    this.message = { ...message, replyTo: this }
    this.#among = among
    among.add(this)
  }

  /** From here on it is one of those, unless it was answered before. */
  handTo(among: Set<Request>): void {
    if (!this.#among.delete(this)) return
    this.#among = among
    among.add(this)
  }

  tell(answer: unknown): Refusal | undefined {
    if (!this.#among.delete(this)) return undefined
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- whoever has it knows its type
    return this.#replyTo.tell(answer as never)
  }
}

export function refuseAll(requests: Iterable<Request>, reason: ProbeFault): void {
  for (const request of requests) request.tell(reason)
}
