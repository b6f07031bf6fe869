/**
 * The slow path of a tell: everything that one compare of the credit could not
 * decide. Stopped, validated at the door, newborn, suspended, full.
 */
import type { StandardSchemaV1 } from '@standard-schema/spec'
import type { OfferOptions } from '../behavior.ts'
import type { Refusal } from '../ref.ts'
import { capacity } from '../suspension.ts'
import {
  addWaiter,
  cycleThrough,
  forgetCancelled,
  Outbox,
  OUTBOX_MAX,
  roomOf,
  type Waiter,
} from './capacity.ts'
import { extrasOf, lower, mailboxOf, raise, wake, type Cell } from './cell.ts'
import * as dispatch from './dispatch.ts'
import { NONE, type Mailbox } from './mailbox.ts'
import {
  fullFault,
  refuseCycle,
  refuseFull,
  refuseInvalid,
  refuseStopped,
  type Issue,
} from './refusals.ts'
import { Envelope, isSpecial } from './special.ts'
import { BOX_ONLY, BOXED, ENDING, NEWBORN, PARKED } from './status.ts'
import { hold } from './tokens.ts'

/** `inTurn`: it has waited for its place, so whoever waits still does so behind it. */
export function accept(cell: Cell, message: unknown, inTurn = false): Refusal | undefined {
  const { status, mail } = cell
  const isFresh = status === NEWBORN && mail === null
  if (isFresh && dispatch.draining && dispatch.ambient === undefined) {
    parkWith(cell, message)
    return undefined
  }
  // Mail waits already, so the cell is registered, running or halted: nothing is to be woken.
  if ((status & ~BOX_ONLY) === BOXED && mail !== null && dispatch.ambient === undefined) {
    if (mail.room > 0 && mail.room < mail.bound && mail.waiters === null) {
      mail.push(message)
      return undefined
    }
  }
  if ((status & ENDING) !== 0) return refuseStopped(cell, message)
  const { schema } = cell.options
  if (schema !== undefined) {
    const read = validate(schema, message)
    if ('issues' in read) return refuseInvalid(cell, message, read.issues)
    message = read.value
  }
  if (dispatch.ambient !== undefined) message = new Envelope(message, dispatch.ambient)
  if ((status & NEWBORN) !== 0) {
    lower(cell, NEWBORN)
    if (cell.credit > 0 && !isSpecial(message)) return cell.tell(message)
  }
  if (roomOf(cell) <= 0 || (!inTurn && mustQueue(cell))) return overflow(cell, message)
  put(cell, message)
  return undefined
}

/** Where senders wait, whoever comes later does so too: its own held messages may be among them. */
function mustQueue({ mail, options }: Cell): boolean {
  return mail !== null && mail.waiters !== null && options.overflow === 'suspend-sender'
}

function put(cell: Cell, message: unknown): void {
  if (isSpecial(message)) mailboxOf(cell).pushSpecial(message)
  else mailboxOf(cell).push(message)
  raise(cell, BOXED)
  wake(cell)
}

/** A newborn's first message is kept with it. It counts as an express entry, though it is on no lane. */
function parkWith(cell: Cell, message: unknown): void {
  cell.status = PARKED
  cell.credit--
  cell.first = message
  dispatch.park(cell)
}

function overflow(cell: Cell, message: unknown): Refusal | undefined {
  const { core } = cell
  switch (cell.options.overflow) {
    case 'reject':
      return refuseFull(cell, message)
    case 'drop-newest':
      core.deadLetters.add(cell.path, message, 'dropped-newest')
      return undefined
    case 'drop-oldest': {
      const oldest = takeOldest(mailboxOf(cell))
      if (oldest === NONE) return refuseFull(cell, message)
      core.deadLetters.add(cell.path, oldest, 'dropped-oldest')
      put(cell, message)
      return undefined
    }
    case 'suspend-sender':
      return suspendSender(cell, message)
  }
}

/** Takes out the oldest that may be lost; what was promised to the actor may not. */
function takeOldest(mail: Mailbox): unknown {
  const { urgent } = mail
  mail.urgent = NONE
  const promised: unknown[] = []
  let oldest = mail.take()
  while (isSpecial(oldest) && !(oldest instanceof Envelope)) {
    promised.push(oldest)
    oldest = mail.take()
  }
  for (const each of promised.toReversed()) mail.putBack(each)
  mail.urgent = urgent
  return oldest
}

