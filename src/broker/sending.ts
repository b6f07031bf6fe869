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

type Answers = (Sent | QueueFault)[]

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
  const now = core.now
  const answers: Answers = []
  const slots: number[] = []
  const leaving: number[] = []
  const owns: Known[] = []
  const records: RecordWrite[] = []
  const notes: RecordWrite[] = []
  let bytes = 0
  /** Answers that others have to give first. */
  let open = 1
  const answerIfComplete = (): void => {
    open--
    if (open === 0) replyTo.tell(answers)
  }

  for (const [index, message] of messages.entries()) {
    const refusal = judge(core, message) ?? makeRoom(core, message, records, leaving)
    if (refusal !== undefined) {
      answers[index] = refusal
      continue
    }
    const dedupKey = dedupKeyOf(core, message)
    const known = dedupKey === undefined ? undefined : core.known.get(dedupKey)
    if (known !== undefined && known.until > now) {
      core.counts.duplicates++
      answers[index] = { ...known.sent, duplicate: true }
      if (known.followers !== undefined) {
        open++
        known.followers.push((outcome) => {
          if (outcome !== undefined) answers[index] = outcome
          answerIfComplete()
        })
      }
      continue
    }
    const seq = core.shared.nextSeq()
    const level = core.entry.config.fifo ? 0 : (message.priority ?? 0)
    const own = message.ttlMs === undefined ? Infinity : now + message.ttlMs
    const head = {
      sentAt: now,
      level,
      dueAt: now + (message.delayMs ?? core.entry.config.delayMs),
      expiresAt: own,
    }
    const text = textOf(head, extrasOf(message), message.body)
    const size = bytesOf(message)
    const slot = core.state.admit({
      ...head,
      seq,
      group: message.group ?? '',
      expiresAt: core.expiryOf(now, own),
      bytes: size,
      receives: 0,
      firstReceivedAt: 0,
      text: undefined,
    })
    core.keepText(slot, text)
    if (own !== Infinity) core.ownLimits.set(slot, own)
    slots.push(slot)
    records.push({ collection: core.messages, key: keyOf(seq), value: text })
    bytes += text.length * 3
    const sent: Sent = { ok: true, messageId: messageIdOf(seq), seq, duplicate: false }
    answers[index] = sent
    if (dedupKey !== undefined) {
      const until = now + core.entry.config.dedupWindowMs
      const entry: Known = { sent, until, followers: [] }
      core.known.delete(dedupKey) // so that the line is in order of time
      core.known.set(dedupKey, entry)
      owns.push(entry)
      const value = JSON.stringify({ seq, until })
      notes.push({ collection: core.dedups, key: dedupKey, value })
    }
  }
  forgetDedups(core, now, notes)
  if (slots.length === 0 && leaving.length === 0) return answerIfComplete()

  core.writing.add({
    messages: records,
    notes,
    bytes,
    done() {
      const at = core.now
      for (const slot of slots) core.state.publish(slot, at)
      for (const slot of leaving) {
        core.forget(slot)
        core.state.release(slot)
      }
      core.counts.sent += slots.length
      settle(owns, undefined)
      answerIfComplete()
    },
    failed(reason) {
      const at = core.now
      for (const slot of slots) {
        core.forget(slot)
        core.state.retract(slot)
      }
      for (const slot of leaving) core.state.stay(slot, at)
      for (const [key, entry] of core.known) if (owns.includes(entry)) core.known.delete(key)
      settle(owns, reason)
      for (const [index, answer] of answers.entries())
        if (answer.ok && !answer.duplicate) answers[index] = reason
      answerIfComplete()
    },
  })
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
  const { dedupWindowMs, contentDedup } = core.entry.config
  if (dedupWindowMs === 0) return undefined
  if (message.dedupId !== undefined) return `i${message.dedupId}`
  if (!contentDedup) return undefined
  return `c${createHash('sha256').update(message.body).digest('base64url')}`
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
