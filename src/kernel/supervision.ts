/**
 * What happens to an actor that failed, as data.
 *
 *   resume     the message is lost, the actor goes on as it was
 *   retry      the same message again, after a back-off
 *   restart    children stopped, a new state, the same mailbox and address
 *   stop       the actor ends; whoever watches it learns the cause
 *   escalate   the parent fails in its stead
 *
 * A limit that runs out ends in `otherwise`.
 */
import { Accident, fault } from '../std/index.ts'

export type Backoff = Readonly<{
  /** The first pause. */
  minMs: number
  /** No pause is longer. */
  maxMs: number
  /** Each pause is this many times the one before. */
  factor: number
  /** Share of the pause that is drawn at random, 0 to 1. */
  jitter: number
}>

export type LastResort = Readonly<{ type: 'stop' }> | Readonly<{ type: 'escalate' }>

export type Supervision =
  | Readonly<{ type: 'resume' }>
  | Readonly<{ type: 'retry'; max: number; backoff: Backoff; otherwise: Supervision }>
  | Readonly<{
      type: 'restart'
      max: number
      windowMs: number
      backoff: Backoff
      otherwise: LastResort
    }>
  | LastResort

export const BACKOFF_DEFAULT: Backoff = { minMs: 100, maxMs: 10_000, factor: 2, jitter: 0.2 }

export const RETRIES_DEFAULT = 3
export const RESTARTS_DEFAULT = 10
/** The most restarts within one window that can be asked for, other than Infinity. */
export const RESTARTS_MAX = 1_000
export const RESTART_WINDOW_MS_DEFAULT = 60_000

export function resume(): Supervision {
  return { type: 'resume' }
}

export function stop(): LastResort {
  return { type: 'stop' }
}

export function escalate(): LastResort {
  return { type: 'escalate' }
}

/** Runs the failed message again, up to `max` times, then does what `otherwise` says. */
export function retry(
  options: Readonly<{ max?: number; backoff?: Partial<Backoff>; otherwise?: Supervision }> = {},
): Supervision {
  return {
    type: 'retry',
    max: options.max ?? RETRIES_DEFAULT,
    backoff: { ...BACKOFF_DEFAULT, ...options.backoff },
    otherwise: options.otherwise ?? stop(),
  }
}

/** Starts afresh, up to `max` times within `windowMs`, then does what `otherwise` says. */
export function restart(
  options: Readonly<{
    max?: number
    windowMs?: number
    backoff?: Partial<Backoff>
    otherwise?: LastResort
  }> = {},
): Supervision {
  const { max = RESTARTS_DEFAULT } = options
  if (max > RESTARTS_MAX && max !== Infinity) throw tooManyRestarts(max)
  return {
    type: 'restart',
    max,
    windowMs: options.windowMs ?? RESTART_WINDOW_MS_DEFAULT,
    backoff: { ...BACKOFF_DEFAULT, ...options.backoff },
    otherwise: options.otherwise ?? stop(),
  }
}

/** The pause before attempt number `attempt`, counted from 1. `draw` is a number in [0, 1). */
export function pauseMs(backoff: Backoff, attempt: number, draw: number): number {
  const whole = Math.min(backoff.maxMs, backoff.minMs * backoff.factor ** (attempt - 1))
  return Math.round(whole * (1 - backoff.jitter * draw))
}

function tooManyRestarts(given: number): Accident {
  return new Accident(
    fault('bad-option', `an actor cannot be restarted ${given} times in one window`, {
      option: 'max',
      given,
      remedy: `give max a number up to ${RESTARTS_MAX}, or Infinity for no limit`,
    }),
  )
}
