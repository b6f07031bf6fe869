/**
 * Request and reply.
 *
 * An ask always ends: with the answer, or rejected with an Accident whose code
 * says why (`deadline-passed`, `actor-stopped`, `mailbox-full`, …), or with the
 * reason of the signal that aborted it.
 */
import { Accident } from '../std/index.ts'
import { ASK_DEADLINE_MS_DEFAULT } from './internal/asks.ts'
import { Cell } from './internal/cell.ts'
import { Reply } from './internal/reply.ts'
import { notAnActor } from './internal/refusals.ts'
import type { Ref } from './ref.ts'

export type AskOptions = Readonly<{ deadlineMs?: number; signal?: AbortSignal }>

// One executor for all asks: a closure for each would cost as much as the message.
let resolve: (value: unknown) => void
let reject: (reason: unknown) => void
function capture(ok: (value: unknown) => void, failed: (reason: unknown) => void): void {
  resolve = ok
  reject = failed
}

/** Tells `target` the message that `make` builds around a reply address, and waits for what is told to it. */
export function ask<M, R>(
  target: Ref<M>,
  make: (replyTo: Ref<R>) => M,
  options?: AskOptions,
): Promise<R> {
  const cell: unknown = target
  if (!(cell instanceof Cell)) throw notAnActor(target.path)
  const promise = new Promise<unknown>(capture)
  const { asks } = cell.core
  const deadlineMs = options?.deadlineMs ?? ASK_DEADLINE_MS_DEFAULT
  const reply = new Reply(cell, deadlineMs, resolve, reject)
  const refusal = target.tell(make(reply as Ref<R>))
  if (refusal !== undefined) reject(new Accident(refusal))
  else if (reply.resolve !== null) {
    asks.add(reply)
    if (options?.signal !== undefined) heed(reply, options.signal)
  }
  return promise as Promise<R>
}

function heed(reply: Reply, signal: AbortSignal): void {
  if (signal.aborted) {
    reply.fail(signal.reason)
    return
  }
  const onAbort = (): void => reply.fail(signal.reason)
  signal.addEventListener('abort', onAbort, { once: true })
  reply.onSettled = () => signal.removeEventListener('abort', onAbort)
}
