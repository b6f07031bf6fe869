/**
 * What must be true of every run: the history explains every answer, and nothing else has happened.
 *
 * The model is sequential and as plain as can be. Each group of events in a stream must be what `decide`
 * makes of the state that all events before it lead to, in order of effect, and each answer what was
 * replied there. So whatever the runtime did meanwhile, it comes to one command after the other.
 */
import { isDeepStrictEqual } from 'node:util'

import type { StoredEvent } from '../../../src/journal/index.ts'
import { unreachable } from '../../../src/std/index.ts'
import type { Ask, Issued } from './played.ts'
import {
  decideVault,
  evolveVault,
  isReported,
  vault,
  type Vault,
  type VaultCommand,
  type VaultEvent,
  type VaultReply,
} from './vault.ts'

/** What a command did. */
export type Effect = Readonly<{
  id: string
  first: number
  version: number
  position: number
  reply: VaultReply
}>

export class Verdict {
  readonly violations: string[] = []
  readonly effects: Map<string, Effect> = new Map()
  readonly #history: readonly StoredEvent[]
  readonly #issued: ReadonlyMap<string, Issued>
  /** By entity: its events, and its states after 0, 1, 2 … of them. */
  readonly #events = new Map<string, readonly Stored[]>()
  readonly #states = new Map<string, readonly Vault[]>()

  constructor(history: readonly StoredEvent[], issued: Iterable<Issued>) {
    this.#history = history
    this.#issued = new Map([...issued].map((each) => [each.tag, each]))
    for (const [stream, events] of Map.groupBy(history, (event) => event.stream)) {
      if (!stream.startsWith('vault/')) continue
      const decoded = events.map(storedOf)
      this.#events.set(stream.slice(6), decoded)
      this.#states.set(stream.slice(6), statesOf(decoded))
    }
  }

  stateOf(id: string): Vault {
    return this.#states.get(id)?.at(-1) ?? vault.initial(id)
  }

  versionOf(id: string): number {
    return this.#events.get(id)?.length ?? 0
  }

  /** Everything that can be seen from the history and the answers. */
  judge(): readonly string[] {
    this.#checkPlaces()
    for (const [id, events] of this.#events) this.#checkStream(id, events)
    this.#checkLegs()
    this.#checkAudit()
    for (const issued of this.#issued.values()) this.#checkRequest(issued)
    this.#checkRequestIds()
    this.#checkOrder()
    this.#checkProgress()
    return this.violations
  }

  #say(what: string): void {
    this.violations.push(what)
  }

  #checkPlaces(): void {
    const versions = new Map<string, number>()
    for (const [n, { stream, seq, position }] of this.#history.entries()) {
      if (position !== n + 1) this.#say(`position ${position} follows ${n}`)
      const before = versions.get(stream) ?? 0
      if (seq !== before + 1) this.#say(`version ${seq} of ${stream} follows ${before}`)
      versions.set(stream, seq)
    }
  }

