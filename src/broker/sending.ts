/** Sends: judged, given a number, written, and only then seen. */
import { createHash } from 'node:crypto'

import type { RecordWrite } from '../journal/index.ts'
import type { Ref } from '../kernel/index.ts'
import { fault } from '../std/index.ts'
import type { NewMessage, QueueFault, Sent } from './broker.ts'
import { deathOf } from './dying.ts'
import {
  BROKER_BATCH_MAX,
  DEDUP_ID_CHARS_MAX,
  DELAY_MS_MAX,
  GROUP_CHARS_MAX,
  PARKED_MAX,
} from './limits.ts'
import { messageIdOf, keyOf } from './message-id.ts'
import { textOf, type Extras } from './message-text.ts'
import type { Known, QueueCore } from './queue-core.ts'
import { DELAYED, NO_SLOT, READY } from './slots.ts'

export type Send = Readonly<{
  type: 'send'
  messages: readonly NewMessage[]
  replyTo: Ref<readonly (Sent | QueueFault)[]>
}>

export function send(core: QueueCore, { messages, replyTo }: Send): void {
  const { config, paused } = core.entry
  if (paused.send) return refuse(messages, replyTo, sendPaused(core))
  if (messages.length > BROKER_BATCH_MAX)
    return refuse(messages, replyTo, badMessage(`${messages.length} messages are too many at once`))
  if (config.overflow === 'block' && (!hasRoom(core, messages) || core.blocked.length > 0)) {
    if (core.blocked.length >= PARKED_MAX) return refuse(messages, replyTo, queueFull(core))
    core.blocked.pushBack({ messages, replyTo, until: core.now + config.blockMs })
    return
  }
  take(core, messages, replyTo)
}

/** Sends that waited for room have it, or have waited long enough. */
export function sendBlocked(core: QueueCore): void {
  for (;;) {
    const first = core.blocked.peekFront()
    if (first === undefined) return
    if (hasRoom(core, first.messages)) take(core, first.messages, first.replyTo)
    else if (core.now >= first.until) refuse(first.messages, first.replyTo, queueFull(core))
    else return
    core.blocked.popFront()
  }
}

function take(
  core: QueueCore,
  messages: readonly NewMessage[],
  replyTo: Ref<readonly (Sent | QueueFault)[]>,
): void {
  const intake = new Intake(core, replyTo)
  for (const message of messages) intake.add(message)
  intake.write()
}

/** What is taken of one send, until it is durable. */
class Intake {
  readonly #core: QueueCore
  readonly #replyTo: Ref<readonly (Sent | QueueFault)[]>
  readonly #answers: (Sent | QueueFault)[] = []
  /** Answers that others have to give first, and our own. */
  #open = 1
  readonly #slots: number[] = []
  /** Who had to go to make room. */
  readonly #leaving: number[] = []
  readonly #owns: Known[] = []
  readonly #records: RecordWrite[] = []
  readonly #notes: RecordWrite[] = []
  #bytes = 0
  readonly #now: number

  constructor(core: QueueCore, replyTo: Ref<readonly (Sent | QueueFault)[]>) {
    this.#core = core
    this.#replyTo = replyTo
    this.#now = core.now
  }

