/**
 * From a name to the entity that bears it, which is woken for that.
 *
 * A request id that is on its way already is not sent a second time: whoever repeats it is told what
 * comes of the first.
 */
import { differingFields, fingerprintOf, NAME_BYTES_MAX } from '../../journal/index.ts'
import { Accident } from '../../std/index.ts'
import type { Answer, AskOptions } from '../entities.ts'
import type { AnyEntity } from '../entity.ts'
import { Active } from './active.ts'
import { streamOf } from './codec.ts'
import type { Core } from './core.ts'
import { badName, badNumber, overloaded, requestMismatch, shuttingDown } from './faults.ts'
import type { Kind } from './kind.ts'
import { Follower, Request, type Asking, type Reject, type Resolve } from './request.ts'
import { place } from './shelf.ts'

/** How long an ask waits unless it says otherwise. */
export const ENTITY_ASK_MS_DEFAULT = 10_000

const NOTHING_ALONG: Asking = {}

/** Settles when the command has been carried out or answered; rejects with the reason why not. */
export function askFor(
  core: Core,
  entity: AnyEntity,
  id: string,
  command: unknown,
  options: AskOptions | undefined,
): Promise<Answer<unknown>> {
  return new Promise((resolve, reject) => {
    const kind = core.kindOf(entity)
    const deadlineMs = options?.deadlineMs ?? core.limits.askMs
    if (!(deadlineMs > 0 && deadlineMs < Infinity))
      throw badNumber('deadlineMs', deadlineMs, 'a finite number of milliseconds above 0')
    const asking = options === undefined ? NOTHING_ALONG : askingOf(kind, id, command, options)
    if (
      asking.requestId !== undefined &&
      joined(core, kind, id, asking, deadlineMs, resolve, reject)
    )
      return
    if (core.isDraining) throw shuttingDown({ kind, id }, false)
    const request = new Request(kind, id, command, asking, resolve, reject)
    if (asking.requestId !== undefined) core.inFlight.set(asking.requestId, request)
    core.deadlines.add(request, deadlineMs)
    send(core, request)
  })
}

/** Hands a command to its entity. */
export function send(core: Core, request: Request): void {
  const { kind, id } = request
  const entity = kind.active.get(id) ?? wake(core, kind, id)
  if (entity instanceof Accident) request.refuse(entity)
  else entity.tell(request)
}

function wake(core: Core, kind: Kind, id: string): Active | Accident {
  const trouble = kind.troubles.get(id)
  if (trouble !== undefined && core.clock.monotonic() < trouble.retryMs) return trouble.accident
  const { population, limits } = core
  if (population.size >= 2 * limits.activeMax)
    return overloaded(
      { kind, id },
      `${population.size} others are awake and busy`,
      limits.activeMax,
    )
  if (core.isClosed) return shuttingDown({ kind, id }, false)
  try {
    const entity = new Active(
      core,
      kind,
      id,
      streamOf({ type: kind.type, id }),
      trouble?.attempts ?? 0,
    )
    kind.active.set(id, entity)
    population.add(entity)
    place(entity)
    return entity
  } catch (error) {
    if (error instanceof Accident) return error
    throw error
  }
}

/** Whether the request is on its way already; then the caller is told what comes of it, or refused. */
function joined(
  core: Core,
  kind: Kind,
  id: string,
  { requestId = '', fingerprint = '' }: Asking,
  deadlineMs: number,
  resolve: Resolve,
  reject: Reject,
): boolean {
  const first = core.inFlight.get(requestId)
  if (first === undefined) return false
  const before = first.asking.fingerprint ?? ''
  const { mailbox } = core.limits
  if (before !== fingerprint) {
    core.counts.ledgerMismatches++
    reject(requestMismatch({ kind, id }, requestId, differingFields(before, fingerprint)))
  } else if ((first.followers?.length ?? 0) >= mailbox)
    reject(overloaded({ kind, id }, `${mailbox} repeat the request ${requestId}`, mailbox))
  else {
    core.counts.coalesced++
    const follower = new Follower(first, resolve, reject)
    first.follow(follower)
    core.deadlines.add(follower, deadlineMs)
  }
  return true
}

function askingOf(kind: Kind, id: string, command: unknown, options: AskOptions): Asking {
  const { requestId, content, expected, actor, trace } = options
  if (expected !== undefined && !(Number.isSafeInteger(expected) && expected >= 0))
    throw badNumber('expected', expected, 'a version: a whole number from 0')
  const asking: { -readonly [Name in keyof Asking]: Asking[Name] } = {}
  if (requestId !== undefined) {
    asking.requestId = named('requestId', requestId)
    asking.fingerprint = fingerprintOf(content ?? fieldsOf(kind, id, command))
  }
  if (expected !== undefined) asking.expected = expected
  if (actor !== undefined) asking.actor = named('actor', actor)
  if (trace !== undefined) asking.trace = named('trace', trace)
  return asking
}

/** What a request is compared by; the fields of a command one by one, so that a mismatch can name them. */
function fieldsOf({ type }: Kind, id: string, command: unknown): Record<string, unknown> {
  const fields: Record<string, unknown> = { entity: type, id }
  if (typeof command !== 'object' || command === null || Array.isArray(command))
    fields['command'] = command
  else for (const [name, value] of Object.entries(command)) fields[`command.${name}`] = value
  return fields
}

function named(option: string, given: string): string {
  const isName =
    typeof given === 'string' &&
    given !== '' &&
    given.isWellFormed() &&
    !given.includes('\0') &&
    (given.length * 3 <= NAME_BYTES_MAX || Buffer.byteLength(given) <= NAME_BYTES_MAX)
  if (!isName) throw badName(option, given)
  return given
}
