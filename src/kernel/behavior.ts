/**
 * Behaviors: what an actor does with a message, as a value.
 *
 * A behavior may be given to any number of actors. State that a restart has to
 * renew lives inside `setup`, or is carried in the next behavior a handler
 * returns; a restart goes back to the behavior the actor was spawned with.
 */
import type { StandardSchemaV1 } from '@standard-schema/spec'
import type { Fault } from '../std/index.ts'
import type { Ended, Ref, Refusal } from './ref.ts'
import type { Supervision } from './supervision.ts'
import type { ResumeCondition, SuspendReason, SuspendToken } from './suspension.ts'
import type { Timers } from './timers.ts'

/**
 * What a handler answers: nothing or `'same'` to go on, `'stopped'` to end, a
 * behavior to become it. A promise of these suspends the actor until it settles.
 */
export type Next<M> = Step<M> | PromiseLike<Step<M>>
export type Step<M> = void | undefined | 'same' | 'stopped' | Behavior<M>

export type Handler<M> = (ctx: Context<M>, message: M) => Next<M>

export type Hooks<M> = Readonly<{
  /** Runs when the actor ends or restarts, after its children have ended. May be async. */
  onStop?: (ctx: Context<M>) => void | PromiseLike<void>
}>

/** A behavior is made by `receive`, `setup` or `machine`, and is opaque. */
export class Behavior<M> {
  declare readonly receive: Handler<M>
  /** Makes the real behavior, in the actor's own first turn. */
  declare readonly start: ((ctx: Context<M>) => Behavior<M>) | undefined
  declare readonly onStop: Hooks<M>['onStop'] | undefined

  constructor(
    handler: Handler<M>,
    start: ((ctx: Context<M>) => Behavior<M>) | undefined,
    onStop: Hooks<M>['onStop'] | undefined,
  ) {
    this.receive = handler
    this.start = start
    this.onStop = onStop
  }
}

/** A behavior that handles one message at a time with `handler`. */
export function receive<M>(handler: Handler<M>, hooks?: Hooks<M>): Behavior<M> {
  return new Behavior(handler, undefined, hooks === undefined ? undefined : hooks.onStop)
}

/** A behavior made in the actor's first turn, and made anew by every restart. */
export function setup<M>(start: (ctx: Context<M>) => Behavior<M>): Behavior<M> {
  return new Behavior<M>(ignore, start, undefined)
}

function ignore(): undefined {
  return undefined
}

/** The same behavior, its message type forgotten: what tells the actor has checked it. */
export function erased<M>(behavior: Behavior<M>): Behavior<never> {
  return behavior as unknown as Behavior<never>
}

export type Overflow = 'reject' | 'drop-oldest' | 'drop-newest' | 'suspend-sender'
export type Priority = 'high' | 'normal' | 'low'

export type SpawnOptions<M> = Readonly<{
  /** How many messages may wait, exactly. */
  bound?: number
  overflow?: Overflow
  priority?: Priority
  supervision?: Supervision
  /** Any Standard Schema; a message that fails it is refused at the door. */
  schema?: StandardSchemaV1<unknown, M>
  /** An async handler that takes longer is aborted and fails with `handler-overdue`. */
  handlerMs?: number
  /** How many messages may be stashed. */
  stash?: number
}>

/** Makes behaviors of one kind; hand one in instead of letting an actor choose. */
export type ChildFactory<Args extends readonly unknown[], M> = (...args: Args) => Behavior<M>

/** What an actor may do during its turn. */
export interface Context<M> {
  readonly self: Ref<M>
  readonly path: string
  readonly timers: Timers<M>
  /** Aborted when the actor stops or restarts, or its handler is overdue. */
  readonly signal: AbortSignal
  /** The context slot of the message being handled: trace, deadline. */
  readonly context: unknown
  /** Starts a child. Its name is unique among its siblings. */
  spawn<C>(name: string, behavior: Behavior<C>, options?: SpawnOptions<C>): Ref<C>
  spawnAnonymous<C>(behavior: Behavior<C>, options?: SpawnOptions<C>): Ref<C>
  /** The child of that name, taken to understand `C`. */
  child<C = never>(name: string): Ref<C> | undefined
  readonly children: readonly Ref<never>[]
  /** Ends an actor, as a rule a child of mine; its own children first. */
  stop(actor: Ref<never>): void
  /** Tells me `message` when `target` ends: once, after everything it had told me. */
  watch(target: Ref<never>, message: M | ((ended: Ended) => M)): void
  /** After this, no end of `target` is told, even if it waits in the mailbox. */
  unwatch(target: Ref<never>): void
  /** Takes effect after this message; mail keeps arriving up to the bound. */
  suspend(reason: SuspendReason, condition: ResumeCondition): SuspendToken
  /** Turns a promise into a message of mine. A result for an earlier incarnation is a dead letter. */
  pipe<T>(promise: PromiseLike<T>, onValue: (value: T) => M, onError: (error: unknown) => M): void
  /** Puts a message aside until `unstash`. */
  stash(message: M): Fault<'stash-full'> | undefined
  /** What was stashed comes next, in the order it was stashed. */
  unstash(): void
  /** Tells me `message` when nothing else has arrived for `ms`. `undefined` ends it. */
  receiveTimeout(ms: number | undefined, message?: M): void
  /** A ref that answers `replyTo` once; if I end or restart before, it is told `otherwise`. */
  owe<R>(replyTo: Ref<R>, otherwise: NoInfer<R>): Ref<R>
}

/** A ref to an actor that its holder may also end, suspend and wait for. */
export interface Handle<M> extends Ref<M>, AsyncDisposable {
  /** Asks the actor to end, its children first. Does not wait. */
  stop(): void
  /** Settles when the actor has ended; never rejects. */
  readonly ended: Promise<Ended>
  suspend(reason: SuspendReason, condition: ResumeCondition): SuspendToken
  /** Like `tell`, but waits for room where the mailbox is full. */
  readonly offer: (message: M, options?: OfferOptions) => Promise<Refusal | undefined>
}

export type OfferOptions = Readonly<{ signal?: AbortSignal }>