function suspendSender(target: Cell, message: unknown): Refusal | undefined {
  const sender = dispatch.current()
  if (sender === null) return refuseFull(target, message)
  const outbox = (extrasOf(sender).outbox ??= new Outbox(sender, release))
  if (outbox.held.length > 0) return holdBack(outbox, target, message)
  const cycle = cycleThrough(sender, target)
  if (cycle !== undefined) {
    if (roomOf(target) <= 0) return refuseCycle(target, message, cycle)
    put(target, message) // better out of turn than not at all
    return undefined
  }
  const token = hold(sender, 'backpressure', capacity(target))
  if (!waitOn(outbox, target)) {
    if (token.active) token.resume()
    return refuseFull(target, message)
  }
  outbox.held.pushBack({ target, message })
  outbox.token = token
  sender.core.metrics.blockedSenders++
  return undefined
}

/** Behind what the sender holds back already. */
function holdBack(outbox: Outbox, target: Cell, message: unknown): Refusal | undefined {
  if (outbox.held.length < OUTBOX_MAX) {
    outbox.held.pushBack({ target, message })
    return undefined
  }
  target.core.deadLetters.add(target.path, message, 'outbox-full')
  return fullFault(target, 'send less in one turn: the sender holds back as much as it may')
}

/** Delivers what is held as far as there is room, then waits again or lets the sender go on. */
function release(outbox: Outbox): void {
  const { held, sender } = outbox
  for (let next = held.peekFront(); next !== undefined; next = held.peekFront()) {
    const { target, message } = next
    if ((target.status & ENDING) !== 0) {
      target.core.deadLetters.add(target.path, message, 'stopped')
    } else if (roomOf(target) > 0) {
      put(target, message)
    } else {
      const cycle = cycleThrough(sender, target)
      if (cycle !== undefined) refuseCycle(target, message, cycle)
      else if (waitOn(outbox, target)) return
      else refuseFull(target, message)
    }
    held.popFront()
  }
  sender.core.metrics.blockedSenders--
  const token = outbox.token
  outbox.token = null
  if (token?.active === true) token.resume()
}

function waitOn(outbox: Outbox, target: Cell): boolean {
  outbox.waitingOn = target
  if (addWaiter(target, outbox)) return true
  outbox.waitingOn = null
  return false
}

/** A sender that ends takes nothing along: what it held back is a dead letter. Last words may follow. */
export function dropOutbox(sender: Cell): void {
  const outbox = sender.extras?.outbox
  if (outbox === undefined || outbox === null || outbox.token === null) return
  const { waitingOn } = outbox
  outbox.cancelled = true
  sender.core.metrics.blockedSenders--
  for (const { target, message } of outbox.held) {
    target.core.deadLetters.add(target.path, message, 'stopped')
  }
  outbox.held.clear()
  outbox.waitingOn = null
  outbox.token = null
  extrasOf(sender).outbox = null
  if (waitingOn !== null) forgetCancelled(waitingOn)
}

/** Waits for room, then tells. */
export function offer(
  cell: Cell,
  message: unknown,
  { signal }: OfferOptions,
): Promise<Refusal | undefined> {
  const context = dispatch.ambient
  return new Promise((resolve, reject) => {
    const waits = roomOf(cell) <= 0 || (cell.mail !== null && cell.mail.waiters !== null)
    if (signal?.aborted === true) reject(signal.reason)
    else if ((cell.status & ENDING) !== 0 || !waits) resolve(cell.tell(message))
    else {
      const onAbort = (): void => {
        waiter.cancelled = true
        forgetCancelled(cell)
        reject(signal?.reason)
      }
      const waiter: Waiter = {
        wants: 1,
        cancelled: false,
        admit() {
          signal?.removeEventListener('abort', onAbort)
          const before = dispatch.ambient
          dispatch.setAmbient(context)
          resolve(accept(cell, message, true))
          dispatch.setAmbient(before)
        },
      }
      if (!addWaiter(cell, waiter)) resolve(refuseFull(cell, message))
      else signal?.addEventListener('abort', onAbort, { once: true })
    }
  })
}

/** Characters of what a schema threw that go into a refusal. */
const WORDS_MAX = 200

type Read = Readonly<{ value: unknown }> | Readonly<{ issues: readonly Issue[] }>

/** The door may be anybody's code: one that throws, answers late or answers nonsense refuses. */
function validate(schema: StandardSchemaV1, message: unknown): Read {
  try {
    const result = schema['~standard'].validate(message)
    if ('then' in result) {
      Promise.resolve(result).catch(() => undefined) // refused below, whatever it comes to
      return refusing('the schema is asynchronous; a door must answer at once')
    }
    if (result.issues === undefined) return { value: result.value }
    return Array.isArray(result.issues) ? { issues: result.issues } : refusing('it does not match')
  } catch (error) {
    return refusing(`the schema threw: ${inWords(error)}`)
  }
}

function refusing(message: string): Read {
  return { issues: [{ message }] }
}

function inWords(error: unknown): string {
  try {
    return String(error).slice(0, WORDS_MAX)
  } catch {
    return 'something that cannot be put into words'
  }
}
