/**
 * Working through a queue: a window of leases that slides.
 *
 *   asked for ──▶ waiting ──▶ running ──▶ done: deleted, or given back with the reason
 *                    └── drained: given back, not counted
 *
 * As soon as a handler is through, the next begins; nobody waits for the slowest of a batch. A lease is extended
 * for as long as its message is held. If it is lost all the same, whoever works on the message hears of it by
 * its signal, because somebody else may have the message by then. A message whose body is wrong never reaches
 * a handler: it goes to the dead letters, with what is wrong.
 */
import { Accident, assert, fault, type Clock, type Log, type Timer } from '../../std/index.ts'
import type { Broker, Delivery, Message, QueueFault, QueueName, Settlement } from '../broker.ts'
import { RECEIVE_MAX, WAIT_MS_MAX } from '../limits.ts'
import { unlessAborted } from './aborting.ts'
import type { ReadBody } from './body.ts'
import { settleOne } from './received.ts'

export type ConsumeOptions = Readonly<{
  /** How many handlers run at once; one unless said otherwise. */
  concurrency?: number
  /** How many messages are held beside those, so that none has to be waited for; as many unless said otherwise. */
  prefetch?: number
  /** Whether a lease lasts as long as its message is held, which it does unless said otherwise. */
  autoExtend?: boolean
  /** How long a lease lasts; as the queue says unless said otherwise. */
  visibilityMs?: number
  /** Ends it: what waits is given back, and handlers hear of it by their own signal. */
  signal?: AbortSignal
}>

/** What a handler knows beside the body. */
export type Handling = Readonly<{
  message: Omit<Message, 'body'>
  /** Aborts when the message is no longer its own, or the consumer is ended by its signal. */
  signal: AbortSignal
}>

/** When it returns the message is deleted; when it throws, given back with the reason. */
export type Handler<T> = (body: T, handling: Handling) => void | Promise<void>

export interface Consumer extends AsyncDisposable {
  /** Why it has ended: undefined if somebody wanted it to, and otherwise what the queue said. */
  readonly ended: Promise<QueueFault | undefined>
  /** Takes no more, lets what runs come to its end, and gives the rest back. */
  drain(options?: Readonly<{ signal?: AbortSignal }>): Promise<void>
}

export type ConsumerParts<T> = Readonly<{
  broker: Broker
  name: QueueName
  clock: Clock
  log: Log
  /** Makes sure that the queue is there, if that is wanted. */
  ready: () => Promise<QueueFault | undefined>
  read: (text: string) => Promise<ReadBody<T>>
}>

/** How soon a consumer asks again that was refused. */
export const CONSUMER_RETRY_MS = 1_000

/** After these there is nothing more to receive. */
const FINAL: ReadonlySet<string> = new Set(['no-such-queue', 'queue-deleted', 'broker-closed'])
/** After these the message belongs to nobody, or to somebody else. */
const LOST: ReadonlySet<string> = new Set([
  ...FINAL,
  'stale-receipt',
  'not-in-flight',
  'bad-receipt',
])

/** A message that is held, from its delivery until its end is durable. */
class Held {
  readonly delivery: Delivery
  readonly visibilityMs: number
  readonly abort: AbortController = new AbortController()
  untilMs: number
  timer: Timer | undefined
  isLost = false

  constructor(delivery: Delivery, visibilityMs: number, untilMs: number) {
    this.delivery = delivery
    this.visibilityMs = visibilityMs
    this.untilMs = untilMs
  }
}

export class SlidingConsumer<T> implements Consumer {
  readonly ended: Promise<QueueFault | undefined>
  readonly #parts: ConsumerParts<T>
  readonly #handler: Handler<T>
  readonly #concurrency: number
  readonly #prefetch: number
  readonly #autoExtend: boolean
  readonly #visibilityMs: number | undefined
  readonly #signal: AbortSignal | undefined
  readonly #held = new Set<Held>()
  /** Those of them that have not begun, in order. */
  readonly #waiting = new Set<Held>()
  readonly #stop = new AbortController()
  readonly #end: (why: QueueFault | undefined) => void
  #running = 0
  #isAsking = false
  #why: QueueFault | undefined
  #retry: Timer | undefined

