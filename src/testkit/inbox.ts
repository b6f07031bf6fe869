/**
 * A ref that remembers: what an actor tells it can be looked at, in the order it was told.
 *
 * It stands in for a collaborator. Like an actor it can be full, it can end, and its end can be
 * watched; unlike one it does nothing.
 */
import type { Ended, Ref, Refusal, Watchable } from '../kernel/index.ts'
import { Accident, Deque, fault, type Fault } from '../std/index.ts'
import { differences, listed } from './compare.ts'
import { deepFreeze } from './freeze.ts'
import { show } from './show.ts'

export type InboxOptions = Readonly<{
  /** Messages it takes before it refuses with `mailbox-full`. */
  bound?: number
  /** Whether what it is told is frozen; true unless said otherwise. */
  freeze?: boolean
}>

export interface Inbox<T> extends Ref<T>, Watchable {
  /** What was told and not taken yet. */
  readonly messages: readonly T[]
  /** The oldest message, no longer in the inbox; throws `inbox-empty` where there is none. */
  take(): T
  /** Takes the oldest message and throws unless it equals `message`. */
  expect(message: T): void
  /** Throws if there is a message. */
  expectEmpty(): void
  /** Ends it, as an actor ends: watchers learn of it, and what is told later is refused. */
  end(cause?: Ended['cause'], error?: unknown): void
}

type Disappointment =
  | 'inbox-empty'
  | 'inbox-not-empty'
  | 'replay-differs'
  | 'unexpected-decision'
  | 'unexpected-message'

/** An expectation of a test that did not come true. */
export class ExpectationFailure extends Accident<Disappointment> {
  override readonly name: string = 'ExpectationFailure'
  /** Both sides as text, which any test runner can compare. */
  readonly actual: string | undefined
  readonly expected: string | undefined

  constructor(
    reason: Fault<Disappointment>,
    sides: Readonly<{ actual?: string; expected?: string }> = {},
  ) {
    super(reason)
    this.actual = sides.actual
    this.expected = sides.expected
  }
}

const BOUND_DEFAULT = 100_000

export function inbox<T>(name = 'inbox', options: InboxOptions = {}): Inbox<T> {
  return new RememberingRef<T>(name, options)
}

class RememberingRef<T> implements Inbox<T> {
  readonly path: string
  readonly #bound: number
  readonly #freezes: boolean
  readonly #messages = new Deque<T>()
  readonly #watchers = new Set<(ended: Ended) => void>()
  #ended: Ended | undefined

  constructor(name: string, options: InboxOptions) {
    this.path = `/${name}`
    this.#bound = options.bound ?? BOUND_DEFAULT
    this.#freezes = options.freeze ?? true
  }

  tell(message: T): Refusal | undefined {
    if (this.#ended !== undefined) return ended(this.path)
    if (this.#messages.length >= this.#bound) return full(this.path, this.#bound)
    this.#messages.pushBack(this.#freezes ? deepFreeze(message) : message)
    return undefined
  }

  get messages(): readonly T[] {
    return [...this.#messages]
  }

  take(): T {
    if (this.#messages.length === 0) this.#disappoint('take', this.#empty())
    return this.#messages.popFront()!
  }

  expect(message: T): void {
    if (this.#messages.length === 0) this.#disappoint('expect', this.#empty(message))
    const actual = this.take()
    const found = differences(actual, message)
    if (found.length === 0) return
    const failure = new ExpectationFailure(
      fault('unexpected-message', `${this.path} was told something else:\n${listed(found)}`, {
        inbox: this.path,
        differences: found,
      }),
      { actual: show(actual), expected: show(message) },
    )
    this.#disappoint('expect', failure)
  }

  expectEmpty(): void {
    const count = this.#messages.length
    if (count === 0) return
    const shown = this.messages.slice(0, 5).map((message) => `  ${show(message)}`)
    if (count > shown.length) shown.push(`  and ${count - shown.length} more`)
    const failure = new ExpectationFailure(
      fault('inbox-not-empty', `${this.path} was to be empty and was told:\n${shown.join('\n')}`, {
        inbox: this.path,
        count,
      }),
    )
    this.#disappoint('expectEmpty', failure)
  }

  onEnd(listener: (ended: Ended) => void): () => void {
    if (this.#ended !== undefined) {
      listener(this.#ended)
      return () => undefined
    }
    const own = (end: Ended): void => listener(end)
    this.#watchers.add(own)
    return () => void this.#watchers.delete(own)
  }

  end(cause: Ended['cause'] = 'stopped', error?: unknown): void {
    if (this.#ended !== undefined) return
    this.#ended = { path: this.path, cause, error }
    for (const watcher of this.#watchers) watcher(this.#ended)
    this.#watchers.clear()
  }

  #empty(...expected: readonly T[]): ExpectationFailure {
    const wanted = expected.length === 0 ? '' : `; expected ${show(expected[0])}`
    return new ExpectationFailure(
      fault('inbox-empty', `nothing was told to ${this.path}${wanted}`, { inbox: this.path }),
    )
  }

  /** The stack begins at the line of the test that called `method`. */
  #disappoint(method: 'take' | 'expect' | 'expectEmpty', failure: ExpectationFailure): never {
    Error.captureStackTrace(failure, this[method])
    throw failure
  }
}

function ended(path: string): Refusal {
  return fault('actor-stopped', `the inbox ${path} has ended`, {
    actor: path,
    remedy: 'watch it to learn of its end',
  })
}

function full(path: string, bound: number): Refusal {
  return fault('mailbox-full', `the inbox ${path} holds ${bound} messages and is full`, {
    actor: path,
    bound,
    remedy: 'take messages, or make the inbox with a larger bound',
  })
}
