/**
 * An entity as a specification: given these events, when this command comes, expect that.
 *
 *   given(account, [opened]).when({ type: 'pay', amount: 5 }).expect([paid], { ok: true })
 *
 * No runtime, no journal and no time: a definition is pure, and that is checked on the way. Events go
 * through the form they are stored in, states and replies are held to what JSON keeps, `decide` and
 * `evolve` are called twice and given nothing they could change.
 */
import type { Alarm, Decision, EntityDefinition, Leg, Message } from '../entity/index.ts'
import { decodeEvent, effectiveAtOf, encodeEvent } from '../entity/internal/codec.ts'
import { fault, unreachable } from '../std/index.ts'
import { differences, listed } from './compare.ts'
import { deepFreeze } from './freeze.ts'
import { lasting, purely } from './given-checks.ts'
import { ExpectationFailure } from './inbox.ts'
import { show } from './show.ts'

export type GivenOptions = Readonly<{
  /** Whose history it is. */
  id?: string
  /** When the events were recorded and the command comes, in milliseconds since the epoch. */
  at?: number
}>

/** An entity with a history. */
export interface Given<State, Command, Event, Reply> {
  readonly state: State
  /** Lets it decide, at another time if one is given. */
  when(command: Command, at?: number): Decided<State, Command, Event, Reply>
}

/** An entity that has decided; what it accepted is part of its history. */
export interface Decided<State, Command, Event, Reply> extends Given<State, Command, Event, Reply> {
  readonly decision: Decision<Event, Reply>
  /** These events and no others, this reply, and these events for others. */
  expect(events: readonly Event[], reply: Reply, also?: readonly Leg[]): this
  expectPostponed(until: number): this
  expectState(state: State): this
  /** When it wants to be woken from here on, and what it is to be told then. */
  expectAlarm(alarm: Alarm<Command> | undefined): this
  /** What others are told of the events that were accepted. */
  expectMessages(messages: readonly Message[]): this
}

type Expectation = Extract<keyof Decided<unknown, unknown, unknown, unknown>, `expect${string}`>

/** The first instant of 2026, UTC. */
const AT_DEFAULT = 1_767_225_600_000

export function given<State, Command, Event extends { type: string }, Reply>(
  definition: EntityDefinition<State, Command, Event, Reply>,
  events: readonly NoInfer<Event>[] = [],
  options: GivenOptions = {},
): Given<State, Command, Event, Reply> {
  const { id = 'a', at = AT_DEFAULT } = options
  return new Specified(definition, id, at, stored(definition, events, at))
}

/** An event as it comes back from the journal, with its time of effect. */
type Fact<Event> = Readonly<{ event: Event; at: number }>

class Specified<State, Command, Event extends { type: string }, Reply> implements Given<
  State,
  Command,
  Event,
  Reply