  add(message: NewMessage): void {
    const core = this.#core
    const refusal = judge(core, message)
    if (refusal !== undefined) return void this.#answers.push(refusal)
    const dedupKey = dedupKeyOf(core, message)
    const known = dedupKey === undefined ? undefined : core.known.get(dedupKey)
    if (known !== undefined && known.until > this.#now) return this.#follow(known)
    const full = makeRoom(core, message, this.#records, this.#leaving)
    if (full !== undefined) return void this.#answers.push(full)
    const sent = this.#admit(message)
    this.#answers.push(sent)
    if (dedupKey !== undefined) this.#remember(dedupKey, sent)
  }

  write(): void {
    const core = this.#core
    forgetDedups(core, this.#now, this.#notes)
    if (this.#slots.length === 0 && this.#leaving.length === 0) return this.#answerIfComplete()
    core.writing.add({
      messages: this.#records,
      notes: this.#notes,
      bytes: this.#bytes,
      done: () => this.#done(),
      failed: (reason) => this.#failed(reason),
    })
  }

  /** It was sent before. As long as that is not durable, neither is this. */
  #follow(known: Known): void {
    this.#core.counts.duplicates++
    const index = this.#answers.push({ ...known.sent, duplicate: true }) - 1
    if (known.followers === undefined) return
    this.#open++
    known.followers.push((outcome) => {
      if (outcome !== undefined) this.#answers[index] = outcome
      this.#answerIfComplete()
    })
  }

  #admit(message: NewMessage): Sent {
    const core = this.#core
    const now = this.#now
    const { config } = core.entry
    const seq = core.shared.nextSeq()
    const own = message.ttlMs === undefined ? Infinity : now + message.ttlMs
    const head = {
      sentAt: now,
      level: config.fifo ? 0 : (message.priority ?? 0),
      dueAt: now + (message.delayMs ?? config.delayMs),
      expiresAt: own,
    }
    const text = textOf(head, extrasOf(message), message.body)
    const slot = core.state.admit({
      ...head,
      seq,
      group: message.group ?? '',
      expiresAt: core.expiryOf(now, own),
      bytes: bytesOf(message),
      receives: 0,
      firstReceivedAt: 0,
      text: undefined,
    })
    core.keepText(slot, text)
    if (own !== Infinity) core.ownLimits.set(slot, own)
    this.#slots.push(slot)
    this.#records.push({ collection: core.messages, key: keyOf(seq), value: text })
    this.#bytes += text.length * 3
    return { ok: true, messageId: messageIdOf(seq), seq, duplicate: false }
  }

  #remember(key: string, sent: Sent): void {
    const { known, dedups, entry } = this.#core
    const until = this.#now + entry.config.dedupWindowMs
    const own: Known = { sent, until, followers: [] }
    known.delete(key) // so that the line is in order of time
    known.set(key, own)
    this.#owns.push(own)
    const value = JSON.stringify({ seq: sent.seq, until })
    this.#notes.push({ collection: dedups, key, value })
  }

  #done(): void {
    const core = this.#core
    const now = core.now
    for (const slot of this.#slots) core.state.publish(slot, now)
    for (const slot of this.#leaving) {
      core.forget(slot)
      core.state.release(slot)
    }
    core.counts.sent += this.#slots.length
    settle(this.#owns, undefined)
    this.#answerIfComplete()
  }

  #failed(reason: QueueFault): void {
    const core = this.#core
    for (const slot of this.#slots) {
      core.forget(slot)
      core.state.retract(slot)
    }
    for (const slot of this.#leaving) core.state.stay(slot, core.now)
    for (const [key, known] of core.known) if (this.#owns.includes(known)) core.known.delete(key)
    settle(this.#owns, reason)
    for (const [index, answer] of this.#answers.entries())
      if (answer.ok && !answer.duplicate) this.#answers[index] = reason
    this.#answerIfComplete()
  }

  #answerIfComplete(): void {
    this.#open--
    if (this.#open === 0) this.#replyTo.tell(this.#answers)
  }
}

function settle(owns: readonly Known[], outcome: QueueFault | undefined): void {
  for (const entry of owns) {
    const { followers = [] } = entry
    entry.followers = undefined
    for (const follow of followers) follow(outcome)
  }
}

function judge(core: QueueCore, message: NewMessage): QueueFault | undefined {
  const { config } = core.entry
  const { priority = 0, delayMs = 0, ttlMs = 1, group, dedupId, body } = message
  if (!Number.isInteger(priority) || priority < 0 || priority > 255)
    return badMessage('the priority is a whole number from 0 to 255')
  if (!(delayMs >= 0 && delayMs <= DELAY_MS_MAX))
    return badMessage(`the delay is from 0 to ${DELAY_MS_MAX} ms`)
  if (!(ttlMs >= 1)) return badMessage('the time to live is 1 ms or more')
  if (group !== undefined && (group === '' || group.length > GROUP_CHARS_MAX))
    return badMessage(`a group has 1 to ${GROUP_CHARS_MAX} characters`)
  if (dedupId !== undefined && (dedupId === '' || dedupId.length > DEDUP_ID_CHARS_MAX))
    return badMessage(`a deduplication id has 1 to ${DEDUP_ID_CHARS_MAX} characters`)
  if (config.fifo && group === undefined) return badMessage('a message of a FIFO queue has a group')
  if (config.fifo && dedupId === undefined && !config.contentDedup)
    return badMessage('a message of this queue has a deduplication id')
  if (!body.isWellFormed() || body.includes('\0'))
    return badMessage('the body is text: whole characters, and no NUL')
  const bytes = bytesOf(message)
  if (bytes <= config.messageBytesMax) return undefined
  return fault(
    'message-too-large',
    `a message of this queue has ${config.messageBytesMax} bytes at most`,
    {
      bytes,
      max: config.messageBytesMax,
    },
  )
}

/** Undefined if there is room, or if there is some now: what had to go for it leaves with the same batch. */
function makeRoom(
  core: QueueCore,
  message: NewMessage,
  records: RecordWrite[],
  leaving: number[],
): QueueFault | undefined {
  const { overflow } = core.entry.config
  while (!hasRoom(core, [message])) {
    const oldest = overflow === 'reject' || overflow === 'block' ? NO_SLOT : oldestOf(core)
    if (oldest === NO_SLOT) return queueFull(core)
    if (overflow === 'dead-letter-oldest') {
      deathOf(core, oldest, 'pushed out by a newer message')
      continue
    }
    core.state.leave(oldest)
    core.counts.dropped++
    leaving.push(oldest)
    records.push({ collection: core.messages, key: core.keyOf(oldest), deleted: true })
  }
  return undefined
}

function hasRoom(core: QueueCore, messages: readonly NewMessage[]): boolean {
  const { maxLength, maxBytes } = core.entry.config
  if (maxLength === Infinity && maxBytes === Infinity) return true
  const { state } = core
  let bytes = state.bytes
  for (const message of messages) bytes += bytesOf(message)
  return state.size - state.leaving + messages.length <= maxLength && bytes <= maxBytes
}

function oldestOf({ state: { slots } }: QueueCore): number {
  for (let slot = slots.oldest; slot !== NO_SLOT; slot = slots.newer[slot]!) {
    const state = slots.state[slot]
    if (state === READY || state === DELAYED) return slot
  }
  return NO_SLOT
}

function dedupKeyOf(core: QueueCore, message: NewMessage): string | undefined {
  const { dedupWindowMs, dedupScope, contentDedup } = core.entry.config
  if (dedupWindowMs === 0) return undefined
  const { group = '', dedupId, body } = message
  const scope = dedupScope === 'group' ? `g${group.length}:${group}` : ''
  if (dedupId !== undefined) return `${scope}i${dedupId}`
  if (!contentDedup) return undefined
  return `${scope}c${createHash('sha256').update(body).digest('base64url')}`
}

/** Ids whose time is over go with whatever is written next. */
function forgetDedups(core: QueueCore, now: number, notes: RecordWrite[]): void {
  for (const [key, { until, followers }] of core.known) {
    if (until > now || followers !== undefined) return
    core.known.delete(key)
    notes.push({ collection: core.dedups, key, deleted: true })
  }
}

function extrasOf(message: NewMessage): Extras | undefined {
  const { attributes, group, dedupId, trace, sender } = message
  if (
    attributes === undefined &&
    group === undefined &&
    dedupId === undefined &&
    trace === undefined &&
    sender === undefined
  )
    return undefined
  return {
    ...(attributes !== undefined && { attributes }),
    ...(group !== undefined && { group }),
    ...(dedupId !== undefined && { dedupId }),
    ...(trace !== undefined && { trace }),
    ...(sender !== undefined && { sender }),
  }
}

/** The body and what Amazon counts of attributes: name, type and value. */
export function bytesOf({ body, attributes }: NewMessage): number {
  let bytes = Buffer.byteLength(body)
  if (attributes === undefined) return bytes
  for (const [name, attribute] of Object.entries(attributes)) {
    const value =
      'text' in attribute
        ? Buffer.byteLength(attribute.text)
        : Buffer.byteLength(attribute.base64, 'base64')
    bytes += Buffer.byteLength(name) + Buffer.byteLength(attribute.type) + value
  }
  return bytes
}

function refuse(
  messages: readonly NewMessage[],
  replyTo: Ref<readonly (Sent | QueueFault)[]>,
  reason: QueueFault,
): void {
  replyTo.tell(messages.map(() => reason))
}

function badMessage(message: string): QueueFault {
  return fault('bad-message', message)
}

function queueFull({ entry, state }: QueueCore): QueueFault {
  return fault('queue-full', `the queue ${entry.name.name} is full`, {
    messages: state.size,
    bytes: state.bytes,
    remedy: 'receive and delete messages, or raise maxLength or maxBytes',
  })
}

function sendPaused({ entry }: QueueCore): QueueFault {
  return fault('queue-paused', `the queue ${entry.name.name} takes no messages`, {
    remedy: 'resume it',
  })
}
