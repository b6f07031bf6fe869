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
  type Next,
  type Overflow,
  type Priority,
  type SpawnOptions,
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
export { escalate, restart, resume, retry, stop, type Supervision } from './supervision.ts'
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
export type { TraceEntry, TraceListener } from './trace.ts'
export type { DeadLetter } from './internal/dead-letters.ts'
