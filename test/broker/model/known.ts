/**
 * What the clients of one queue know of its messages, and what therefore must hold.
 *
 * The reference is a list of messages with what was asked and what was answered. It does not guess: where an answer
 * is missing both outcomes are right, and where there is one nothing may contradict it, in this life of the broker
 * or in any later one.
 */
import type { Browsed, Delivery, QueueConfig } from '../../../src/broker/index.ts'

export type Where = 'main' | 'dead'

/** A delivery that a client believes in. */
export type Hold = {
  readonly delivery: Delivery
  readonly where: Where
  readonly life: number
  /** Nobody else has it before then. */
  until: number
  isOver: boolean
}

export type Known = {
  readonly tag: string
  readonly index: number
  readonly group: string | undefined
  readonly askedAt: number
  readonly life: number
  outcome: 'open' | 'acked' | 'refused' | 'unsure'
  /** How often it was sent without an answer yet, and whether there was any. */
  pending: number
  wasAnswered: boolean
  messageId: string | undefined
  seq: number
  ackedAt: number
  /** Not seen before then. */
  notBefore: number
  readonly ttlMs: number
  isGone: boolean
  /** Askings whose answer would say whether it is gone. */
  uncertain: number
  holds: Hold[]
  /** Deliveries of the main queue that count. */
  counted: number
  /** Those of them that a client has asked not to count, without an answer yet. */
  releasing: number
  crashes: number
  /** It may have been moved, and what is known of its place and time does not hold any more. */
  mayHaveMoved: boolean
}

export class Reference {
  readonly config: Partial<QueueConfig>
  readonly byTag: Map<string, Known> = new Map()
  readonly violations: string[] = []
  life = 0
  /** Deliveries that may not have been counted because the store has refused it. */
  slack = 0
  pausedSince: number = Infinity
  isRedriven = false

  constructor(config: Partial<QueueConfig>) {
    this.config = config
  }

  say(what: string): void {
    this.violations.push(what)
  }

  asked(tag: string, now: number, of: Pick<Known, 'group' | 'ttlMs'>, delayMs: number): Known {
    const known: Known = {
      tag,
      index: this.byTag.size,
      ...of,
      askedAt: now,
      life: this.life,
      outcome: 'open',
      pending: 0,
      wasAnswered: false,
      messageId: undefined,
      seq: 0,
      ackedAt: Infinity,
      notBefore: now + delayMs,
      isGone: false,
      uncertain: 0,
      holds: [],
      counted: 0,
      releasing: 0,
      crashes: 0,
      mayHaveMoved: false,
    }
    this.byTag.set(tag, known)
    return known
  }

  /** Something was handed out by one receive. */
  delivered(where: Where, deliveries: readonly Delivery[], visibilityMs: number): readonly Hold[] {
    const holds: Hold[] = []
    for (const [place, delivery] of deliveries.entries()) {
      const known = this.byTag.get(delivery.body)
      if (known === undefined) {
        this.say(`${delivery.body} was never sent`)
        continue
      }
      const leasedAt = delivery.visibleAt - visibilityMs
      this.#check(known, where, delivery, leasedAt)
      if (this.config.fifo === true && where === 'main')
        this.#checkOrder(known, leasedAt, deliveries.slice(0, place))
      if (where === 'main') known.counted++
      const { life } = this
      const hold = { delivery, where, life, until: delivery.visibleAt, isOver: false }
      known.holds.push(hold)
      holds.push(hold)
    }
    return holds
  }

