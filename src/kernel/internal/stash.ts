/** Messages an actor has put aside for later. */
import { Deque, fault, type Fault } from '../../std/index.ts'
import { extrasOf, mailboxOf, raise, wake, type Cell } from './cell.ts'
import { ambient } from './dispatch.ts'
import { Envelope } from './special.ts'
import { BOXED } from './status.ts'

export function stash(cell: Cell, message: unknown): Fault<'stash-full'> | undefined {
  const extras = extrasOf(cell)
  const limit = cell.options.stash
  const aside = (extras.stash ??= new Deque())
  if (aside.length >= limit) {
    return fault('stash-full', `the stash of ${cell.path} holds ${limit} messages and is full`, {
      actor: cell.path,
      limit,
      remedy: 'unstash sooner, or spawn the actor with a larger stash',
    })
  }
  aside.pushBack(ambient === undefined ? message : new Envelope(message, ambient))
  return undefined
}

/** Puts everything back at the front of the mailbox, in the order it was stashed. */
export function unstash(cell: Cell): void {
  const aside = cell.extras?.stash
  if (aside === undefined || aside === null || aside.length === 0) return
  const mail = mailboxOf(cell)
  while (aside.length > 0) mail.putBack(aside.popBack())
  raise(cell, BOXED)
  wake(cell)
}
