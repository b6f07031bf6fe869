/**
 * Request and reply.
 *
 * An ask always ends: with the answer, or rejected with an Accident whose code
 * says why (`deadline-passed`, `actor-stopped`, `mailbox-full`, …), or with the
 * reason of the signal that aborted it.
 */
import { Accident, fault } from '../std/index.ts'
import { ASK_DEADLINE_MS_DEFAULT } from './internal/asks.ts'
import { Cell } from './internal/cell.ts'
import { Reply } from './internal/reply.ts'
import { notAnActor } from './internal/refusals.ts'
import type { Ref } from './ref.ts'

export type AskOptions = Readonly<{ deadlineMs?: number; signal?: AbortSignal }>

/** Tells `target` the message that `make` builds around a reply address, and waits for what is told to it. */
export function ask<const M, R>(
  target: Ref<M>,
  make: (replyTo: Ref<R>) => M,
  options?: AskOptions,
): Promise<R> {
  const cell: unknown = target
  if (!(cell instanceof Cell)) throw notAnActor(target.path)
  const deadlineMs = options?.deadlineMs ?? ASK_DEADLINE_MS_DEFAULT
  if (!Number.isFinite(deadlineMs)) throw badDeadline(cell, deadlineMs)
  if (options?.signal?.aborted === true) return refused(options.signal)
  const reply = new Reply(cell, deadlineMs)
  const promise = new Promise<unknown>((resolve, reject) => {
    reply.resolve = resolve
    reply.reject = reject
  })
  const refusal = target.tell(make(reply))
  if (refusal !== undefined) reply.fail(new Accident(refusal))
  else if (reply.resolve !== null) {
    cell.core.asks.add(reply)
    if (options?.signal !== undefined) heed(reply, options.signal)
  }
  return promise as Promise<R>
}

async function refused(signal: AbortSignal): Promise<never> {
  throw signal.reason
}

function heed(reply: Reply, signal: AbortSignal): void {
  if (signal.aborted) {
    reply.fail(signal.reason) // by the message itself, or by telling it
    return
  }
  const onAbort = (): void => reply.fail(signal.reason)
  signal.addEventListener('abort', onAbort, { once: true })
  reply.onSettled = () => signal.removeEventListener('abort', onAbort)
}

function badDeadline(target: Cell, deadlineMs: number): Accident {
  return new Accident(
    fault('bad-option', `an ask of ${target.path} cannot wait for ${deadlineMs} ms`, {
      actor: target.path,
      option: 'deadlineMs',
      given: deadlineMs,
      remedy: 'give a finite number of milliseconds: an ask always ends',
    }),
  )
}
