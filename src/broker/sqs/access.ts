/**
 * Who may do what: keys that requests are signed with, each with rules of actions and queues.
 *
 * A rule names actions and queues by patterns, in which `*` stands for anything. What a rule denies is denied,
 * whatever another allows; what none allows is denied. A key without rules may do everything. Doing several
 * things at once takes the right to do one of them.
 *
 * Without keys everybody may do everything, which is for this machine only. Then the address is the credential,
 * so a page of another site must not lend it.
 */
import type { RawRequest } from '../../http/index.ts'
import type { QueueName } from '../broker.ts'
import { SqsError } from './errors.ts'
import { arnOf } from './places.ts'
import { claimOf, SigningKeys } from './signature.ts'

export type SqsRule = Readonly<{
  effect: 'allow' | 'deny'
  /** Such as `SendMessage`, `Receive*` or `*`. */
  actions: readonly string[]
  /** Names of queues, such as `orders-*`. */
  queues: readonly string[]
}>

export type SqsKey = Readonly<{
  accessKeyId: string
  secretAccessKey: string
  /** Whose queues it is for; those of the wire's own account otherwise. */
  account?: string
  policy?: readonly SqsRule[]
}>

export type Caller = Readonly<{
  region: string
  account: string
  /** The key that has signed. */
  accessKeyId?: string
  /** Throws unless the caller may do that to that queue, or to all of them. */
  check(action: string, queue: QueueName | undefined): void
}>

export interface Access {
  /** Throws for whoever is not let in. */
  admit(request: RawRequest): Caller
}

type Place = Readonly<{ account: string; region: string }>

/** Everybody on this machine. */
export function openAccess(home: Place): Access {
  return {
    admit(request) {
      refuseStrangers(request.headers)
      // Clients sign with whatever they have; all that is read is where they think they are.
      const region = /Credential=[^/]+\/\d+\/([a-z0-9-]{1,64})\//.exec(
        request.headers['authorization'] ?? '',
      )?.[1]
      return { region: region ?? home.region, account: home.account, check: anything }
    },
  }
}

function anything(): void {}

/** Those who have one of the keys. */
export function keyAccess(
  keys: readonly SqsKey[],
  home: Place,
  clock: Readonly<{ now(): number }>,
): Access {
  const known = new Map(keys.map((key) => [key.accessKeyId, { key, may: judgeOf(key) }]))
  const signingKeys = new SigningKeys()
  return {
    admit(request) {
      const claim = claimOf(request)
      if (claim === undefined) throw new SqsError('MissingAuthenticationToken')
      const found = known.get(claim.accessKeyId)
      if (found === undefined) throw new SqsError('InvalidClientTokenId')
      const { key, may } = found
      const secret = key.secretAccessKey
      signingKeys.verify(request, claim, { secret, nowMs: clock.now() })
      const { accessKeyId, account = home.account } = key
      return {
        region: claim.region,
        account,
        accessKeyId,
        check(action, queue) {
          const isElsewhere =
            queue !== undefined && key.account !== undefined && queue.account !== account
          if (!isElsewhere && may(action, queue?.name ?? '*')) return
          const resource = queue === undefined ? '*' : arnOf(queue)
          throw new SqsError(
            'AccessDenied',
            `User: ${accessKeyId} is not authorized to perform: sqs:${action.toLowerCase()} on resource: ${resource}`,
          )
        },
      }
    },
  }
}

type Judge = (action: string, queue: string) => boolean

function judgeOf({ policy }: SqsKey): Judge {
  if (policy === undefined) return () => true
  const rules = policy.map(({ effect, actions, queues }) => ({
    effect,
    actions: patternOf(actions.map((name) => name.replace(/^sqs:/i, ''))),
    queues: patternOf(queues),
  }))
  const applies = (effect: SqsRule['effect']): Judge => {
    const these = rules.filter((rule) => rule.effect === effect)
    return (action, queue) =>
      these.some((rule) => rule.actions.test(action) && rule.queues.test(queue))
  }
  const [allows, denies] = [applies('allow'), applies('deny')]
  return (action, queue) => {
    const one = action.replace(/Batch$/, '')
    return allows(one, queue) && !denies(one, queue)
  }
}

function patternOf(patterns: readonly string[]): RegExp {
  const alternatives = patterns.map((pattern) =>
    pattern
      .split('*')
      .map((part) => part.replace(/[.+?^$()|[\]{}\\]/g, String.raw`\$&`))
      .join('.*'),
  )
  return new RegExp(`^(?:${alternatives.join('|')})$`)
}

const LOOPBACK_HOST = /^(?:(?:[\w-]+\.)*localhost|127(?:\.\d{1,3}){3}|\[::1\])(?::\d+)?$/i

/** A browser says on whose behalf it asks, and a name that was bound to this address is not this machine's. */
function refuseStrangers(headers: Readonly<Record<string, string | undefined>>): void {
  const { host = '', origin, 'sec-fetch-site': site } = headers
  const isOwn = origin === undefined || origin === `http://${host}` || origin === `https://${host}`
  const isAsked = site === undefined || site === 'same-origin' || site === 'none'
  if (isOwn && isAsked && LOOPBACK_HOST.test(host)) return
  throw new SqsError(
    'AccessDenied',
    'Access to the resource is denied. Reason: without keys, requests come from this machine and not from a page of another site.',
  )
}