  #check(known: Known, where: Where, delivery: Delivery, leasedAt: number): void {
    const { tag, outcome, isGone, notBefore, ackedAt, ttlMs, holds } = known
    const at = `${tag} was handed out at ${leasedAt}`
    if (outcome === 'refused') this.say(`${at} though it was refused`)
    if (isGone) this.say(`${at} though it was deleted`)
    if (known.messageId !== undefined && known.messageId !== delivery.messageId)
      this.say(`${at} as ${delivery.messageId}, and was sent as ${known.messageId}`)
    const current = holds.find(
      ({ isOver, until, life }) => !isOver && life === this.life && leasedAt < until,
    )
    if (current !== undefined) this.say(`${at} though it is held until ${current.until}`)
    if (where === 'dead' || known.mayHaveMoved) {
      known.mayHaveMoved = true
      return
    }
    if (leasedAt < notBefore) this.say(`${at}, not before ${notBefore}`)
    if (leasedAt > ackedAt + ttlMs) this.say(`${at} though it was too old at ${ackedAt + ttlMs}`)
    if (leasedAt > this.pausedSince) this.say(`${at} though the queue was paused`)
    this.#checkCount(known, delivery)
  }

  #checkCount({ tag, counted, releasing, crashes }: Known, { receives }: Delivery): void {
    const { maxReceives = Infinity, deadLetterQueue } = this.config
    if (deadLetterQueue === undefined) return
    if (receives > maxReceives) this.say(`${tag} says that it was received ${receives} times`)
    const least = counted + 1 - releasing
    if (least > maxReceives + crashes + this.slack)
      this.say(`${tag} was received ${counted + 1} times, with ${crashes} crashes`)
    if (receives + crashes + this.slack < least)
      this.say(`${tag} has forgotten deliveries: ${receives} of ${least}, with ${crashes} crashes`)
    if (crashes === 0 && this.slack === 0 && receives > counted + 1)
      this.say(`${tag} says ${receives} deliveries, and has had ${counted + 1}`)
  }

  /** Nothing of its group that is older may still be waiting, unless it was handed out before it. */
  #checkOrder(known: Known, leasedAt: number, before: readonly Delivery[]): void {
    if (this.isRedriven) return
    for (const older of this.byTag.values()) {
      if (older.group !== known.group || older.seq >= known.seq || known.seq === 0) continue
      if (!this.#isSurelyThere(older, leasedAt)) continue
      if (before.some(({ body }) => body === older.tag)) continue
      this.say(`${known.tag} was handed out before ${older.tag} of the same group`)
    }
  }

  #isSurelyThere(known: Known, at: number): boolean {
    const { outcome, ackedAt, ttlMs, uncertain, isGone, mayHaveMoved, counted } = known
    const { maxReceives = Infinity } = this.config
    return (
      outcome === 'acked' &&
      ackedAt <= at &&
      ttlMs === Infinity &&
      uncertain === 0 &&
      !isGone &&
      !mayHaveMoved &&
      counted + known.crashes + this.slack < maxReceives
    )
  }

  /** What is on record when nothing is under way. */
  checkContent(
    now: number,
    main: readonly Pick<Browsed, 'body'>[],
    dead: readonly Pick<Browsed, 'body'>[],
  ): void {
    const times = new Map<string, number>()
    for (const { body } of [...main, ...dead]) times.set(body, (times.get(body) ?? 0) + 1)
    for (const tag of times.keys()) if (!this.byTag.has(tag)) this.say(`${tag} was never sent`)
    for (const known of this.byTag.values()) {
      const { tag, outcome, isGone } = known
      const count = times.get(tag) ?? 0
      if (count > 1) this.say(`${tag} is there ${count} times`)
      if (count > 0 && outcome === 'refused') this.say(`${tag} is there, and was refused`)
      if (count > 0 && isGone) this.say(`${tag} is there, and was deleted`)
      if (count === 0 && this.mustBeThere(known, now)) this.say(`${tag} is lost`)
    }
  }

  mustBeThere({ outcome, isGone, uncertain, askedAt, ttlMs }: Known, now: number): boolean {
    return outcome === 'acked' && !isGone && uncertain === 0 && now < askedAt + ttlMs
  }

  /** The power has failed: of what was asked and not answered, a first part may have happened. */
  crashed(refusals: number): void {
    this.life++
    this.slack += refusals
    for (const known of this.byTag.values()) {
      if (refusals > 0) known.notBefore = 0
      known.crashes++
      if (known.outcome === 'open') known.outcome = 'unsure'
      for (const hold of known.holds) hold.isOver = true
    }
  }

  /** Sends of the life that ended which nobody was told of: none is there behind one that is not. */
  checkPrefix(found: ReadonlySet<string>): void {
    // A full queue refuses one of a batch, and nobody hears of it before the others are durable.
    if (this.config.maxLength !== undefined) return
    const open = [...this.byTag.values()].filter(
      ({ outcome, wasAnswered, life, ttlMs, uncertain }) =>
        outcome === 'unsure' &&
        !wasAnswered &&
        life === this.life - 1 &&
        ttlMs === Infinity &&
        uncertain === 0,
    )
    const missing = open.findIndex(({ tag }) => !found.has(tag))
    if (missing < 0) return
    const behind = open.slice(missing).find(({ tag }) => found.has(tag))
    if (behind !== undefined) this.say(`${behind.tag} is there, and ${open[missing]!.tag} is not`)
  }
}
