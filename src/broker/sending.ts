/** Sends: judged, given a number, written, and only then seen. */
import { createHash } from 'node:crypto'

import { PAYLOAD_BYTES_MAX, type RecordWrite } from '../journal/index.ts'
import type { Ref } from '../kernel/index.ts'
import { fault } from '../std/index.ts'
import type { NewMessage, QueueFault, Sent } from './broker.ts'
import { notesToDelete } from './counting.ts'
import { deathOf } from './dying.ts'
import {
  BROKER_BATCH_MAX,
  DEDUP_ID_CHARS_MAX,
  DEDUP_IDS_MAX,
  DELAY_MS_MAX,
  GROUP_CHARS_MAX,
  PARKED_MAX,
  SEND_BYTES_MAX,
  UNWRITTEN_BYTES_MAX,
} from './limits.ts'
import { messageIdOf, keyOf } from './message-id.ts'
import { bytesOf, textOf, type Extras, type Head } from './message-text.ts'
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
  if (core.writing.bytes > UNWRITTEN_BYTES_MAX) return refuse(messages, replyTo, overloaded(core))
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

export function refuseBlocked(core: QueueCore, reason: QueueFault): void {
  for (let first = core.blocked.popFront(); first !== undefined; first = core.blocked.popFront())
    refuse(first.messages, first.replyTo, reason)
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
  readonly #leaving: { slot: number; dueAt: number }[] = []
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
    const head = this.#headOf(message)
    const text = textOf(head, extrasOf(message), message.body)
    const bytes = Buffer.byteLength(text)
    const full =
      tooMuch(bytes, this.#bytes + bytes) ??
      (dedupKey !== undefined && core.known.size >= DEDUP_IDS_MAX ? queueFull(core) : undefined) ??
      this.#makeRoom(message)
    if (full !== undefined) return void this.#answers.push(full)
    this.#bytes += bytes
    const sent = this.#admit(message, head, text)
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
    this.#core.count('duplicates')
    const index = this.#answers.push({ ...known.sent, duplicate: true }) - 1
    if (known.followers === undefined) return
    this.#open++
    known.followers.push((outcome) => {
      if (outcome !== undefined) this.#answers[index] = outcome
      this.#answerIfComplete()
    })
  }

  /** Undefined if there is room, or if there is some now: what had to go for it leaves with the same batch. */
  #makeRoom(message: NewMessage): QueueFault | undefined {
    const core = this.#core
    const { overflow } = core.entry.config
    while (!hasRoom(core, [message])) {
      const oldest = overflow === 'reject' || overflow === 'block' ? NO_SLOT : oldestOf(core)
      if (oldest === NO_SLOT) return queueFull(core)
      if (overflow === 'dead-letter-oldest') {
        deathOf(core, oldest, 'pushed out by a newer message')
        continue
      }
      this.#leaving.push({ slot: oldest, dueAt: core.state.slots.dueAt[oldest]! })
      core.state.leave(oldest)
      this.#records.push({ collection: core.messages, key: core.keyOf(oldest), deleted: true })
      this.#notes.push(...notesToDelete(core, oldest))
    }
    return undefined
  }

  #headOf({ priority, delayMs, ttlMs }: NewMessage): Head {
    const { config } = this.#core.entry
    const now = this.#now
    return {
      sentAt: now,
      level: config.fifo ? 0 : (priority ?? 0),
      dueAt: now + (delayMs ?? config.delayMs),
      expiresAt: ttlMs === undefined ? Infinity : now + ttlMs,
    }
  }

  #admit(message: NewMessage, head: Head, text: string): Sent {
    const core = this.#core
    const seq = core.shared.nextSeq()
    const slot = core.state.admit({
      ...head,
      seq,
      group: message.group ?? '',
      bytes: bytesOf(message),
      receives: 0,
      firstReceivedAt: 0,
      text: undefined,
    })
    core.keepText(slot, text)
    this.#slots.push(slot)
    this.#records.push({ collection: core.messages, key: keyOf(seq), value: text })
    return { ok: true, messageId: messageIdOf(seq), seq, duplicate: false }
  }

  #remember(key: string, sent: Sent): void {
    const { known, dedups, entry } = this.#core
    const until = this.#now + entry.config.dedupWindowMs
    const own: Known = { key, sent, until, followers: [] }
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
    for (const { slot } of this.#leaving) core.release(slot)
    core.count('dropped', this.#leaving.length)
    core.count('sent', this.#slots.length)
    settle(this.#owns, undefined)
    this.#answerIfComplete()
  }

  #failed(reason: QueueFault): void {
    const core = this.#core
    for (const slot of this.#slots) {
      core.forget(slot)
      core.state.retract(slot)
    }
    for (const { slot, dueAt } of this.#leaving) core.stay(slot, dueAt)
    for (const own of this.#owns) if (core.known.get(own.key) === own) core.known.delete(own.key)
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
  if (!isText(body) || !isText(group ?? '') || !isText(dedupId ?? ''))
    return badMessage('the body, the group and the id are text: whole characters, and no NUL')
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

function hasRoom(core: QueueCore, messages: readonly NewMessage[]): boolean {
  const { maxLength, maxBytes } = core.entry.config
  if (maxLength === Infinity && maxBytes === Infinity) return true
  const { state } = core
  let bytes = state.bytes - state.leavingBytes
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
  if (dedupId !== undefined) return shortKey(`${scope}i${dedupId}`)
  if (!contentDedup) return undefined
  return shortKey(`${scope}c${digestOf(body)}`)
}

/** The key of a record has its bound, and ids may be of any script. */
function shortKey(key: string): string {
  return key.length <= DEDUP_ID_CHARS_MAX ? key : `h${digestOf(key)}`
}

function digestOf(text: string): string {
  return createHash('sha256').update(text).digest('base64url')
}

/** Ids that are forgotten with one send: more than can come with it. */
const FORGOTTEN_MAX = 2 * BROKER_BATCH_MAX

/** Ids whose time is over go with whatever is written next. */
function forgetDedups(core: QueueCore, now: number, notes: RecordWrite[]): void {
  for (const [key, { until, followers }] of core.known) {
    if (until > now || followers !== undefined || notes.length >= FORGOTTEN_MAX) return
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

function isText(text: string): boolean {
  return text.isWellFormed() && !text.includes('\0')
}

/** What is written of a message may be more than what counts as its size. */
function tooMuch(bytes: number, bytesOfAll: number): QueueFault | undefined {
  if (bytes > PAYLOAD_BYTES_MAX)
    return fault('message-too-large', 'the message cannot be written, with all that is escaped', {
      bytes,
      max: PAYLOAD_BYTES_MAX,
    })
  if (bytesOfAll <= SEND_BYTES_MAX) return undefined
  return fault(
    'message-too-large',
    `the messages of one send have ${SEND_BYTES_MAX} bytes at most`,
    {
      bytes: bytesOfAll,
      max: SEND_BYTES_MAX,
    },
  )
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

function overloaded({ writing }: QueueCore): QueueFault {
  return fault('broker-overloaded', 'too much of what was sent waits to be durable', {
    bytes: writing.bytes,
    remedy: 'send again when some of it has been answered',
  })
}

function sendPaused({ entry }: QueueCore): QueueFault {
  return fault('queue-paused', `the queue ${entry.name.name} takes no messages`, {
    remedy: 'resume it',
  })
}
