/** What was chosen for an actor when it was spawned, with every default filled in. */
import type { StandardSchemaV1 } from '@standard-schema/spec'
import { Accident, fault } from '../../std/index.ts'
import type { Overflow, SpawnOptions } from '../behavior.ts'
import { stop, type Backoff, type Supervision } from '../supervision.ts'
import { EXPRESS_MAX } from './dispatch.ts'
import { HIGH, LOW, NORMAL } from './ready-queue.ts'
import { BOX_ONLY, DOOR } from './status.ts'

/** Messages that may wait for one actor, unless it is spawned with another bound. */
export const MAILBOX_DEFAULT = 10_000
/** The largest bound an actor may be given. */
export const MAILBOX_MAX = 16_777_216
/** Messages one actor may put aside, unless it is spawned with another limit. */
export const STASH_DEFAULT = 1_000

export type Options = Readonly<{
  bound: number
  overflow: Overflow
  lane: number
  supervision: Supervision
  schema: StandardSchemaV1 | undefined
  handlerMs: number | undefined
  stash: number
  /** Status bits that the cell has all its life. */
  status: number
}>

export const DEFAULTS: Options = {
  bound: MAILBOX_DEFAULT,
  overflow: 'reject',
  lane: NORMAL,
  supervision: stop(),
  schema: undefined,
  handlerMs: undefined,
  stash: STASH_DEFAULT,
  status: 0,
}

/** The defaults where the order of turns is chosen from outside. */
export const STEPPED_DEFAULTS: Options = { ...DEFAULTS, status: BOX_ONLY }

const LANES = { high: HIGH, normal: NORMAL, low: LOW } as const
const OVERFLOWS: ReadonlySet<string> = new Set<Overflow>([
  'reject',
  'drop-oldest',
  'drop-newest',
  'suspend-sender',
])

/**
 * Fills in defaults; throws `bad-option` naming the first option that cannot be, and whoever wanted
 * to spawn with it.
 */
export function readOptions(
  given: SpawnOptions<never>,
  defaults: Options,
  spawner?: Readonly<{ path: string }>,
): Options {
  const options = {
    bound: given.bound ?? defaults.bound,
    overflow: given.overflow ?? defaults.overflow,
    lane: LANES[given.priority ?? 'normal'],
    supervision: given.supervision ?? defaults.supervision,
    schema: given.schema,
    handlerMs: given.handlerMs,
    stash: given.stash ?? defaults.stash,
  }
  const { bound, overflow, lane, stash, handlerMs, supervision } = options
  const refuseUnless = (
    valid: boolean,
    option: keyof SpawnOptions<never>,
    allowed: string,
  ): void => {
    if (!valid) throw badOption(spawner?.path ?? '/', option, given[option], allowed)
  }
  refuseUnless(isWhole(bound, 1, MAILBOX_MAX), 'bound', '1 to 16 777 216')
  refuseUnless(OVERFLOWS.has(overflow), 'overflow', [...OVERFLOWS].join(', '))
  refuseUnless(lane !== undefined, 'priority', Object.keys(LANES).join(', '))
  refuseUnless(isWhole(stash, 0, MAILBOX_MAX), 'stash', '0 to 16 777 216')
  refuseUnless(handlerMs === undefined || handlerMs > 0, 'handlerMs', 'above 0')
  refuseUnless(isPossible(supervision), 'supervision', 'numbers from 0, a jitter up to 1')
  return { ...options, status: defaults.status | statusFor(options) }
}

function statusFor(options: Omit<Options, 'status'>): number {
  const { bound, overflow, lane, schema } = options
  const express =
    lane === NORMAL && bound >= EXPRESS_MAX && (overflow === 'reject' || overflow === 'drop-newest')
  return (express ? 0 : BOX_ONLY) | (schema === undefined ? 0 : DOOR)
}

function isWhole(value: number, min: number, max: number): boolean {
  return Number.isSafeInteger(value) && value >= min && value <= max
}

function isPossible(supervision: Supervision): boolean {
  switch (supervision.type) {
    case 'retry':
      return areLimits(supervision) && isPossible(supervision.otherwise)
    case 'restart':
      return areLimits(supervision) && supervision.windowMs >= 0
    case 'resume':
    case 'stop':
    case 'escalate':
      return true
    default:
      return false
  }
}

function isTime(ms: number): boolean {
  return Number.isFinite(ms) && ms >= 0
}

function areLimits({ max, backoff }: Readonly<{ max: number; backoff: Backoff }>): boolean {
  const { minMs, maxMs, factor, jitter } = backoff
  return max >= 0 && isTime(minMs) && isTime(maxMs) && factor >= 0 && jitter >= 0 && jitter <= 1
}

function badOption(actor: string, option: string, given: unknown, allowed: string): Accident {
  return new Accident(
    fault('bad-option', `the option ${option} cannot have the value given`, {
      actor,
      option,
      given,
      remedy: `give ${option} a value of: ${allowed}`,
    }),
  )
}
