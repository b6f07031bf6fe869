/** The model's post: what becomes of a letter until it waits in a mailbox. */
import type { Accounts, DeadReason } from './accounts.ts'
import type { Letter, ModelActor, ModelToken } from './actor.ts'
import type { Disarm, Waiter } from './conditions.ts'

/** How the post holds up a sender. */
export type HoldUp = Readonly<{
  hold(sender: ModelActor): ModelToken
  resume(token: ModelToken): void
}>

export class Post {
  readonly #accounts: Accounts
  readonly #holdUp: HoldUp

  constructor(accounts: Accounts, holdUp: HoldUp) {
    this.#accounts = accounts
    this.#holdUp = holdUp
  }

  /** Answers the code of the refusal, or nothing. */
  tell(sender: ModelActor | undefined, to: ModelActor, letter: Letter): string | undefined {
    this.#accounts.sent.add(letter)
    if (to.state !== 'alive') return this.#refuse(letter, 'stopped', 'actor-stopped')
    // Where senders wait, whoever comes later does so too.
    const isInLine = to.nature.overflow === 'suspend-sender' && to.waiters.length > 0
    if (to.room > 0 && !isInLine) {
      to.queue.push({ letter })
      return undefined
    }
    if (sender === to) this.#accounts.met['a full actor told by itself']++
    switch (to.nature.overflow) {
      case 'reject':
        return this.#refuse(letter, 'mailbox-full', 'mailbox-full')
      case 'drop-newest':
        this.#accounts.bury(letter, 'dropped-newest')
        return undefined
      case 'drop-oldest': {
        const oldest = to.queue.findIndex((entry) => entry.letter?.promised === false)
        if (oldest < 0) return this.#refuse(letter, 'mailbox-full', 'mailbox-full')
        this.#accounts.bury(to.queue.splice(oldest, 1)[0]!.letter!, 'dropped-oldest')
        to.queue.push({ letter })
        return undefined
      }
      case 'suspend-sender':
        return this.#hold(sender, to, letter)
    }
  }

  /** Tells whoever has this address, which is stale once the actor has ended. */
  tellAt(to: ModelActor, letter: Letter): string | undefined {
    if (to.state !== 'stopped') return this.tell(undefined, to, letter)
    this.#accounts.sent.add(letter)
    this.#accounts.met['a stale address told']++
    return this.#refuse(letter, 'stale-address', 'stale-address')
  }

  /** Waits for room where there is none; `answer` hears what the telling came to. */
  offer(to: ModelActor, letter: Letter, answer: (code: string | undefined) => void): void {
    this.#accounts.sent.add(letter)
    if (to.state !== 'alive' || (to.room > 0 && to.waiters.length === 0)) {
      answer(this.tell(undefined, to, letter))
      return
    }
    const admit = (): void => {
      if (to.state === 'alive') to.queue.push({ letter })
      answer(to.state === 'alive' ? undefined : this.#refuse(letter, 'stopped', 'actor-stopped'))
    }
    to.waiters.push({ wants: 1, offered: letter, admit })
  }

  /** Calls `fire` when there is so much room, or never will be. */
  waitForRoom(target: ModelActor, wants: number, fire: () => void): Disarm {
    const needed = Math.min(wants, target.nature.bound)
    if (target.state !== 'alive' || target.room >= needed) {
      fire()
      return () => undefined
    }
    const waiter = { wants: needed, admit: fire }
    target.waiters.push(waiter)
    return () => remove(target.waiters, waiter)
  }

  /** Lets in whoever waits for room: the first when half is free, then as long as there is any. */
  letIn(actor: ModelActor): void {
    let least = Math.ceil(actor.nature.bound / 2)
    for (let next = actor.waiters[0]; next !== undefined; next = actor.waiters[0]) {
      if (actor.state === 'alive' && actor.room < Math.max(least, next.wants)) return
      actor.waiters.shift()
      this.#accounts.met['somebody let in when there was room']++
      next.admit()
      least = 1
    }
  }

  /** A sender that ends takes nothing along. */
  dropHeld(sender: ModelActor): void {
    const { waitingOn } = sender
    if (waitingOn !== undefined) remove(waitingOn.target.waiters, waitingOn.waiter)
    for (const { letter } of sender.held) this.#accounts.bury(letter, 'stopped')
    sender.held = []
    sender.waitingOn = undefined
    sender.block = undefined
  }

  #refuse(letter: Letter, reason: DeadReason, code: string): string {
    this.#accounts.bury(letter, reason)
    return code
  }

  #hold(sender: ModelActor | undefined, to: ModelActor, letter: Letter): string | undefined {
    if (sender === undefined) return this.#refuse(letter, 'mailbox-full', 'mailbox-full')
    if (sender.held.length === 0 && waitsForItself(sender, to)) {
      if (to.room > 0) {
        to.queue.push({ letter }) // better out of turn than not at all
        return undefined
      }
      this.#accounts.cycles++
      return this.#refuse(letter, 'backpressure-cycle', 'backpressure-cycle')
    }
    sender.held.push({ to, letter })
    this.#accounts.met['a sender held up']++
    if (sender.block === undefined) {
      sender.block = this.#holdUp.hold(sender)
      this.#waitFor(sender, to)
    }
    return undefined
  }

  #waitFor(sender: ModelActor, target: ModelActor): void {
    const waiter: Waiter = { wants: 1, admit: () => this.#release(sender) }
    sender.waitingOn = { target, waiter }
    target.waiters.push(waiter)
  }

  #release(sender: ModelActor): void {
    sender.waitingOn = undefined
    for (let next = sender.held[0]; next !== undefined; next = sender.held[0]) {
      const { to, letter } = next
      if (to.state !== 'alive') this.#accounts.bury(letter, 'stopped')
      else if (to.room > 0) to.queue.push({ letter })
      else if (!waitsForItself(sender, to)) {
        this.#waitFor(sender, to)
        return
      } else {
        this.#accounts.cycles++
        this.#accounts.bury(letter, 'backpressure-cycle')
      }
      sender.held.shift()
    }
    const { block } = sender
    sender.block = undefined
    if (block?.active === true) this.#holdUp.resume(block)
  }
}

/** Whether a sender that waits for `target` would, over others that wait, wait for itself. */
function waitsForItself(sender: ModelActor, target: ModelActor): boolean {
  for (let at: ModelActor | undefined = target; at !== undefined; at = at.waitingOn?.target) {
    if (at === sender) return true
  }
  return false
}

export function remove<T>(from: T[], what: T): void {
  const at = from.indexOf(what)
  if (at >= 0) from.splice(at, 1)
}
