/**
 * What the five children of a test have in common.
 *
 * A child does its work outside of its turns and tells its parent what came of it. It never fails for
 * what the world does: that is a `child-failed`, with the fault and not the exception.
 */
import type { Ref } from '../../kernel/index.ts'
import { Accident, fault, type Fault, type Log } from '../../std/index.ts'
import type { ChildKind, ChildNotice } from '../protocol.ts'
import type { ChildPorts } from './ports.ts'

export type ChildOptions = Readonly<{
  testId: string
  parent: Ref<ChildNotice>
  ports: ChildPorts
  log: Log
  /** How long a run that was asked to end may take. */
  graceMs: number
}>

export function tellFailed(
  { parent, log }: ChildOptions,
  kind: ChildKind,
  error: unknown,
): undefined {
  const reason = faultOf(error)
  log.warn('a part of a test failed', { kind, code: reason.code })
  parent.tell({ type: 'child-failed', kind, fault: reason })
  return undefined
}

/** What was thrown, as a value. */
export function faultOf(error: unknown): Fault {
  if (error instanceof Accident) return error.fault
  const words = error instanceof Error ? error.message : String(error)
  return fault('test-crashed', `a part of the test failed: ${words}`, {
    remedy: 'look at the log of the server',
  })
}

export function notReady(kind: ChildKind, wanted: string): Accident {
  return new Accident(
    fault('child-not-ready', `the ${kind} of a test cannot ${wanted} yet`, {
      kind,
      remedy: 'initialize it first',
    }),
  )
}
