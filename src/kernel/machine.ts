/**
 * State machines whose transitions and entry effects are two messages.
 *
 *   message --on--> to(next) ···· transition ···· [enter next] --enter--> stay
 *
 * A handler only chooses the next state. What a state does on arrival is its
 * `enter`, which the kernel runs as the very next turn, ahead of the mailbox:
 * nobody has to remember it, and nothing queued can overtake it. The two show as
 * two entries in the trace, a test can step between them, and a failure in `enter`
 * is supervised by itself: a retry runs it again, the state stays changed.
 */
import { Accident, fault } from '../std/index.ts'
import { Behavior, type Context, type Next } from './behavior.ts'
import { Cell, deliverUrgent, extrasOf, settleEmpty, withdrawUrgent } from './internal/cell.ts'
import { Special } from './internal/special.ts'
import { SYSTEM } from './internal/status.ts'
import type { Ref } from './ref.ts'

/** States an actor may pass through by `enter` alone, without a message in between. */
export const ENTER_CHAIN_MAX = 16

export type Move<S extends string, D> =
  | Readonly<{ type: 'to'; state: S; data: D }>
  | Readonly<{ type: 'stay'; data: D }>
  | 'stopped'

export type State<S extends string, D, M> = Readonly<{
  /** Effects of arriving, which may choose a further state. */
  enter?: (ctx: Context<M>, data: D) => Move<S, D> | PromiseLike<Move<S, D>>
  /** Chooses what follows from a message. */
  on: (ctx: Context<M>, data: D, message: M) => Move<S, D> | PromiseLike<Move<S, D>>
}>

export type MachineDefinition<S extends string, D, M> = Readonly<{
  initial: S
  data: D
  states: Readonly<Record<S, State<S, D, M>>>
  onStop?: (ctx: Context<M>, state: S, data: D) => void | PromiseLike<void>
}>

/** Goes to `state`, whose `enter` runs next, also when it is the present one. */
export function to<S extends string, D>(state: S, data: D): Move<S, D> {
  return { type: 'to', state, data }
}

/** Remains in the present state. */
export function stay<D>(data: D): Move<never, D> {
  return { type: 'stay', data }
}

export function machine<S extends string, D, M>(
  definition: MachineDefinition<S, D, M>,
): Behavior<M> {
  return new Behavior<M>(
    () => undefined,
    (ctx) => new Machine(definition, ctx).behavior,
    undefined,
  )
}

type Outcome = undefined | 'stopped' | PromiseLike<undefined | 'stopped'>

/** One actor's machine. */
export class Machine<S extends string, D, M> {
  state: S
  data: D
  readonly behavior: Behavior<M>
  readonly #definition: MachineDefinition<S, D, M>
  readonly #cell: Cell
  /** States entered since the last message. */
  #chain: S[] = []
  readonly #enter: Enter

