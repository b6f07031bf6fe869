/**
 * Sees everything that happens in one system, as a test wants to know it afterwards.
 *
 * It freezes each message as it is received. An error that accuses the test itself, a failed
 * assertion inside an actor or a change to a frozen message, is supervised like any other and then
 * thrown once more at whoever turns the system: a test must not pass because an actor kept quiet.
 */
import type { DeadLetter, System, TraceEntry } from '../kernel/index.ts'
import { Accident, fault } from '../std/index.ts'
import { deepFreeze, isMutation } from './freeze.ts'
import { isError, show } from './show.ts'

export type Failure = Readonly<{
  /** The path of the actor that failed. */
  actor: string
  error: unknown
  /** What it was handling. */
  message: unknown
}>

/** Entries of each kind that are kept: beyond it, the older half is let go. */
const KEPT = 200_000

export class Witness {
  readonly trace: TraceEntry[] = []
  readonly failures: Failure[] = []
  readonly deadLetters: DeadLetter[] = []
  /** Told of trace entries that are about to be let go. */
  onForget: (entries: readonly TraceEntry[]) => void = () => undefined
  #seq = 0
  readonly #system: System
  readonly #freezes: boolean
  readonly #accusations: unknown[] = []

  constructor(system: System, freezes: boolean) {
    this.#system = system
    this.#freezes = freezes
    system.trace((entry) => this.#see(entry))
    system.onDeadLetter((letter) => keep(this.deadLetters, letter))
  }

  /** Something that the kernel does not see but that belongs to what happened. */
  add(actor: string, type: TraceEntry['type'], facts: TraceEntry['facts']): void {
    this.#keep({ seq: 0, at: this.#system.clock.monotonic(), actor, type, facts })
  }

  /** Throws the first error that accuses the test. */
  testify(): void {
    if (this.#accusations.length === 0) return
    const [first] = this.#accusations.splice(0)
    throw first
  }

  #see(entry: TraceEntry): void {
    const { facts } = entry
    if (this.#freezes && entry.type === 'received') deepFreeze(facts['message'])
    if (entry.type === 'failed') this.#fail(entry.actor, facts['error'], facts['message'])
    this.#keep(entry)
  }

  #fail(actor: string, error: unknown, message: unknown): void {
    keep(this.failures, { actor, error, message })
    if (isAssertion(error)) this.#accusations.push(error)
    else if (this.#freezes && isMutation(error)) {
      this.#accusations.push(mutated(actor, message, error))
    }
  }

  #keep(entry: TraceEntry): void {
    keep(this.trace, { ...entry, seq: this.#seq++ }, this.onForget)
  }
}

function keep<T>(list: T[], item: T, onForget?: (items: readonly T[]) => void): void {
  if (list.length >= KEPT) {
    const old = list.splice(0, KEPT / 2)
    onForget?.(old)
  }
  list.push(item)
}

/** By its marks, since every test runner brings a class of its own. */
function isAssertion(error: unknown): boolean {
  if (!isError(error)) return false
  return 'matcherResult' in error || /^(?:AssertionError|ExpectationFailure)\b/.test(error.name)
}

function mutated(actor: string, message: unknown, error: Error): Accident {
  return new Accident(
    fault('message-mutated', `${actor} changed what it was told: ${error.message}`, {
      actor,
      message: show(message),
      remedy: 'make a changed copy; a message belongs to everybody who has it',
    }),
    { cause: error },
  )
}
