/** An actor: the cell together with everything its behavior, its holder and its peers may do with it. */
import { Accident, fault, type Fault } from '../../std/index.ts'
import { Behavior, erased, type Handle, type OfferOptions, type SpawnOptions } from '../behavior.ts'
import type { Ended, Ref, Refusal } from '../ref.ts'
import type { ResumeCondition, SuspendReason, SuspendToken } from '../suspension.ts'
import type { Timers } from '../timers.ts'
import { ActorTimers } from './actor-timers.ts'
import { Cell, extrasOf, raise } from './cell.ts'
import { accept, offer } from './delivery.ts'
import * as dispatch from './dispatch.ts'
import { requestStop } from './lifecycle.ts'
import { readOptions } from './options.ts'
import { owe } from './owing.ts'
import { pipe } from './piping.ts'
import { notAnActor } from './refusals.ts'
import { ReceiveTimeout } from './receive-timeout.ts'
import { stash, unstash } from './stash.ts'
import { notABehavior, startSoon } from './starting.ts'
import { BOX_ONLY, ENDING, NEWBORN, RESTARTING } from './status.ts'
import { suspend } from './tokens.ts'
import { onCellEnd, unwatch, watch, type Watch } from './watch.ts'

/** Characters a name may have. */
export const NAME_CHARS_MAX = 200

export class Actor extends Cell implements Handle<unknown> {
  override tell(message: unknown): Refusal | undefined {
    const { credit } = this
    if (credit > 0 && dispatch.ambient === undefined) {
      this.credit = credit - 1
      dispatch.push(this, message)
      return undefined
    }
    return accept(this, message)
  }

  override get self(): Ref<unknown> {
    return this
  }

  override get path(): string {
    if (this.parent === null) return '/'
    const name = (extrasOf(this).name ??= `$${++this.core.names}`)
    return this.parent.parent === null ? `/${name}` : `${this.parent.path}/${name}`
  }

  override get timers(): Timers<never> {
    return (extrasOf(this).timers ??= new ActorTimers(this))
  }

  override get signal(): AbortSignal {
    return (extrasOf(this).abort ??= new AbortController()).signal
  }

  override get context(): unknown {
    return dispatch.ambient
  }

  override get children(): readonly Ref<never>[] {
    const children: Cell[] = []
    for (let child = this.youngest; child !== null; child = child.elder) {
      children.push(child)
    }
    return children.toReversed()
  }

  override child(name: string): Ref<unknown> | undefined {
    return this.extras?.named?.get(name)
  }

  override spawn<C>(name: string, behavior: Behavior<C>, options?: SpawnOptions<C>): Actor {
    const family = (extrasOf(this).named ??= new Map())
    if (!isName(name)) throw badName(this, name)
    if (family.has(name)) throw nameTaken(this, name)
    const child = bear(this, behavior, options)
    extrasOf(child).name = name
    family.set(name, child)
    this.core.trace(child, 'spawned')
    return child
  }

  override spawnAnonymous<C>(behavior: Behavior<C>, options?: SpawnOptions<C>): Actor {
    const child = bear(this, behavior, options)
    if (this.core.tracer.active) this.core.trace(child, 'spawned')
    return child
  }

  override stop(child?: Ref<never>): void {
    const target: unknown = child ?? this
    if (!(target instanceof Cell)) throw notAnActor(String(target))
    requestStop(target, 'stopped', undefined)
  }

  override watch(target: Ref<never>, message: unknown): void {
    watch(this, target, message)
  }

  override unwatch(target: Ref<never>): void {
    unwatch(this, target)
  }

  onEnd(listener: Watch): () => void {
    return onCellEnd(this, listener)
  }

  override suspend(reason: SuspendReason, condition: ResumeCondition): SuspendToken {
    return suspend(this, reason, condition)
  }

  override pipe<T>(
    promise: PromiseLike<T>,
    onValue: (value: T) => never,
    onError: (error: unknown) => never,
  ): void {
    pipe(this, promise, onValue, onError)
  }

  override stash(message: never): Fault<'stash-full'> | undefined {
    return stash(this, message)
  }

  override unstash(): void {
    unstash(this)
  }

  override receiveTimeout(ms: number | undefined, message?: never): void {
    if (ms !== undefined && !(ms > 0 && ms < Infinity)) throw badTimeout(this, ms)
    const extras = extrasOf(this)
    extras.receiveTimeout?.end()
    raise(this, BOX_ONLY) // every message is to be noticed
    extras.receiveTimeout = ms === undefined ? null : new ReceiveTimeout(this, ms, message)
  }

  override owe<R>(replyTo: Ref<R>, otherwise: NoInfer<R>): Ref<R> {
    return owe(this, replyTo, otherwise as never)
  }

  get ended(): Promise<Ended> {
    const extras = extrasOf(this)
    return (extras.whenEnded ??= new Promise((resolve) => void onCellEnd(this, resolve)))
  }

  offer(message: unknown, options: OfferOptions = {}): Promise<Refusal | undefined> {
    return offer(this, message, options)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.stop()
    await this.ended
  }
}

/** A function and not a method: a private one would be checked for its brand at every birth. */
function bear<C>(parent: Actor, behavior: Behavior<C>, options?: SpawnOptions<C>): Actor {
  if ((parent.status & (ENDING | RESTARTING)) !== 0) throw parentEnded(parent)
  if (!(behavior instanceof Behavior)) throw notABehavior(parent, behavior)
  const { core } = parent
  const chosen =
    options === undefined
      ? core.defaults
      : readOptions(options as SpawnOptions<never>, core.defaults, parent)
  const status = dispatch.draining && core.express ? chosen.status | NEWBORN : chosen.status
  const child = new Actor(core, parent, erased(behavior), chosen, status)
  const elder = parent.youngest
  child.elder = elder
  if (elder !== null) elder.younger = child
  parent.youngest = child
  core.metrics.spawned++
  if (behavior.start !== undefined) startSoon(child)
  return child
}

function isName(name: string): boolean {
  return name.length > 0 && name.length <= NAME_CHARS_MAX && !/[/$\s]/u.test(name)
}

function badName(parent: Cell, name: string): Accident {
  return new Accident(
    fault('bad-name', `${JSON.stringify(name)} cannot be the name of an actor`, {
      actor: parent.path,
      name,
      remedy: `use 1 to ${NAME_CHARS_MAX} characters, without a slash, a dollar sign or white space`,
    }),
  )
}

function badTimeout(cell: Cell, ms: number): Accident {
  return new Accident(
    fault('bad-option', `the receive timeout of ${cell.path} cannot be ${ms} ms`, {
      actor: cell.path,
      option: 'ms',
      given: ms,
      remedy: 'give a finite number of milliseconds above 0, or undefined to end it',
    }),
  )
}

function nameTaken(parent: Cell, name: string): Accident {
  return new Accident(
    fault('name-taken', `${parent.path} has a child named ${name} already`, {
      actor: parent.path,
      name,
      remedy: 'choose another name, use the child that is there, or wait until it has ended',
    }),
  )
}

function parentEnded(parent: Cell): Accident {
  return new Accident(
    fault('actor-stopped', `${parent.path} is ending and can have no more children`, {
      actor: parent.path,
      remedy: 'spawn before the parent is stopped, or under another parent',
    }),
  )
}
