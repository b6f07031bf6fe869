/** Why a command was not carried out: what callers of `ask` switch on. */
import { NAME_BYTES_MAX } from '../../journal/index.ts'
import { Accident, fault } from '../../std/index.ts'
import type { EntityKey } from '../entity.ts'
import { JSON_DATA } from './codec.ts'

type Named = Readonly<{ kind: Readonly<{ type: string }>; id: string }>

/** Who it is about, in the detail of every fault. */
function about({ kind, id }: Named): EntityKey {
  return { type: kind.type, id }
}

function nameOf({ kind, id }: Named): string {
  return `the ${kind.type} ${id}`
}

export function unavailable(of: Named, why: unknown, retryAtMs: number): Accident {
  return new Accident(
    fault('entity-unavailable', `${nameOf(of)} could not be brought back`, {
      ...about(of),
      cause: reasonOf(why),
      retryAtMs,
      remedy: 'ask again after retryAtMs; the cause says what stood in the way',
    }),
    { cause: why },
  )
}

export function quarantined(of: Named, why: unknown): Accident {
  return new Accident(
    fault('entity-quarantined', `the history of ${nameOf(of)} cannot be read`, {
      ...about(of),
      cause: reasonOf(why),
      remedy: 'do what the cause says, then release the entity',
    }),
    { cause: why },
  )
}

export function tooSlow(of: Named, ms: number): Accident {
  return new Accident(
    fault('deadline-passed', `the journal did not give the history of ${nameOf(of)} in time`, {
      ...about(of),
      ms,
      remedy:
        'look at what keeps the journal; a history that is that long takes a larger activationMs',
    }),
  )
}

export function overloaded(of: Named, what: string, limit: number): Accident {
  return new Accident(
    fault('entity-overloaded', `${what} for ${nameOf(of)} already`, {
      ...about(of),
      limit,
      remedy: 'ask again later, and less at once',
    }),
  )
}

export function contended(of: Named, conflicts: number): Accident {
  return new Accident(
    fault('entity-contended', `others wrote to ${nameOf(of)} whenever it wanted to`, {
      ...about(of),
      conflicts,
      remedy: 'ask again; if it stays so, let one runtime alone own the entity',
    }),
  )
}

export function fenced(of: Named, token: number, current: number): Accident {
  return new Accident(
    fault('entity-fenced', `${nameOf(of)} has another owner`, {
      ...about(of),
      token,
      current,
      remedy: 'ask the owner, who took the fence since',
    }),
  )
}

export function requestMismatch(of: Named, requestId: string, fields: readonly string[]): Accident {
  return new Accident(
    fault('request-mismatch', `the request id ${requestId} was used for something else`, {
      ...about(of),
      requestId,
      fields,
      remedy: 'repeat a request as it was, or give what is different an id of its own',
    }),
  )
}

export function versionMismatch(of: Named, expected: number, actual: number): Accident {
  return new Accident(
    fault('version-mismatch', `${nameOf(of)} is at version ${actual}, not ${expected}`, {
      ...about(of),
      expected,
      actual,
      remedy: 'read the entity again and decide whether the command still makes sense',
    }),
  )
}

export function postponedTooLong(of: Named, until: number): Accident {
  return new Accident(
    fault('postponed-too-long', `${nameOf(of)} could not carry out the command by then`, {
      ...about(of),
      until,
      remedy: 'ask again later, or let decide postpone for longer',
    }),
  )
}

export function shuttingDown(of: Named, isStarted: boolean): Accident {
  return new Accident(
    fault('shutting-down', `the runtime of ${nameOf(of)} is being shut down`, {
      ...about(of),
      mayHaveTakenEffect: isStarted,
      remedy: 'ask again when it is back, with the same request id',
    }),
  )
}

export function deadlinePassed(of: Named, isStarted: boolean): Accident {
  return new Accident(
    fault('deadline-passed', `${nameOf(of)} did not answer in time`, {
      ...about(of),
      mayHaveTakenEffect: isStarted,
      remedy: isStarted
        ? 'ask again with the same request id: it has one effect and one answer'
        : 'ask again, and allow more time; the command was dropped',
    }),
  )
}

export function unknownOutcome(of: Named, why: unknown): Accident {
  if (why instanceof Accident && why.code === 'unknown-outcome') return why
  return new Accident(
    fault('unknown-outcome', `it is not known whether the command of ${nameOf(of)} took effect`, {
      ...about(of),
      cause: reasonOf(why),
      remedy: 'ask again with the same request id: it has one effect and one answer',
    }),
    { cause: why },
  )
}

/** What `decide`, `evolve`, `alarm` or `react` threw, unless it was made for callers in the first place. */
export function decideFailed(of: Named, why: unknown): Accident {
  if (why instanceof Accident) return why
  return new Accident(
    fault('decide-failed', `${nameOf(of)} threw over the command`, {
      ...about(of),
      cause: reasonOf(why),
      remedy: 'let decide answer refusals as replies; what it throws is a bug of the entity',
    }),
    { cause: why },
  )
}

export function redefined(type: string): Accident {
  return new Accident(
    fault('entity-redefined', `there is another definition of ${type} already`, {
      type,
      remedy: 'define each type once, and give every runtime the same definition',
    }),
  )
}

export function badName(option: string, given: unknown): Accident {
  return new Accident(
    fault('bad-option', `the ${option} of a command cannot be what was given`, {
      option,
      given: typeof given === 'string' ? given.toWellFormed().slice(0, 100) : typeof given,
      remedy: `give well-formed text of 1 to ${NAME_BYTES_MAX} bytes without NUL`,
    }),
  )
}

export function badNumber(option: string, given: number, allowed: string): Accident {
  return new Accident(
    fault('bad-option', `the option ${option} cannot be ${given}`, {
      option,
      given,
      remedy: `give ${allowed}`,
    }),
  )
}

export function badAlarm(of: Named, at: unknown): Accident {
  return new Accident(
    fault('bad-alarm', `${nameOf(of)} wants to be woken at ${String(at)}`, {
      ...about(of),
      remedy: 'let alarm answer whole milliseconds since the epoch, or undefined',
    }),
  )
}

/** A reply that is kept under a request id, so that whoever repeats it is told the same. */
export function badReply(of: Named, place: string | undefined, cause?: unknown): Accident {
  return new Accident(
    fault('bad-reply', `the reply of ${nameOf(of)} is not JSON${placed(place)}`, {
      ...about(of),
      ...(place !== undefined && { place }),
      remedy: `make replies of ${JSON_DATA}`,
    }),
    { cause },
  )
}

/** A command for another entity, which is kept until it has been delivered. */
export function badMessage(to: Named, place: string | undefined, cause?: unknown): Accident {
  return new Accident(
    fault('bad-message', `the message for ${nameOf(to)} is not JSON${placed(place)}`, {
      ...about(to),
      ...(place !== undefined && { place }),
      remedy: `make commands that others are told of ${JSON_DATA}`,
    }),
    { cause },
  )
}

function placed(place: string | undefined): string {
  return place === undefined ? '' : ` at ${place.slice(1)}`
}

/** What is told of an error inside another fault. */
export function reasonOf(error: unknown): Readonly<{ code: string; message: string }> {
  if (error instanceof Accident) return { code: error.code, message: error.message }
  return { code: 'thrown', message: error instanceof Error ? error.message : String(error) }
}
