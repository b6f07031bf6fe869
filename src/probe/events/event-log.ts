/**
 * Everything that a test has produced and consumed, in the order it came, to be asked about.
 *
 * An event that came is kept until the end of the test, and is found by every query it fits, also one
 * that waits for it: whoever waits is woken by what arrives and by the clock, nobody looks again and
 * again. A query may ask for what came `since` a place in the log. An event that the test has produced
 * itself came when it was produced, however late it is consumed, and what was there before the test has
 * been there all the time. The log is bounded; an event over the bound ends it with a fault that names the limit, since a
 * count that leaves something out would be wrong.
 */
import { Accident, assert, fault, type Clock, type Fault, type Timer } from '../../std/index.ts'
import type { Awaited, EventView } from '../steps/services.ts'
import type { EventSink } from './event-file.ts'
import type { Undecodable } from './formats.ts'
import { judgeOf, type Judge, type LogQuery } from './query.ts'

export type LoggedEvent = EventView &
  Readonly<{
    cluster?: string
    type?: string
    payloadVersion?: string
    /** It was there before the test. */
    isOld?: boolean
    /** What could not be read; `key` or `value` is in base64 then. */
    undecodable?: readonly Undecodable[]
  }>

export type NewEvent = Omit<LoggedEvent, 'sequence'>

export type EventLogFault = Fault<'event-log-full' | 'event-log-closed' | 'too-many-waiters'>

/** `exactly` and `at-most` are known only when time is up, or at the first one too many. */
export type Wanted = Readonly<{
  count: number
  is: 'at-least' | 'exactly' | 'at-most'
  withinMs: number
}>

export type EventLogOptions = Readonly<{
  clock: Clock
  sink?: EventSink
  limits?: Readonly<{ events: number; bytes: number }>
  /** Once, when the log is full. */
  onFull?: (reason: EventLogFault) => void
}>

export interface EventLog extends AsyncDisposable {
  readonly size: number
  /** Makes room for an event before it is read; throws when the log is full. */
  admit(bytes: number): Room
  /** What is there, oldest first. */
  find(query: LogQuery): readonly LoggedEvent[]
  /** Waits until it is known whether as many as wanted come in time. */
  wait(query: LogQuery, wanted: Wanted): Promise<Awaited>
}

/** Used once: the event comes, or it does not. */
export interface Room {
  append(event: NewEvent): LoggedEvent
  forgo(): void
}

export const TEST_EVENTS_MAX = 100_000
export const TEST_EVENT_BYTES_MAX = 67_108_864
/** Steps of one test that may wait for events at a time. */
export const EVENT_WAITERS_MAX = 1_000

export function eventLog(options: EventLogOptions): EventLog {
  return new Journal(options)
}

type Waiter = {
  readonly judge: Judge
  readonly wanted: Wanted
  readonly found: LoggedEvent[]
  readonly query: LogQuery
  readonly settle: (isSatisfied: boolean) => void
  readonly fail: (error: Accident) => void
  timer: Timer | undefined
}

class Journal implements EventLog {
  readonly #options: EventLogOptions
  readonly #limits: Readonly<{ events: number; bytes: number }>
  readonly #events: LoggedEvent[] = []
  readonly #byCorrelation = new Map<string, LoggedEvent[]>()
  /** The sequence of every event that was produced, by its place. */
  readonly #produced = new Map<string, number>()
  readonly #waiters = new Set<Waiter>()
  #admitted = 0
  #bytes = 0
  #ended: EventLogFault | undefined

  constructor(options: EventLogOptions) {
    this.#options = options
    this.#limits = options.limits ?? { events: TEST_EVENTS_MAX, bytes: TEST_EVENT_BYTES_MAX }
  }

  get size(): number {
    return this.#events.length
  }

