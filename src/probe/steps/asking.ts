/**
 * How a step asks for something: by a channel that every thread of the run has, to the main thread,
 * which asks the runner.
 */
import { BroadcastChannel, threadId } from 'node:worker_threads'

import type { ServiceInput, ServiceName, ServiceOutput } from './services.ts'

export const STEPS_CHANNEL = 'flytower:steps'

export type StepsLine =
  | Readonly<{ type: 'call'; id: string; name: string; input: unknown }>
  | Readonly<{ type: 'answer'; id: string; value: unknown }>
  | Readonly<{ type: 'refusal'; id: string; code: string; message: string }>

/** A call that was not granted; `code` says which fault it was. */
export class Refused extends Error {
  override readonly name: string = 'Refused'
  readonly code: string

  constructor(code: string, message: string) {
    super(message)
    this.code = code
  }
}

const waiting = new Map<string, PromiseWithResolvers<unknown>>()
let channel: BroadcastChannel | undefined
let asked = 0

export async function ask<Name extends ServiceName>(
  name: Name,
  input: ServiceInput<Name>,
): Promise<ServiceOutput<Name>> {
  channel ??= open()
  asked += 1
  const id = `${threadId}-${asked}`
  const answer = Promise.withResolvers<unknown>()
  waiting.set(id, answer)
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- no window
  channel.postMessage({ type: 'call', id, name, input } satisfies StepsLine)
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- what the contract says
  return answer.promise as Promise<ServiceOutput<Name>>
}

function open(): BroadcastChannel {
  const opened = new BroadcastChannel(STEPS_CHANNEL)
  opened.unref()
  opened.addEventListener('message', (event) => {
    if (!(event instanceof MessageEvent)) return
    const line: StepsLine = event.data
    const answer = waiting.get(line.id)
    if (answer === undefined || line.type === 'call') return
    waiting.delete(line.id)
    if (line.type === 'answer') answer.resolve(line.value)
    else answer.reject(new Refused(line.code, line.message))
  })
  return opened
}