  /** Walks one stream in groups: the events that one command has made. */
  #checkStream(id: string, events: readonly Stored[]): void {
    for (let n = 0; n < events.length;) {
      const { event, stored } = events[n]!
      if (event.type === 'moved-in' && !this.#isOwn(id, event.tag)) {
        n++
        continue
      }
      const { tag } = event
      const before = this.#states.get(id)![n]!
      const command: VaultCommand | undefined =
        event.type === 'expired' ? { type: 'expire', tag: 'expire' } : this.#commandFor(id, tag)
      if (command === undefined) {
        this.#say(`${tag} of vault ${id} was never asked for`)
        n++
        continue
      }
      const decision = decideVault(before, command, stored.at)
      if (decision.type !== 'accept' || decision.events.length === 0) {
        this.#say(`${tag} of vault ${id} has events at ${n + 1}, where it is ${decision.type}`)
        n++
        continue
      }
      const own = [...decision.events, ...ownLegs(id, decision.also)]
      const found = events.slice(n, n + own.length)
      this.#compareGroup(`${tag} of vault ${id} at ${n + 1}`, found, own, stored.batch)
      if (event.type !== 'expired')
        this.#remember(tag, {
          id,
          first: n + 1,
          version: n + own.length,
          position: found.at(-1)!.stored.position,
          reply: decision.reply,
        })
      n += own.length
    }
  }

  #isOwn(id: string, tag: string): boolean {
    return this.#issued.get(tag)?.id === id
  }

  #commandFor(id: string, tag: string): VaultCommand | undefined {
    const issued = this.#issued.get(tag)
    return issued?.id === id ? issued.command : undefined
  }

  #compareGroup(
    what: string,
    found: readonly Stored[],
    own: readonly VaultEvent[],
    batch: number,
  ): void {
    const same = isDeepStrictEqual(
      found.map(({ event }) => event),
      own,
    )
    if (!same) this.#say(`${what} is not what is decided there: ${JSON.stringify(own)}`)
    if (found.some(({ stored }) => stored.batch !== batch)) this.#say(`${what} is in two batches`)
  }

  #remember(tag: string, effect: Effect): void {
    if (this.effects.has(tag)) this.#say(`${tag} has taken effect twice`)
    this.effects.set(tag, effect)
  }

  /** What has left one vault has come to another, in the same batch. */
  #checkLegs(): void {
    const moves = new Map<string, number>()
    for (const [id, events] of this.#events)
      for (const { event, stored } of events) {
        const { type, tag, quantity } = event
        if (type !== 'moved-out' && type !== 'moved-in') continue
        const to = type === 'moved-out' ? event.to : id
        const key = `${tag} to ${to} in batch ${stored.batch}`
        moves.set(key, (moves.get(key) ?? 0) + (type === 'moved-out' ? -quantity : quantity))
      }
    for (const [key, left] of moves) if (left !== 0) this.#say(`${key} leaves ${left}`)
  }

  /** The audit was told of every event that it is to be told of, once. */
  #checkAudit(): void {
    const told = new Map<string, number>()
    for (const { stream, data } of this.#history) {
      if (stream !== 'audit/all') continue
      const { tag } = JSON.parse(data) as { tag: string }
      told.set(tag, (told.get(tag) ?? 0) + 1)
    }
    for (const events of this.#events.values())
      for (const { event } of events) {
        if (!isReported(event)) continue
        const times = told.get(event.tag) ?? 0
        if (times !== 1) this.#say(`the audit was told ${times} times of ${event.tag}`)
        told.delete(event.tag)
      }
    for (const tag of told.keys()) this.#say(`the audit was told of ${tag}, which has not happened`)
  }

  #checkRequest(issued: Issued): void {
    const { tag, id, asks, expected, requestId } = issued
    const effect = this.effects.get(tag)
    if (effect === undefined) {
      for (const ask of asks) this.#checkIdle(issued, ask)
      this.#checkAgreement(issued)
      return
    }
    if (issued.command.type === 'trap') this.#say(`${tag} cannot happen, and has taken effect`)
    if (expected !== undefined && effect.first !== expected + 1)
      this.#say(`${tag} took effect at version ${effect.first - 1}, not ${expected}`)
    if (asks.every(({ outcome }) => outcome.type === 'refused' && outcome.isDefinite))
      this.#say(`${tag} of vault ${id} was refused each time, and has taken effect`)
    for (const ask of asks) {
      const { outcome } = ask
      if (outcome.type !== 'answered') continue
      const { reply, version, position } = outcome.answer
      if (!reply.taken) this.#checkIdle(issued, ask)
      else if (!isDeepStrictEqual(reply, effect.reply) || version !== effect.version)
        this.#say(
          `${tag} was answered ${JSON.stringify(outcome.answer)}, not ${JSON.stringify(effect)}`,
        )
      else if (position < effect.position)
        this.#say(`${tag} was answered at ${position}, before ${effect.position}`)
    }
    if (requestId !== undefined) this.#checkRepeats(issued)
    this.#checkFirst(issued)
  }

  /** An answer without an effect is what is replied at the version that it names. */
  #checkIdle({ tag, id, command }: Issued, { outcome }: Ask): void {
    if (outcome.type !== 'answered') return
    const { reply, version } = outcome.answer
    const state = version === 0 ? vault.initial(id) : this.#states.get(id)?.[version]
    if (state === undefined) {
      this.#say(`${tag} was answered at version ${version} of vault ${id}, which there is not`)
      return
    }
    if (command.type === 'throw' || command.type === 'trap') {
      this.#say(`${tag} cannot happen, and was answered`)
      return
    }
    const decision = decideVault(state, command, Infinity)
    if (decision.type === 'accept' && decision.events.length > 0)
      this.#say(`${tag} was answered at version ${version}, and has taken no effect`)
    else if (decision.type !== 'postpone' && !isDeepStrictEqual(decision.reply, reply))
      this.#say(
        `${tag} was answered ${JSON.stringify(reply)} at ${version}, not ${JSON.stringify(decision.reply)}`,
      )
  }

  /** One runtime has granted it, and only those who asked that one may have heard it first. */
  #checkFirst({ tag, asks, requestId }: Issued): void {
    if (requestId === undefined) return
    const first = asks.filter(
      ({ outcome }) =>
        outcome.type === 'answered' && outcome.answer.reply.taken && !outcome.answer.replayed,
    )
    if (new Set(first.map(({ runtime }) => runtime)).size > 1)
      this.#say(`${tag} was granted by two runtimes`)
  }

  /** What was granted without an event is answered the same every time. */
  #checkAgreement({ tag, command, requestId, asks }: Issued): void {
    if (command.type !== 'agree' || requestId === undefined) return
    const answers = asks.flatMap(({ outcome }) =>
      outcome.type === 'answered' ? [outcome.answer] : [],
    )
    const [first] = answers
    for (const { reply, version } of answers)
      if (!isDeepStrictEqual(reply, first!.reply) || version !== first!.version)
        this.#say(`${tag} was answered in two ways`)
  }

  /** Once it was answered, no state of the entity is a reason to refuse it. */
  #checkRepeats({ tag, asks, requestId }: Issued): void {
    const misuses = [...this.#issued.values()].filter(
      (other) => other.requestId === requestId && other.tag !== tag,
    )
    const granted = asks.flatMap(({ outcome }) =>
      outcome.type === 'answered' && outcome.answer.reply.taken ? [outcome.step] : [],
    )
    const since = Math.min(...granted)
    for (const { step, outcome } of asks) {
      if (step <= since) continue
      if (outcome.type === 'answered' && outcome.answer.reply.taken) continue
      if (outcome.type === 'refused' && !BY_STATE.has(outcome.code)) continue
      // Whoever uses the id for something else at the same moment is heard first.
      const isMisused = misuses.some((other) => other.asks.some((ask) => isUnderWay(ask, step)))
      if (isMisused && isRefused(outcome, 'request-mismatch')) continue
      this.#say(`${tag} was repeated at ${step} and came to ${JSON.stringify(outcome)}`)
    }
  }

  /** Of all that was asked under one request id, one thing at most has happened. */
  #checkRequestIds(): void {
    const byId = Map.groupBy(
      this.#issued.values(),
      ({ requestId, tag }) => requestId ?? `none ${tag}`,
    )
    for (const [requestId, all] of byId) {
      const effective = all.filter(({ tag }) => this.effects.has(tag))
      if (effective.length > 1) this.#say(`${requestId} has had two effects`)
      for (const { tag, asks } of all)
        if (all.length === 1 && asks.some(({ outcome }) => isRefused(outcome, 'request-mismatch')))
          this.#say(`${tag} was refused for something else of that id, and there is none`)
    }
    for (const { stream, data, requestId } of this.#history) {
      if (!stream.startsWith('vault/')) continue
      const { tag } = JSON.parse(data) as { tag: string }
      const issued = this.#issued.get(tag)
      if (requestId !== undefined && requestId !== issued?.requestId)
        this.#say(`an event of ${tag} is recorded under ${requestId}`)
    }
  }

  /**
   * What was asked after something else was answered has its effect after it; and what one client asked
   * of one entity without waiting has its effects in the order of asking, but for what was put off.
   */
  #checkOrder(): void {
    const happened = [...this.#issued.values()].flatMap((issued) => {
      const effect = this.effects.get(issued.tag)
      return effect === undefined ? [] : [{ issued, effect }]
    })
    for (const [id, here] of Map.groupBy(happened, ({ issued }) => issued.id)) {
      const inOrder = here.toSorted((a, b) => a.effect.first - b.effect.first)
      for (const [n, { issued: earlier }] of inOrder.entries())
        for (const { issued: later } of inOrder.slice(n + 1)) {
          if (answeredBefore(later, earlier) || isOvertaken(later, earlier))
            this.#say(`${earlier.tag} comes before ${later.tag} in vault ${id}`)
        }
    }
  }

  /** What was asked of a runtime after it gave an answer is answered from no earlier state. */
  #checkProgress(): void {
    // A repeated request is told what was decided when it came first.
    const once = [...this.#issued.values()].filter(({ asks }) => asks.length === 1)
    const told = once.flatMap(({ tag, id, asks }) =>
      asks.flatMap(({ runtime, step: asked, outcome }) => {
        if (outcome.type !== 'answered' || outcome.answer.replayed) return []
        const { answer, step: answered } = outcome
        return [{ tag, place: `${id} of ${runtime}`, asked, answered, version: answer.version }]
      }),
    )
    for (const here of Map.groupBy(told, ({ place }) => place).values())
      for (const one of here)
        for (const other of here)
          if (one.answered < other.asked && one.version > other.version)
            this.#say(`${other.tag} was answered from before ${one.tag}`)
  }
}

