/**
 * Random programs for the kernel, as plain data: one can be printed, replayed and cut down.
 *
 * A number that names an actor, a token, a promise or an address is taken modulo how many there are
 * when its turn comes, so every part of a program is a program too. In a handler SELF, PARENT
 * and NEWEST name relatives.
 */
import type { Overflow, Priority, SuspendReason } from '../../src/kernel/index.ts'
import { stop, type Supervision } from '../../src/kernel/supervision.ts'

export const SELF = -1
export const PARENT = -2
/** Whoever was spawned last. */
export const NEWEST = -3

export type Condition =
  | Readonly<{ type: 'manual' }>
  | Readonly<{ type: 'promise' }>
  | Readonly<{ type: 'after'; ms: number }>
  | Readonly<{ type: 'signal'; key: string }>
  | Readonly<{ type: 'capacity'; target: number; room: number }>
  | Readonly<{ type: 'all' | 'any'; of: readonly Condition[] }>

/** What anybody may do, an actor in its turn or somebody outside. */
export type Act =
  | Readonly<{ type: 'send'; to: number; script: Script; context: boolean }>
  | Readonly<{ type: 'spawn'; nature: Nature }>
  | Readonly<{ type: 'stop'; actor: number }>
  | Readonly<{ type: 'suspend'; actor: number; reason: SuspendReason; condition: Condition }>
  | Readonly<{ type: 'resume'; token: number }>
  | Readonly<{ type: 'signal'; key: string; sticky: boolean }>

/** What only an actor may do. */
export type OwnAct =
  | Act
  | Readonly<{ type: 'timer'; key: string; ms: number; every: boolean; script: Script }>
  | Readonly<{ type: 'cancel'; key: string }>
  | Readonly<{ type: 'unstash' }>
  | Readonly<{ type: 'watch'; actor: number; script: Script }>
  | Readonly<{ type: 'unwatch'; actor: number }>

/** How a handler ends. `throw` does so the first `times` times it is handed this message. */
export type End =
  | Readonly<{ type: 'ok' | 'same' | 'stopped' | 'garbage' | 'stash' | 'become' }>
  | Readonly<{ type: 'throw'; times: number }>
  | Readonly<{ type: 'become-later'; acts: readonly OwnAct[]; throws: boolean }>
  | Readonly<{ type: 'async'; acts: readonly Act[] }>

/** What the handler of a message does. */
export type Script = Readonly<{ acts: readonly OwnAct[]; end: End }>

/** How the promise of an async handler, of an `onStop` or of a condition ends. */
export type Outcome = 'ok' | 'stopped' | 'garbage' | 'become' | 'become-later' | 'reject'

export type Nature = Readonly<{
  /** Spawned without options, name or hook: the smallest an actor can be. */
  plain: boolean
  bound: number
  overflow: Overflow
  priority: Priority
  supervision: Supervision
  stash: number
  handlerMs: number | undefined
  /** Made by `setup`, whose start throws so many times. */
  setup: boolean
  startThrows: number
  hook: 'none' | 'returns' | 'throws' | 'async'
  hookActs: readonly Act[]
  /** Somebody listens for its end. */
  heard: boolean
}>

export type Op =
  | Act
  | Readonly<{ type: 'flood'; to: number; count: number }>
  | Readonly<{ type: 'offer'; to: number; script: Script }>
  | Readonly<{ type: 'address'; actor: number }>
  | Readonly<{ type: 'tell-at'; address: number; script: Script }>
  | Readonly<{ type: 'settle'; promise: number; outcome: Outcome }>
  | Readonly<{ type: 'advance'; ms: number }>
  | Readonly<{ type: 'turns'; picks: readonly number[] }>
  | Readonly<{ type: 'rest' }>
  | Readonly<{ type: 'listen' }>

export type Program = Readonly<{
  seed: number
  /** Milliseconds of host time between two readings of its clock: what decides how long a drain is. */
  tickMs: number
  /** A crowd of actors with full lanes, to make the express lane grow. */
  crowd: boolean
  ops: readonly Op[]
}>

export const PLAIN: Nature = {
  plain: true,
  bound: 10_000,
  overflow: 'reject',
  priority: 'normal',
  supervision: stop(),
  stash: 1_000,
  handlerMs: undefined,
  setup: false,
  startThrows: 0,
  hook: 'none',
  hookActs: [],
  heard: false,
}

export const IDLE: Script = { acts: [], end: { type: 'ok' } }
