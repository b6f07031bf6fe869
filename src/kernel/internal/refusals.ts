/** The ways a message is turned away: each is a dead letter, and a fault that names actor and remedy. */
import { Accident, fault } from '../../std/index.ts'
import type { Refusal } from '../ref.ts'
import type { Cell } from './cell.ts'

export type Issue = Readonly<{ message: string; path?: unknown }>

export function refuseStopped(cell: Cell, message: unknown): Refusal {
  cell.core.deadLetters.add(cell.path, message, 'stopped')
  return fault('actor-stopped', `the actor ${cell.path} has stopped`, {
    actor: cell.path,
    remedy: 'watch the actor to learn of its end, or look it up by name again',
  })
}

export function refuseFull(cell: Cell, message: unknown): Refusal {
  cell.core.deadLetters.add(cell.path, message, 'mailbox-full')
  return fullFault(cell, 'slow down, wait with offer, raise the bound, or choose another overflow')
}

export function fullFault(cell: Cell, remedy: string): Refusal {
  const { bound } = cell.options
  return fault('mailbox-full', `the mailbox of ${cell.path} holds ${bound} messages and is full`, {
    actor: cell.path,
    bound,
    remedy,
  })
}

export function refuseCycle(cell: Cell, message: unknown, cycle: readonly string[]): Refusal {
  cell.core.deadLetters.add(cell.path, message, 'backpressure-cycle')
  cell.core.metrics.backpressureCycles++
  return fault('backpressure-cycle', `${cycle.join(' waits for ')}: all are full`, {
    actor: cell.path,
    cycle,
    remedy: 'give one of them a larger bound or another overflow policy, or break the loop',
  })
}

export function refuseInvalid(cell: Cell, message: unknown, issues: readonly Issue[]): Refusal {
  cell.core.deadLetters.add(cell.path, message, 'invalid-message')
  const first = issues[0]?.message ?? 'it does not match'
  return fault('invalid-message', `${cell.path} does not accept this message: ${first}`, {
    actor: cell.path,
    issues,
    remedy: 'send what the schema of the actor describes',
  })
}

/** Only an actor of this process keeps track of who asks it. */
export function notAnActor(path: string): Accident {
  return new Accident(
    fault('not-an-actor', `${path} can be told but not asked`, {
      actor: path,
      remedy: 'ask the ref that spawn gave, not a wrapper around it',
    }),
  )
}
