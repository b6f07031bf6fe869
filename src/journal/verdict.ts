/**
 * The verdict on a batch, the same in every engine.
 *
 * Fence, then ledger, then versions: whoever lost its fence learns that before anything else, and a
 * repeated request is given its first answer although the stream has moved on since. A batch is judged
 * against everything that was granted before it, durable or not, and granted as a whole or not at all.
 */
import { differingFields } from './fingerprint.ts'
import type { Batch, CommitResult, Fence, LedgerEntry, StoredAnswer } from './journal.ts'

/** What an engine has to know to judge a batch. */
export interface View {
  /** The version of a stream, 0 if it has no event. */
  version(stream: string): number
  /** What a request id was answered, as long as it is remembered. */
  answer(
    key: string,
  ): Readonly<Pick<StoredAnswer, 'fingerprint' | 'response' | 'position'>> | undefined
  /** The token that was taken last, 0 if none was. */
  token(fence: string): number
}

export type Refusal = Exclude<CommitResult, Readonly<{ type: 'committed' }>>
export type Verdict = 'granted' | Refusal

export function judge(view: View, batch: Batch): Verdict {
  return fenced(view, batch.fence) ?? answered(view, batch.ledger) ?? conflict(view, batch)
}

/** Whether an answer that was given at `at` is old enough to be forgotten. */
export function isForgotten(at: number, now: number, retentionMs: number): boolean {
  return now - at > retentionMs
}

// A token that nobody was given is as bad as an old one.
function fenced(view: View, fence: Fence | undefined): Refusal | undefined {
  if (fence === undefined) return undefined
  const current = view.token(fence.name)
  if (fence.token === current) return undefined
  return { type: 'fenced', name: fence.name, token: fence.token, current }
}

function answered(view: View, ledger: readonly LedgerEntry[] | undefined): Refusal | undefined {
  if (ledger === undefined) return undefined
  for (const { key, fingerprint } of ledger) {
    const before = view.answer(key)
    if (before === undefined) continue
    if (before.fingerprint === fingerprint)
      return { type: 'duplicate', key, response: before.response, position: before.position }
    return { type: 'mismatch', key, fields: differingFields(before.fingerprint, fingerprint) }
  }
  return undefined
}

function conflict(view: View, batch: Batch): Verdict {
  if (batch.streams !== undefined) {
    for (const { stream, expected } of batch.streams) {
      if (expected === 'any') continue
      const actual = view.version(stream)
      if (actual !== (expected === 'none' ? 0 : expected))
        return { type: 'conflict', stream, expected, actual }
    }
  }
  return uncovered(view, batch)
}

/** A snapshot of history that is not there, not even with this batch, contradicts the stream too. */
function uncovered(view: View, { streams, snapshots }: Batch): Verdict {
  if (snapshots === undefined) return 'granted'
  for (const snapshot of snapshots) {
    if ('dropped' in snapshot) continue
    const { stream, seq } = snapshot
    const added = streams?.find((append) => append.stream === stream)?.events.length ?? 0
    const actual = view.version(stream) + added
    if (seq > actual) return { type: 'conflict', stream, expected: seq, actual }
  }
  return 'granted'
}
