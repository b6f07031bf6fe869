/** What came of running a cell, as the invoker judges it. */
import type { ResumeCondition, SuspendReason } from '../suspension.ts'

export type InvokeResult =
  | Readonly<{ type: 'completed' }>
  | Readonly<{ type: 'yielded' }>
  | Readonly<{ type: 'suspended'; reason: SuspendReason; resumeOn: ResumeCondition }>
  | Readonly<{ type: 'failed'; error: unknown }>
  | Readonly<{ type: 'stopped' }>

export const COMPLETED: InvokeResult = { type: 'completed' }
export const YIELDED: InvokeResult = { type: 'yielded' }
export const HAS_STOPPED: InvokeResult = { type: 'stopped' }
