/** A message in somebody's hands, with the ways in which it can leave them. */
import type { Broker, Delivery, QueueFault, QueueName, Settled, Settlement } from '../broker.ts'
import { unlessAborted } from './aborting.ts'

export type Ending = Promise<Settled | QueueFault>
export type EndOptions = Readonly<{ signal?: AbortSignal }>

export type Received<T> = Omit<Delivery, 'body' | 'receipt'> &
  Readonly<{
    body: T
    /** It is done: gone, and durably so. */
    ack(options?: EndOptions): Ending
    /** It failed: again after the back-off of the queue or after `delayMs`, or to the dead letters. */
    nack(options?: EndOptions & Readonly<{ delayMs?: number; reason?: string }>): Ending
    /** Hidden from others for so long from now on. */
    extend(visibilityMs: number, options?: EndOptions): Ending
    /** Not looked at: back to its place, and this delivery does not count. */
    release(options?: EndOptions): Ending
    /** To the dead letters at once. */
    reject(reason: string, options?: EndOptions): Ending
  }>

export function receivedOf<T>(
  broker: Broker,
  name: QueueName,
  delivery: Delivery,
  body: T,
): Received<T> {
  const { receipt, ...message } = delivery
  const end = (item: Settlement, options: EndOptions = {}): Ending =>
    unlessAborted(options.signal, () => settleOne(broker, name, item))
  return {
    ...message,
    body,
    ack: (options) => end({ type: 'delete', receipt }, options),
    nack: (options = {}) => {
      const { signal: _, ...rest } = options
      return end({ type: 'nack', receipt, ...rest }, options)
    },
    extend: (visibilityMs, options) => end({ type: 'extend', receipt, visibilityMs }, options),
    release: (options) => end({ type: 'release', receipt }, options),
    reject: (reason, options) => end({ type: 'reject', receipt, reason }, options),
  }
}

export async function settleOne(broker: Broker, name: QueueName, item: Settlement): Ending {
  const [settled] = await broker.settle(name, [item])
  return settled!
}