  constructor(parts: ConsumerParts<T>, handler: Handler<T>, options: ConsumeOptions) {
    const { concurrency = 1, prefetch = concurrency, autoExtend = true } = options
    requireWhole('concurrency', concurrency, 1)
    requireWhole('prefetch', prefetch, 0)
    this.#parts = parts
    this.#handler = handler
    this.#concurrency = concurrency
    this.#prefetch = prefetch
    this.#autoExtend = autoExtend
    this.#visibilityMs = options.visibilityMs
    this.#signal = options.signal
    const { promise, resolve } = Promise.withResolvers<QueueFault | undefined>()
    this.ended = promise
    this.#end = resolve
    if (this.#signal?.aborted === true) this.#abort()
    else this.#signal?.addEventListener('abort', this.#abort, { once: true })
    this.#ask()
  }

  async drain({ signal }: Readonly<{ signal?: AbortSignal }> = {}): Promise<void> {
    this.#stopAsking(undefined)
    await unlessAborted(signal, () => this.ended)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.drain()
  }

  readonly #abort = (): void => {
    this.#stopAsking(undefined)
    for (const held of this.#held) held.abort.abort(this.#signal?.reason)
  }

  #ask(): void {
    const room = this.#concurrency + this.#prefetch - this.#held.size
    const hasEnough = this.#waiting.size > this.#prefetch / 2
    if (this.#isAsking || this.#stop.signal.aborted || room <= 0 || hasEnough) return
    this.#isAsking = true
    void this.#receive(Math.min(room, RECEIVE_MAX))
  }

  async #receive(max: number): Promise<void> {
    const answer = await this.#asked(max)
    this.#isAsking = false
    if (answer === undefined) return this.#endIfDone()
    if ('ok' in answer) return this.#refused(answer)
    this.#begin()
    this.#ask()
  }