type Stored = Readonly<{ event: VaultEvent; stored: StoredEvent }>

/** Refusals that the state of the entity gives rise to. */
const BY_STATE: ReadonlySet<string> = new Set([
  'bad-alarm',
  'decide-failed',
  'postponed-too-long',
  'request-mismatch',
  'version-mismatch',
])

function storedOf(stored: StoredEvent): Stored {
  const event = { ...(JSON.parse(stored.data) as object), type: stored.type } as VaultEvent
  return { event, stored }
}

function statesOf(events: readonly Stored[]): readonly Vault[] {
  const inOrder: Stored[] = []
  const states = [vault.initial('')]
  for (const each of events) {
    const at = inOrder.findLastIndex(({ event }) => event.happenedAt <= each.event.happenedAt)
    inOrder.splice(at + 1, 0, each)
    const isLast = at + 2 === inOrder.length
    states.push(
      isLast
        ? evolveVault(states.at(-1)!, each.event)
        : inOrder.reduce((state, { event }) => evolveVault(state, event), states[0]!),
    )
  }
  return states
}

/** What a command writes to its own stream as if it were another's. */
function ownLegs(
  id: string,
  also: readonly Readonly<{ id: string; events: readonly unknown[] }>[],
): readonly VaultEvent[] {
  return also.flatMap((leg) => (leg.id === id ? (leg.events as readonly VaultEvent[]) : []))
}