  admit(bytes: number): Room {
    this.#refuseIfEnded()
    const { events, bytes: bytesMax } = this.#limits
    if (this.#admitted + 1 > events) throw this.#full('events', events)
    if (this.#bytes + bytes > bytesMax) throw this.#full('bytes of events', bytesMax)
    this.#admitted += 1
    this.#bytes += bytes
    return {
      append: (event) => this.#append(event),
      forgo: () => {
        this.#admitted -= 1
        this.#bytes -= bytes
      },
    }
  }

  find(query: LogQuery): readonly LoggedEvent[] {
    this.#refuseIfEnded()
    const { correlation } = query
    const judge = this.#judgeOf(query)
    const among =
      correlation === undefined ? this.#events : (this.#byCorrelation.get(correlation) ?? [])
    return among.filter(judge)
  }

  async wait(query: LogQuery, wanted: Wanted): Promise<Awaited> {
    const found = [...this.find(query)]
    if (this.#waiters.size >= EVENT_WAITERS_MAX) throw tooManyWaiters()
    const { clock } = this.#options
    const { promise, resolve, reject } = Promise.withResolvers<Awaited>()
    const leave = (): void => {
      waiter.timer?.cancel()
      this.#waiters.delete(waiter)
    }
    const waiter: Waiter = {
      judge: this.#judgeOf(query),
      wanted,
      found,
      query,
      timer: undefined,
      settle: (isSatisfied) => {
        leave()
        resolve({ isSatisfied, events: found, seen: this.#seen(query) })
      },
      fail: (error) => {
        leave()
        reject(error)
      },
    }
    this.#waiters.add(waiter)
    waiter.timer = clock.setTimer(clock.monotonic() + wanted.withinMs, () =>
      waiter.settle(isMetAtEnd(wanted, found.length)),
    )
    this.#judge(waiter)
    return promise
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#end(fault('event-log-closed', 'the test is over and its events are closed'))
    await this.#options.sink?.close()
  }

  #append(event: NewEvent): LoggedEvent {
    this.#refuseIfEnded()
    const logged = { sequence: this.#events.length + 1, ...event }
    this.#events.push(logged)
    if (event.direction === 'produced') this.#produced.set(placeOf(event), logged.sequence)
    this.#index(logged)
    this.#options.sink?.write(logged)
    for (const waiter of this.#waiters) this.#show(waiter, logged)
    return logged
  }

  #index(event: LoggedEvent): void {
    if (event.correlation === undefined) return
    const same = this.#byCorrelation.get(event.correlation)
    if (same === undefined) this.#byCorrelation.set(event.correlation, [event])
    else same.push(event)
  }

  #show(waiter: Waiter, event: LoggedEvent): void {
    if (!waiter.judge(event)) return
    waiter.found.push(event)
    this.#judge(waiter)
  }

  /** What is known before time is up. */
  #judge({ wanted: { is, count }, found, settle }: Waiter): void {
    if (is === 'at-least' && found.length >= count) settle(true)
    if (is !== 'at-least' && found.length > count) settle(false)
  }

  #judgeOf(query: LogQuery): Judge {
    const { since = 0 } = query
    const judge = judgeOf(query)
    return (event) => judge(event) && this.#isSince(event, since)
  }

  #isSince(event: LoggedEvent, since: number): boolean {
    if (since === 0 || event.isOld === true) return true
    if (event.sequence <= since) return false
    return (
      event.direction === 'produced' || (this.#produced.get(placeOf(event)) ?? Infinity) > since
    )
  }

  #seen({ topic, direction, since }: LogQuery): number {
    const judge = this.#judgeOf({ topic, direction, since })
    return this.#events.reduce((seen, event) => (judge(event) ? seen + 1 : seen), 0)
  }

  #full(what: string, limit: number): Accident {
    this.#end(
      fault('event-log-full', `a test may have ${limit} ${what} and there came more`, {
        limit,
        remedy: 'let the directive filter events, or split the test',
      }),
    )
    assert(this.#ended !== undefined, 'a log that is full has ended')
    this.#options.onFull?.(this.#ended)
    return new Accident(this.#ended)
  }

  #end(reason: EventLogFault): void {
    if (this.#ended !== undefined) return
    this.#ended = reason
    for (const waiter of this.#waiters) waiter.fail(new Accident(reason))
  }

  #refuseIfEnded(): void {
    if (this.#ended !== undefined) throw new Accident(this.#ended)
  }
}

function placeOf({ cluster, topic, partition, offset }: Omit<LoggedEvent, 'sequence'>): string {
  return JSON.stringify([cluster, topic, partition, offset])
}

function isMetAtEnd({ is, count }: Wanted, found: number): boolean {
  switch (is) {
    case 'at-least':
      return found >= count
    case 'exactly':
      return found === count
    case 'at-most':
      return found <= count
  }
}

function tooManyWaiters(): Accident {
  return new Accident(
    fault('too-many-waiters', 'as many steps wait for events as may', {
      limit: EVENT_WAITERS_MAX,
      remedy: 'let fewer steps wait at a time',
    }),
  )
}