> {
  readonly state: State
  protected readonly definition: EntityDefinition<State, Command, Event, Reply>
  protected readonly id: string
  readonly #at: number
  readonly #facts: readonly Fact<Event>[]

  constructor(
    definition: EntityDefinition<State, Command, Event, Reply>,
    id: string,
    at: number,
    facts: readonly Fact<Event>[],
  ) {
    this.definition = definition
    this.id = id
    this.#at = at
    this.#facts = facts
    this.state = folded(definition, id, facts)
  }

  when(command: Command, at: number = this.#at): Decided<State, Command, Event, Reply> {
    const { definition, id, state } = this
    const { type } = definition
    lasting(type, 'the command', command)
    deepFreeze(command)
    const decision = purely(type, 'decide', () => definition.decide(state, command, at))
    if (decision.type === 'postpone') return new Judged(definition, id, at, this.#facts, decision)
    lasting(type, 'the reply', decision.reply)
    const events = decision.type === 'accept' ? decision.events : []
    const facts = [...this.#facts, ...stored(definition, events, at)]
    return new Judged(definition, id, at, facts, decision)
  }
}

class Judged<State, Command, Event extends { type: string }, Reply>
  extends Specified<State, Command, Event, Reply>
  implements Decided<State, Command, Event, Reply>
{
  readonly decision: Decision<Event, Reply>

  constructor(
    definition: EntityDefinition<State, Command, Event, Reply>,
    id: string,
    at: number,
    facts: readonly Fact<Event>[],
    decision: Decision<Event, Reply>,
  ) {
    super(definition, id, at, facts)
    this.decision = decision
  }

  expect(events: readonly Event[], reply: Reply, also: readonly Leg[] = []): this {
    return this.#compare('expect', 'decided', plainly(this.decision), { events, reply, also })
  }

  expectPostponed(until: number): this {
    const expected = { type: 'postpone', until }
    return this.#compare('expectPostponed', 'decided', this.decision, expected)
  }

  expectState(state: State): this {
    return this.#compare('expectState', 'has come to', this.state, state)
  }

  expectAlarm(alarm: Alarm<Command> | undefined): this {
    const { definition, state } = this
    const { type } = definition
    const actual = purely(type, 'alarm', () => definition.alarm?.(state))
    lasting(type, 'the alarm', actual)
    return this.#compare('expectAlarm', 'wants to be woken with', actual, alarm)
  }

  expectMessages(messages: readonly Message[]): this {
    const { definition, id, decision } = this
    const { type } = definition
    const events = decision.type === 'accept' ? decision.events : []
    const actual = events.flatMap((event) =>
      purely(type, 'react', () => definition.react?.(event, id) ?? []),
    )
    for (const { command } of actual) lasting(type, 'the command', command)
    return this.#compare('expectMessages', 'told others', actual, messages)
  }

  /** The stack of a failure begins at the line of the test that called `method`. */
  #compare(method: Expectation, what: string, actual: unknown, expected: unknown): this {
    const found = differences(actual, expected)
    if (found.length === 0) return this
    const { type } = this.definition
    const failure = new ExpectationFailure(
      fault('unexpected-decision', `the ${type} ${what} something else:\n${listed(found)}`, {
        entity: type,
        differences: found,
      }),
      { actual: show(actual), expected: show(expected) },
    )
    Error.captureStackTrace(failure, this[method])
    throw failure
  }
}

/** What came of a command, in the words of `expect`. */
function plainly(decision: Decision<unknown, unknown>): unknown {
  switch (decision.type) {
    case 'accept': {
      const { events, reply, also } = decision
      return { events, reply, also }
    }
    case 'answer':
      return { events: [], reply: decision.reply, also: [] }
    case 'postpone':
      return decision
    default:
      return unreachable(decision)
  }
}

function stored<State, Command, Event extends { type: string }, Reply>(
  definition: EntityDefinition<State, Command, Event, Reply>,
  events: readonly Event[],
  at: number,
): readonly Fact<Event>[] {
  return events.map((event) => {
    lasting(definition.type, 'the event', event)
    const effectiveAt = effectiveAtOf(definition, event, at)
    const place = { stream: definition.type, seq: 1, position: 1, batch: 1 }
    const read = decodeEvent(definition, { ...encodeEvent(definition, event, { at }), ...place })
    return { event: deepFreeze(read), at: effectiveAt }
  })
}

function folded<State, Command, Event extends { type: string }, Reply>(
  definition: EntityDefinition<State, Command, Event, Reply>,
  id: string,
  facts: readonly Fact<Event>[],
): State {
  const { type, initial, evolve, effectiveAt } = definition
  const inOrder = effectiveAt === undefined ? facts : facts.toSorted((a, b) => a.at - b.at)
  const begin = lasting(
    type,
    'the initial state',
    purely(type, 'initial', () => initial(id)),
  )
  return inOrder.reduce(
    (state, { event }) =>
      lasting(
        type,
        'the state',
        purely(type, 'evolve', () => evolve(state, event)),
      ),
    begin,
  )
}