function isRefused(outcome: Ask['outcome'], code: string): boolean {
  return outcome.type === 'refused' && outcome.code === code
}

/** What a caller no longer waits for may be under way still. */
function isUnderWay({ step: from, outcome }: Ask, step: number): boolean {
  const isOpen = outcome.type === 'pending' || (outcome.type === 'refused' && !outcome.isDefinite)
  return from < step && (isOpen || outcome.step > step)
}

/** Whether one was answered before the other was asked for the first time. */
function answeredBefore(one: Issued, other: Issued): boolean {
  const answered = one.asks.flatMap(({ outcome }) => {
    switch (outcome.type) {
      case 'answered':
        return outcome.answer.reply.taken ? [outcome.step] : []
      case 'pending':
      case 'refused':
        return []
      default:
        return unreachable(outcome)
    }
  })
  return Math.min(...answered) < Math.min(...other.asks.map(({ step }) => step))
}

/** Whether one was asked by the same client, of the same runtime, before the other, and nothing put it off. */
function isOvertaken(one: Issued, other: Issued): boolean {
  const [ask, ...more] = one.asks
  const [behind, ...still] = other.asks
  if (ask === undefined || behind === undefined || more.length + still.length > 0) return false
  const isSame = one.client === other.client && ask.runtime === behind.runtime
  const isWaiting = one.command.type === 'move' || other.command.type === 'move'
  const areAnswered = ask.outcome.type === 'answered' && behind.outcome.type === 'answered'
  return isSame && !isWaiting && areAnswered && ask.step < behind.step
}
