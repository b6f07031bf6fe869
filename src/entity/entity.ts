/**
 * An entity: state that is the fold of its own history.
 *
 * `decide` and `evolve` are pure and synchronous: the time is an argument, chance and other entities
 * are not asked. So replaying the events always rebuilds the same state, and the runtime may decide a
 * command again when somebody else's event came in between.
 *
 * `type` and `version` are what the journal stores. Renaming the constant is free; renaming the type is
 * a migration.
 */
import { assert } from '../std/index.ts'

/** Who an entity is: `type` and `id` together name its stream. */
export type EntityKey = Readonly<{ type: string; id: string }>

export type EntityDefinition<State, Command, Event, Reply> = Readonly<{
  type: string
  /** The version of the events that `decide` makes today; older ones are read through `upcast`. */
  version: number
  initial: (id: string) => State
  decide: (state: State, command: Command, at: number) => Decision<Event, Reply>
  evolve: (state: State, event: Event) => State
  /** When the entity is to be woken and what it is told then; asked after every change. */
  alarm?: (state: State) => Alarm<NoInfer<Command>> | undefined
  /** What others are to be told once the event is durable; never called on replay. */
  react?: (event: Event, id: string) => readonly Message[]
  /** When an event took effect. With it, the fold runs in order of effect and late facts are welcome. */
  effectiveAt?: (event: Event) => number
  /** `upcast[n]` makes an event of version n + 1 from one of version n. */
  upcast?: Readonly<Record<number, Upcast>>
  /** Raise it when `evolve` comes to another state from the same events: snapshots are made anew. */
  fold?: number
  snapshots?: SnapshotPolicy
}>

/** Any entity at all: what has to be known of it to write its events and to read them. */
export type AnyEntity = Readonly<{
  type: string
  version: number
  effectiveAt?: (event: never) => number
  upcast?: Readonly<Record<number, Upcast>>
}>

/**
 * One step of an event towards today. It may say which events it takes, as a method may: the journal
 * alone knows what was written under that version.
 */
export type Upcast = { step(event: { type: string }): { type: string } }['step']

export type Decision<Event, Reply> =
  | Readonly<{
      type: 'accept'
      events: readonly Event[]
      reply: Reply
      also: readonly Leg[]
    }>
  | Readonly<{ type: 'answer'; reply: Reply }>
  | Readonly<{ type: 'postpone'; until: number }>

/** Events for another entity, written in the same batch and without asking it. */
export type Leg = Readonly<{
  entity: AnyEntity
  id: string
  events: readonly unknown[]
}>

export type Alarm<Command> = Readonly<{ at: number; command: Command }>

/** A command for another entity, delivered after the commit: at least once, with one effect. */
export type Message = Readonly<{
  entity: AnyEntity
  id: string
  command: unknown
}>

export type SnapshotPolicy = Readonly<{
  /** After how many events a snapshot is taken; Infinity for never. */
  every?: number
  /** How many of them are kept. */
  keep?: number
}>

/** An entity by its definition; checks what can be checked without an event. */
export function entity<State, Command, Event extends { type: string }, Reply>(
  // Where the constant says its types, these are meant, whatever a single return of `decide` looks like.
  definition: NoInfer<EntityDefinition<State, Command, Event, Reply>>,
): EntityDefinition<State, Command, Event, Reply>
export function entity<State, Command, Event extends { type: string }, Reply>(
  definition: EntityDefinition<State, Command, Event, Reply>,
): EntityDefinition<State, Command, Event, Reply>
export function entity<State, Command, Event extends { type: string }, Reply>(
  definition: EntityDefinition<State, Command, Event, Reply>,
): EntityDefinition<State, Command, Event, Reply> {
  assert(/^[a-z][a-z0-9-]*$/.test(definition.type), 'the type of an entity is in kebab-case')
  assert(
    Number.isInteger(definition.version) && definition.version >= 1,
    'the version of an entity is a whole number from 1',
  )
  const { every = 1, keep = 1 } = definition.snapshots ?? {}
  assert(every >= 1, 'a snapshot is taken after 1 event or more')
  assert(Number.isInteger(keep) && keep >= 1, 'the number of snapshots kept is whole, from 1')
  return definition
}

/** The events become history and the reply leaves once they are durable. */
export function accept<Event, Reply>(
  events: readonly Event[],
  reply: Reply,
  also: readonly Leg[] = [],
): Decision<Event, Reply> {
  return { type: 'accept', events, reply, also }
}

/** Nothing happens; the reply leaves at once. */
export function answer<Reply>(reply: Reply): Decision<never, Reply> {
  return { type: 'answer', reply }
}

/** Not now: decided again, in order of arrival, after every change and at the latest `until`. */
export function postpone(until: number): Decision<never, never> {
  return { type: 'postpone', until }
}

/** Events for another entity in the batch of this one. */
export function leg<State, Command, Event, Reply>(
  of: EntityDefinition<State, Command, Event, Reply>,
  id: string,
  events: readonly NoInfer<Event>[],
): Leg {
  return { entity: of, id, events }
}

/** A command for another entity, as data. */
export function message<State, Command, Event, Reply>(
  to: EntityDefinition<State, Command, Event, Reply>,
  id: string,
  command: NoInfer<Command>,
): Message {
  return { entity: to, id, command }
}
