/**
 * Mail that is not simply a message.
 *
 * A special travels in the mailbox like any message, keeps its place in the
 * order, and says itself what the turn does when it comes up. Specials never
 * take the express lane, so a plain message costs no test for them.
 */
import type { Next } from '../behavior.ts'
import type { Cell } from './cell.ts'

export abstract class Special {
  /** The turn, in the receiving actor. */
  abstract run(cell: Cell): Next<never>
  /** What a person reads in a trace or a dead letter. */
  abstract readonly about: unknown
  /** Whether the behavior is handed a message, which then shows in the trace. */
  get isMessage(): boolean {
    return true
  }
  /** False once it means nothing any more, a cancelled timer for example: then it is passed over. */
  get due(): boolean {
    return true
  }
}

/** Whether mail is special. A message may be anything, also a proxy that throws at every question. */
export function isSpecial(mail: unknown): mail is Special {
  try {
    return mail instanceof Special
  } catch {
    return false
  }
}

/** A message with a filled context slot. */
export class Envelope extends Special {
  readonly message: unknown
  readonly context: unknown

  constructor(message: unknown, context: unknown) {
    super()
    this.message = message
    this.context = context
  }

  override get about(): unknown {
    return this.message
  }

  override run(cell: Cell): Next<never> {
    return cell.receive(cell, this.message as never)
  }
}
