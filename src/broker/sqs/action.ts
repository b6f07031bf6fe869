/**
 * An action: what it takes, which queue it is about, and what it does. Four moves and no more: read the input, ask
 * the broker, translate a refusal, say what came of it. How that is written down is the protocol's business.
 */
import type { RawRequest } from '../../http/index.ts'
import type { Broker, QueueFault, QueueInfo, QueueName } from '../broker.ts'
import type { Caller } from './access.ts'
import { SqsError, sqsErrorOf } from './errors.ts'
import { text, type InputOf, type InputShape, type RawInput } from './input.ts'
import type { SqsLimits } from './limits.ts'
import { queueAt } from './places.ts'
import type { ReceiptHandles } from './receipt-handle.ts'
import type { Turns } from '../turns.ts'

export type SqsCall = Readonly<{
  broker: Broker
  limits: SqsLimits
  handles: ReceiptHandles
  /** Changes of attributes that begin with what is there. */
  turns: Turns
  priorityAttribute: string
  caller: Caller
  /** Where the caller found us; queues are there too. */
  origin: string
  request: RawRequest
}>

/** In the names and kinds of AWS JSON; undefined where there is nothing to say. */
export type Output = Readonly<Record<string, unknown>> | undefined

export type Action = Readonly<{
  name: string
  shape: InputShape
  /** Checks that the caller may, and does it. */
  run(call: SqsCall, input: RawInput): Output | Promise<Output>
}>

/** An action that is about one queue, which its URL names, or the path of the request. */
export function queueAction<S extends InputShape>(
  name: string,
  shape: S,
  run: (call: SqsCall, queue: QueueName, input: InputOf<S>) => Output | Promise<Output>,
): Action {
  return action(name, { QueueUrl: text, ...shape }, (call, input: RawInput) => {
    const { request, caller } = call
    const { QueueUrl = pathOf(request.url) } = input
    const url = required(typeof QueueUrl === 'string' ? QueueUrl : undefined, 'QueueUrl')
    const queue = queueAt(url, caller.region)
    caller.check(name, queue)
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- read by this shape
    return run(call, queue, input as InputOf<S>)
  })
}

/** Any other; it checks itself that the caller may. */
export function action<S extends InputShape>(
  name: string,
  shape: S,
  run: (call: SqsCall, input: InputOf<S>) => Output | Promise<Output>,
): Action {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- read by this shape
  return { name, shape, run: (call, input) => run(call, input as InputOf<S>) }
}

export function required<T>(value: T | undefined, parameter: string): T {
  if (value !== undefined && value !== '') return value
  throw new SqsError('MissingParameter', `The request must contain the parameter ${parameter}.`)
}

/** What the broker said, unless it refused. */
export function granted<T extends object>(answer: T | QueueFault): T {
  if (isRefusal(answer)) throw sqsErrorOf(answer)
  return answer
}

export function isRefusal(answer: object): answer is QueueFault {
  return 'ok' in answer && answer.ok === false
}

export function describe({ broker }: SqsCall, queue: QueueName): QueueInfo {
  return granted(broker.describe(queue))
}

function pathOf(url: string): string {
  const at = url.indexOf('?')
  const path = at === -1 ? url : url.slice(0, at)
  return path === '/' ? '' : path
}