  constructor(definition: MachineDefinition<S, D, M>, ctx: Context<M>) {
    const cell: unknown = ctx
    if (!(cell instanceof Cell)) throw new TypeError('a machine runs in an actor')
    this.#definition = definition
    this.#cell = cell
    this.#refuseUnlessState(definition.initial)
    this.state = definition.initial
    this.data = definition.data
    this.behavior = new Behavior<M>(
      (own, message) => this.#receive(own, message),
      undefined,
      (own) => definition.onStop?.(own, this.state, this.data),
    )
    this.#enter = new Enter(
      () => this.state,
      () => this.#runEnter(ctx),
    )
    extrasOf(cell).machine = this
    this.enterSoon()
  }

  place(state: S, data: D): void {
    this.#refuseUnlessState(state)
    this.#withdrawEnter()
    this.#chain = []
    this.state = state
    this.data = data
  }

  enterSoon(): void {
    if (this.#definition.states[this.state].enter !== undefined) {
      deliverUrgent(this.#cell, this.#enter)
    }
  }

  #refuseUnlessState(state: S, from?: S): void {
    if (!Object.hasOwn(this.#definition.states, state)) throw noSuchState(this.#cell, state, from)
  }

  #withdrawEnter(): void {
    const cell = this.#cell
    const { mail } = cell
    if (mail === null || mail.urgent !== this.#enter) return
    withdrawUrgent(cell)
    if (!mail.isEmpty || (cell.status & SYSTEM) !== 0) return
    cell.core.ready.unregister(mail)
    settleEmpty(cell)
  }

  #receive(ctx: Context<M>, message: M): Outcome {
    this.#chain = []
    return this.#follow(this.#definition.states[this.state].on(ctx, this.data, message))
  }

  #runEnter(ctx: Context<M>): Outcome {
    this.#cell.core.trace(this.#cell, 'entered', { state: this.state })
    const { enter } = this.#definition.states[this.state]
    return enter === undefined ? undefined : this.#follow(enter(ctx, this.data))
  }

  #follow(move: Move<S, D> | PromiseLike<Move<S, D>>): Outcome {
    if (typeof move !== 'object' || !('then' in move)) return this.#take(move)
    const outcome: Promise<undefined | 'stopped'> = Promise.resolve(move).then((late) =>
      this.#isAwaited(outcome) ? this.#take(late) : undefined,
    )
    return outcome
  }

  /** Whether the handler is still waited for, not overdue, restarted or stopped meanwhile. */
  #isAwaited(outcome: Outcome): boolean {
    return this.#cell.extras?.awaiting?.promise === outcome
  }

  #take(move: Move<S, D>): undefined | 'stopped' {
    if (move === 'stopped') return 'stopped'
    if (move.type === 'to') this.#goTo(move.state, move.data)
    else this.data = move.data
    return undefined
  }

  #goTo(state: S, data: D): void {
    const from = this.state
    this.#refuseUnlessState(state, from)
    this.#chain.push(state)
    if (this.#chain.length > ENTER_CHAIN_MAX) throw chainTooLong(this.#cell, this.#chain)
    this.state = state
    this.data = data
    this.#cell.core.trace(this.#cell, 'transition', { from, to: state })
    this.enterSoon()
  }
}

/** What a test may see of an actor's machine, and do to begin in the middle. */
export interface MachineProbe<S extends string = string, D = unknown> {
  readonly state: S
  readonly data: D
  /** As if it had come here long ago: no `enter` is due. */
  place(state: S, data: D): void
  /** The `enter` of the present state becomes the next turn. */
  enterSoon(): void
}

/** The machine that an actor is; undefined where it is none, or has ended. The caller knows its types. */
export function machineOf<S extends string = string, D = unknown>(
  ref: Ref<never>,
): MachineProbe<S, D> | undefined {
  const cell: unknown = ref
  const found = cell instanceof Cell ? cell.extras?.machine : undefined
  return found instanceof Machine ? found : undefined
}

/** Entering a state, as the mail that does it. The same one every time: a retry is recognised by it. */
class Enter extends Special {
  readonly #state: () => string
  readonly #run: () => Outcome

  constructor(state: () => string, run: () => Outcome) {
    super()
    this.#state = state
    this.#run = run
  }

  override get about(): unknown {
    return { enter: this.#state() }
  }

  override get isMessage(): boolean {
    return false
  }

  override run(): Next<never> {
    return this.#run()
  }
}

function noSuchState(cell: Cell, state: string, from: string | undefined): Accident {
  const use = from === undefined ? 'to be in' : `to go to from ${from}`
  return new Accident(
    fault('no-such-state', `${cell.path} has no state ${state} ${use}`, {
      actor: cell.path,
      from,
      state,
      remedy: 'name a state of the machine',
    }),
  )
}

function chainTooLong(cell: Cell, chain: readonly string[]): Accident {
  const cycle = chain.slice(chain.lastIndexOf(chain.at(-1)!, -2)).join(' → ')
  return new Accident(
    fault('enter-chain-too-long', `${cell.path} enters state after state: ${cycle}`, {
      actor: cell.path,
      chain,
      limit: ENTER_CHAIN_MAX,
      remedy: 'let one of these states wait for a message',
    }),
  )
}
