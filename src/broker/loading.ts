/** What a queue finds on record when it begins: its messages, how often each was received, and what it was sent. */
import { READ_LIMIT_MAX, type Journal, type StoredRecord } from '../journal/index.ts'
import type { Failure } from './broker.ts'
import { deathOf, mustDie } from './dying.ts'
import { messageIdOf, seqOfKey } from './message-id.ts'
import { extrasOf, hasExtras, headOf, sizeOf } from './message-text.ts'
import type { Known, QueueCore } from './queue-core.ts'
import { recallRedrives, TASKS, tasksPrefix } from './redriving.ts'

/** Messages that are read at once. Others have their turn in between; and what is in hand is little, so it is soon garbage. */
const PAGE = 400
/** Texts that are kept of them, those that are received first: the others are read when it is their turn. */
const TEXTS_KEPT = 1_000

export async function load(core: QueueCore): Promise<void> {
  const { journal, token } = core.shared
  const ofThisStart = token * 2 ** 32
  const notes = await notesIn(core)
  for await (const page of pages(journal, core.messages, '', PAGE)) {
    const now = core.now
    for (const { key, value } of page) {
      const seq = seqOfKey(key)
      const note = notes.size === 0 ? undefined : notes.get(key)
      const slot = admitStored(core, seq, value, now, note)
      if (core.state.size <= TEXTS_KEPT) core.keepText(slot, value)
      if (seq > ofThisStart) core.foundEarly.add(seq)
      if (note === undefined) continue
      core.noted.add(slot)
      if (note.failures !== undefined) core.failures.set(slot, note.failures)
    }
  }
  const known: Known[] = []
  for await (const page of pages(journal, core.dedups))
    for (const { key, value } of page) known.push(knownOf(key, value))
  for (const each of known.toSorted((a, b) => a.until - b.until)) core.known.set(each.key, each)
  for await (const page of pages(journal, TASKS, tasksPrefix(core.entry.id)))
    recallRedrives(core, page)
  // Their last delivery ended with the process that made it.
  for (const slot of core.noted) if (mustDie(core, slot)) deathOf(core, slot, 'its lease was lost')
}

/** A message that is durable already, from the record or from another queue. */
export function admitStored(
  core: QueueCore,
  seq: number,
  text: string,
  now: number,
  note?: Note,
): number {
  const head = headOf(text)
  // Only what has extras has a group; most messages are not looked at any further.
  const mayHaveGroup = hasExtras(text) && (core.entry.config.fifo || text.includes('"group":'))
  const group = mayHaveGroup ? extrasOf(text)?.group : undefined
  const slot = core.state.admit({
    seq,
    level: head.level,
    group: group ?? '',
    sentAt: head.sentAt,
    dueAt: Math.max(head.dueAt, note?.due ?? 0),
    expiresAt: head.expiresAt,
    bytes: sizeOf(text),
    receives: note?.n ?? 0,
    firstReceivedAt: note?.first ?? 0,
    text: undefined,
  })
  core.state.publish(slot, now)
  return slot
}

type Note = Readonly<{ n: number; first: number; due?: number; failures?: readonly Failure[] }>

async function notesIn(core: QueueCore): Promise<ReadonlyMap<string, Note>> {
  const notes = new Map<string, Note>()
  for await (const page of pages(core.shared.journal, core.notes))
    for (const { key, value } of page) notes.set(key, noteOf(value))
  return notes
}

function noteOf(value: string): Note {
  const note: Note = JSON.parse(value)
  return note
}

function knownOf(key: string, value: string): Known {
  const { seq, until }: { seq: number; until: number } = JSON.parse(value)
  const sent = { ok: true, messageId: messageIdOf(seq), seq, duplicate: false } as const
  return { key, sent, until, followers: undefined }
}

async function* pages(
  journal: Journal,
  collection: string,
  prefix = '',
  limit = READ_LIMIT_MAX,
): AsyncGenerator<readonly StoredRecord[]> {
  let reading = journal.readRecords(collection, prefix, { limit })
  for (;;) {
    const page = await reading
    const last = page.at(-1)
    if (last === undefined) return
    // The next one is read while this one is looked at.
    reading = journal.readRecords(collection, prefix, { limit, after: last.key })
    reading.catch(() => undefined) // it is awaited, unless this one was the last that was wanted
    yield page
  }
}
