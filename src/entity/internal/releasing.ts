/**
 * The end of a turn: its caller is answered.
 *
 * What took effect is answered as it was decided. What came to nothing is looked up first if it has a
 * request id: a repeated request may find a state that refuses it today, and still has to get the
 * answer it was given when it was granted.
 */
import { differingFields, type StoredAnswer } from '../../journal/index.ts'
import type { Active } from './active.ts'
import { requestMismatch } from './faults.ts'
import type { Request } from './request.ts'

/** All before it is durable, and so is what it wrote itself. */
export function release(entity: Active, request: Request): void {
  const { core, position } = entity
  const { requestId } = request.asking
  request.release()
  if (request.outcome === 'accept') {
    if (requestId !== undefined) core.counts.ledgerMisses++
    const { reply, version } = request
    request.conclude({ reply, version, position, replayed: false })
  } else if (requestId === undefined) finish(request, position)
  else if (!request.isDone) void finishUnlessStored(request, requestId, position)
}

async function finishUnlessStored(
  request: Request,
  requestId: string,
  position: number,
): Promise<void> {
  const { journal, counts } = request.core
  try {
    if (settleStored(request, await journal.lookup(requestId))) return
    counts.ledgerMisses++
    finish(request, position)
  } catch (error) {
    request.refuse(error)
  }
}

function finish(request: Request, position: number): void {
  const { reply, version } = request
  if (request.outcome === 'refuse') request.refuse(reply)
  else request.conclude({ reply, version, position, replayed: false })
}

/** Gives the answer that was stored for the request id, if there is one. */
export function settleStored(request: Request, stored: StoredAnswer | undefined): boolean {
  if (stored === undefined) return false
  const { fingerprint = '' } = request.asking
  if (stored.fingerprint === fingerprint) replay(request, stored)
  else mismatch(request, differingFields(stored.fingerprint, fingerprint))
  return true
}

/** The answer of the first time. */
export function replay(
  request: Request,
  { response, position }: Readonly<Pick<StoredAnswer, 'response' | 'position'>>,
): void {
  request.core.counts.ledgerHits++
  request.conclude({ ...storedReply(response), position, replayed: true })
}

export function storedReply(response: string): Readonly<{ reply: unknown; version: number }> {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- written by `accept`
  return JSON.parse(response) as { reply: unknown; version: number }
}

export function mismatch(request: Request, fields: readonly string[]): void {
  request.core.counts.ledgerMismatches++
  request.refuse(requestMismatch(request, request.asking.requestId ?? '', fields))
}
