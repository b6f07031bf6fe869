/**
 * How a step asks for something: by a channel that every thread of the run has, to the main thread,
 * which asks the runner.
 *
 * What concerns events is asked for the scenario: its events carry its correlation ID, and it sees what
 * came after it began. Built-in steps and those of a bundle come through here alike.
 */
import { BroadcastChannel, threadId } from 'node:worker_threads'

import type {
  EventQuery,
  EventView,
  ProduceInput,
  ServiceInput,
  ServiceName,
  ServiceOutput,
} from './services.ts'
import { currentState, type ScenarioState } from './state.ts'

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

type Waiting = PromiseWithResolvers<unknown> & Readonly<{ stack: string }>

const waiting = new Map<string, Waiting>()
let channel: BroadcastChannel | undefined
let asked = 0

export async function ask<Name extends ServiceName>(
  name: Name,
  input: ServiceInput<Name>,
): Promise<ServiceOutput<Name>> {
  const caller = { stack: '' }
  Error.captureStackTrace(caller, ask)
  const state = currentState()
  const whole = state === undefined ? input : await completed(name, input, state)
  const answer = await called(name, whole, caller.stack)
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- what the contract says
  if (name === 'produce') state?.produced.push(answer as EventView)
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- what the contract says
  return answer as ServiceOutput<Name>
}

/** What the input leaves out and the scenario knows. What is no input of that name is refused by the runner. */
async function completed(name: string, input: unknown, state: ScenarioState): Promise<unknown> {
  const isAboutEvents = name === 'produce' || name === 'query' || name === 'await-events'
  if (!isAboutEvents || typeof input !== 'object' || Array.isArray(input)) return input
  const given: Partial<ProduceInput & EventQuery> = { ...input }
  const correlation = given.correlation ?? state.correlation
  if (name === 'produce') return { ...given, correlation }
  return { ...given, correlation, since: given.since ?? (await state.began) }
}

function called(name: string, input: unknown, stack: string): Promise<unknown> {
  channel ??= open()
  asked += 1
  const id = `${threadId}-${asked}`
  const answer = Promise.withResolvers<unknown>()
  waiting.set(id, { ...answer, stack })
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- no window
  channel.postMessage({ type: 'call', id, name, input } satisfies StepsLine)
  return answer.promise
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
    else answer.reject(refused(line, answer.stack))
  })
  return opened
}

/** Its stack leads to the step that asked, and not to the message that answered. */
function refused(
  { code, message }: Extract<StepsLine, { type: 'refusal' }>,
  stack: string,
): Refused {
  const error = new Refused(code, message)
  error.stack = stack.replace(/^Error[^\n]*/, () => `${error.name}: ${message}`)
  return error
}
