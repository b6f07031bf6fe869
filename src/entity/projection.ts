/**
 * A projection: a read model that follows the journal.
 *
 * `on` says, as data, which values an event touches and how. The changed values and the position they
 * reflect are one batch, so a view is never half of an event ahead of itself, and goes on after a crash
 * where it was. Values are JSON.
 */
import type { Journal } from '../journal/index.ts'
import { assert, systemClock, type Clock } from '../std/index.ts'
import type { Change } from './entities.ts'
import type { AnyEntity, Decision } from './entity.ts'
import { Projecting } from './internal/projecting.ts'

export type Projection<Value, Event extends { type: string } = { type: string }> = Readonly<{
  name: string
  /** Raise it to build the view anew from the first event. */
  version: number
  /** Entities whose events are among those that `on` is given. */
  of: readonly Making<Event>[]
  on(change: Change<Event>): readonly Touch<Value>[]
}>

/** An entity that makes no other events. */
type Making<Event> = AnyEntity &
  Readonly<{ decide?: (state: never, command: never, at: number) => Decision<Event, unknown> }>

/**
 * One value of the view, and what becomes of it; undefined deletes it. Where the event and the value do
 * not tell, it may be read from history, up to the event, and is a promise then. A `value` is for what
 * does not depend on the one before, which is not read then.
 */
export type Touch<Value> =
  | Readonly<{
      key: string
      change: (before: Value | undefined) => Value | undefined | Promise<Value | undefined>
    }>
  | Readonly<{ key: string; value: Value | undefined }>

export type ReadOptions = Readonly<{
  /** Waits until the view has seen this position: `position` of an answer. */
  seen?: number
  deadlineMs?: number
}>

export interface View<Value> extends AsyncDisposable {
  /** The last event this view reflects. */
  readonly position: number
  get(key: string, options?: ReadOptions): Promise<Value | undefined>
  /** Those that are there. */
  getAll(keys: readonly string[], options?: ReadOptions): Promise<ReadonlyMap<string, Value>>
  list(
    prefix: string,
    options?: ReadOptions & Readonly<{ after?: string; limit?: number }>,
  ): Promise<readonly Readonly<{ key: string; value: Value }>[]>
  /** Settles when it was closed; rejects with what stopped it: a throw of `on`, a broken journal. */
  readonly ended: Promise<void>
  close(): Promise<void>
}

/** Starts a projection; the view goes on from where it was when it last ran. */
export function project<Value, Event extends { type: string }>(
  journal: Journal,
  projection: Projection<Value, Event>,
  clock: Clock = systemClock,
): View<Value> {
  const { name, version } = projection
  assert(/^[a-z][a-z0-9-]*$/.test(name), 'the name of a projection is in kebab-case')
  assert(
    Number.isInteger(version) && version >= 1,
    'the version of a projection is a number from 1',
  )
  return new Projecting(journal, projection, clock)
}
