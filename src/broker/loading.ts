/** What a queue finds on record when it begins: its messages, how often each was received, and what it was sent. */
import { READ_LIMIT_MAX, type Journal, type StoredRecord } from '../journal/index.ts'
import type { Failure } from './broker.ts'
import { messageIdOf, seqOfKey } from './message-id.ts'
import { bodyOf, extrasOf, headOf } from './message-text.ts'
import type { QueueCore } from './queue-core.ts'

export async function load(core: QueueCore): Promise<void> {
  const { journal } = core.shared
  const notes = await notesIn(core)
  const loaded: number[] = []
  for await (const page of pages(journal, core.messages)) {
    const now = core.now
    for (const { key, value } of page) {
      const seq = seqOfKey(key)
      const note = notes.get(key)
      const slot = admitStored(core, seq, value, note?.n ?? 0, note?.first ?? 0, now)
      loaded[slot] = seq
      if (note === undefined) continue
      core.noted.add(slot)
      if (note.failures !== undefined) core.failures.set(slot, note.failures)
    }
  }
  core.loaded = Float64Array.from(loaded)
  for await (const page of pages(journal, core.dedups))
    for (const { key, value } of page) remember(core, key, value)
  core.isLoaded = true
}

/** A message that is durable already, from the record or from another queue. */
export function admitStored(
  core: QueueCore,
  seq: number,
  text: string,
  receives: number,
  firstReceivedAt: number,
  now: number,
): number {
  const head = headOf(text)
  // Only what has extras has a group; most messages are not looked at any further.
  const group =
    core.entry.config.fifo || text.includes('"group":') ? extrasOf(text)?.group : undefined
  const slot = core.state.admit({
    ...head,
    seq,
    group: group ?? '',
    expiresAt: core.expiryOf(head.sentAt, head.expiresAt),
    bytes: Buffer.byteLength(bodyOf(text)),
    receives,
    firstReceivedAt,
    text: undefined,
  })
  if (head.expiresAt !== Infinity) core.ownLimits.set(slot, head.expiresAt)
  core.keepText(slot, text)
  core.state.publish(slot, now)
  return slot
}

type Note = Readonly<{ n: number; first: number; failures?: readonly Failure[] }>

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

/** In order of time, as they were: the line of those to be forgotten begins with the oldest. */
function remember(core: QueueCore, key: string, value: string): void {
  const { seq, until }: { seq: number; until: number } = JSON.parse(value)
  const sent = { ok: true, messageId: messageIdOf(seq), seq, duplicate: false } as const
  core.known.set(key, { sent, until, followers: undefined })
}

async function* pages(
  journal: Journal,
  collection: string,
): AsyncGenerator<readonly StoredRecord[]> {
  let after: string | undefined
  for (;;) {
    const page = await journal.readRecords(collection, '', {
      limit: READ_LIMIT_MAX,
      ...(after !== undefined && { after }),
    })
    if (page.length === 0) return
    yield page
    after = page.at(-1)!.key
  }
}