  /** Undefined where it has ended meanwhile. */
  async #asked(max: number): Promise<readonly Delivery[] | QueueFault | undefined> {
    const { broker, name, clock, ready } = this.#parts
    const { signal } = this.#stop
    const refusal = await ready()
    if (refusal !== undefined) return refusal
    const info = broker.describe(name)
    if ('ok' in info) return info
    const visibilityMs = this.#visibilityMs ?? info.config.visibilityMs
    try {
      const waitMs = WAIT_MS_MAX
      const answer = await broker.receive(name, { max, waitMs, visibilityMs, signal })
      if ('ok' in answer) return answer
      const untilMs = clock.monotonic() + visibilityMs
      for (const delivery of answer) this.#hold(new Held(delivery, visibilityMs, untilMs))
      return answer
    } catch (error) {
      if (signal.aborted) return undefined
      throw error
    }
  }

  #refused(reason: QueueFault): void {
    if (FINAL.has(reason.code)) return this.#stopAsking(reason)
    const { clock, log, name } = this.#parts
    log.warn('a consumer was refused and tries again', { queue: name.name, code: reason.code })
    if (this.#stop.signal.aborted) return this.#endIfDone()
    this.#retry = clock.setTimer(clock.monotonic() + CONSUMER_RETRY_MS, () => {
      this.#retry = undefined
      this.#ask()
    })
  }

  #hold(held: Held): void {
    this.#held.add(held)
    this.#waiting.add(held)
    if (held.visibilityMs > 0) this.#watch(held, held.visibilityMs / (this.#autoExtend ? 2 : 1))
  }

  #watch(held: Held, inMs: number): void {
    const { clock } = this.#parts
    held.timer = clock.setTimer(clock.monotonic() + inMs, () => {
      if (this.#autoExtend) void this.#extend(held)
      else this.#lose(held)
    })
  }

  async #extend(held: Held): Promise<void> {
    const { broker, name, clock } = this.#parts
    const { visibilityMs, delivery } = held
    const askedMs = clock.monotonic()
    const { receipt } = delivery
    const answer = await settleOne(broker, name, { type: 'extend', receipt, visibilityMs })
    if (held.timer === undefined) return // it is done
    if (answer.ok) {
      held.untilMs = askedMs + visibilityMs
      return this.#watch(held, askedMs + visibilityMs / 2 - clock.monotonic())
    }
    const isOver = clock.monotonic() + visibilityMs / 8 >= held.untilMs
    if (LOST.has(answer.code) || isOver) this.#lose(held)
    else this.#watch(held, visibilityMs / 8)
  }

  #lose(held: Held): void {
    held.isLost = true
    held.timer = undefined
    const { name } = this.#parts
    const { messageId } = held.delivery
    held.abort.abort(
      new Accident(
        fault('not-in-flight', 'the lease of the message is over, and others may be given it', {
          queue: name.name,
          messageId,
        }),
      ),
    )
    if (this.#waiting.delete(held)) this.#letGo(held)
  }

  #begin(): void {
    for (const held of this.#waiting) {
      if (this.#running >= this.#concurrency || this.#stop.signal.aborted) return
      this.#waiting.delete(held)
      this.#running++
      void this.#run(held)
    }
  }

  async #run(held: Held): Promise<void> {
    const end = await this.#handle(held)
    this.#running--
    held.timer?.cancel()
    held.timer = undefined
    this.#begin()
    if (!held.isLost) await this.#settle(end)
    this.#letGo(held)
  }

  async #handle({ delivery, abort }: Held): Promise<Settlement> {
    const { body: text, receipt, ...message } = delivery
    const read = await this.#parts.read(text)
    if (!read.ok) return { type: 'reject', receipt, reason: read.issues.join('; ') }
    const { signal } = abort
    try {
      await this.#handler(read.value, { message, signal })
      return { type: 'delete', receipt }
    } catch (error) {
      // Whoever was told to leave has not failed.
      if (signal.aborted) return { type: 'release', receipt }
      return { type: 'nack', receipt, reason: reasonOf(error) }
    }
  }

  async #settle(end: Settlement): Promise<void> {
    const { broker, name, log } = this.#parts
    const answer = await settleOne(broker, name, end)
    if (answer.ok) return
    // The message comes again when its lease is over.
    const { code, message } = answer
    log.warn('the end of a delivery was refused', {
      queue: name.name,
      end: end.type,
      code,
      message,
    })
  }

  #letGo(held: Held): void {
    this.#held.delete(held)
    this.#ask()
    this.#endIfDone()
  }

  #stopAsking(why: QueueFault | undefined): void {
    if (!this.#stop.signal.aborted) {
      this.#why = why
      this.#stop.abort()
      this.#retry?.cancel()
      for (const held of this.#waiting) void this.#giveBack(held)
      this.#waiting.clear()
    }
    this.#endIfDone()
  }

  async #giveBack(held: Held): Promise<void> {
    held.timer?.cancel()
    held.timer = undefined
    await this.#settle({ type: 'release', receipt: held.delivery.receipt })
    this.#letGo(held)
  }

  #endIfDone(): void {
    if (!this.#stop.signal.aborted || this.#isAsking || this.#held.size > 0) return
    assert(this.#running === 0, 'what runs is held')
    this.#signal?.removeEventListener('abort', this.#abort)
    this.#end(this.#why)
  }
}

function reasonOf(error: unknown): string {
  if (error instanceof Error) return error.message
  return typeof error === 'string' ? error : `something was thrown: ${typeof error}`
}

function requireWhole(option: string, given: number, min: number): void {
  if (Number.isSafeInteger(given) && given >= min) return
  throw new Accident(
    fault('bad-option', `${option} cannot be ${given}`, {
      option,
      given,
      remedy: `give a whole number of at least ${min}`,
    }),
  )
}
