/** The kernel: actors, their supervision and their suspension. */
export { ask, type AskOptions } from './ask.ts'
export {
  receive,
  setup,
  type Behavior,
  type ChildFactory,
  type Context,
  type Handle,
  type Handler,
  type Hooks,
  type Next,
  type OfferOptions,
  type Overflow,
  type Priority,
  type SpawnOptions,
  type Step,
} from './behavior.ts'
export {
  machine,
  machineOf,
  stay,
  to,
  type MachineDefinition,
  type MachineProbe,
  type Move,
  type State,
} from './machine.ts'
export type { MetricsSnapshot } from './metrics.ts'
export type { Address, Ended, Ref, Refusal, Watchable } from './ref.ts'
export {
  escalate,
  restart,
  resume,
  retry,
  stop,
  type Backoff,
  type LastResort,
  type Supervision,
} from './supervision.ts'
export {
  after,
  all,
  any,
  capacity,
  manual,
  settled,
  signal,
  type ResumeCondition,
  type SuspendReason,
  type SuspendToken,
} from './suspension.ts'
export {
  createSteppedSystem,
  createSystem,
  withContext,
  type SteppedSystem,
  type StopReport,
  type System,
  type SystemOptions,
} from './system.ts'
export type { Timers } from './timers.ts'
export type { TraceEntry, TraceListener, TraceType } from './trace.ts'
export type { DeadLetter, DeadLetterReason } from './internal/dead-letters.ts'
