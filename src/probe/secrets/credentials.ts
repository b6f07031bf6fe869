/**
 * What a test needs to prove who it is: a credential for each topic, and the secrets its steps may ask for.
 *
 * A topic with a principal has the secret of that name; its fields say how it is used. A topic without a
 * principal goes without a credential. Nothing is left out in silence: what cannot be had is an error
 * that names every topic concerned. Values are known to the mask before anybody else sees them.
 */
import { Accident, unreachable } from '../../std/index.ts'
import type { Directive, TopicDirective } from '../bundle/directive.ts'
import type { Credentials } from '../events/events.ts'
import { isTransient } from '../trying.ts'
import { badSecret } from './accidents.ts'
import { OPEN_FIELDS } from './fields.ts'
import { onceEach } from './sources.ts'
import type { Mask, Secret, SecretSource } from './secrets.ts'

export type Security = Readonly<{
  /** By `topic/role`. */
  credentials: ReadonlyMap<string, Credentials>
  /** By the name the directive gives, and by field. */
  secrets: ReadonlyMap<string, ReadonlyMap<string, Secret>>
}>

type Fields = ReadonlyMap<string, Secret>

const MECHANISMS = ['plain', 'scram-sha-256', 'scram-sha-512', 'oauthbearer'] as const

export async function credentialsFor(
  directive: Pick<Directive, 'topics' | 'secrets'>,
  source: SecretSource,
  mask: Mask,
  signal: AbortSignal,
): Promise<Security> {
  const once = onceEach(source)
  const credentials = await Promise.allSettled(
    directive.topics.map(
      async (topic) =>
        [`${topic.topic}/${topic.role}`, await credentialOf(topic, once, mask, signal)] as const,
    ),
  )
  const secrets = await Promise.allSettled(
    directive.secrets.map(
      async (name) => [name, hidden(await once.resolve(name, { signal }), mask)] as const,
    ),
  )
  signal.throwIfAborted()
  const reasons = [...credentials, ...secrets].flatMap((one) =>
    one.status === 'rejected' ? [one.reason as unknown] : [],
  )
  if (reasons.length > 0) throw together(reasons)
  return { credentials: new Map(valuesOf(credentials)), secrets: new Map(valuesOf(secrets)) }
}

async function credentialOf(
  topic: TopicDirective,
  source: SecretSource,
  mask: Mask,
  signal: AbortSignal,
): Promise<Credentials> {
  const { clientPrincipal } = topic
  if (clientPrincipal === undefined) return { type: 'none' }
  try {
    const fields = await source.resolve(clientPrincipal, { signal })
    for (const [field, value] of fields) if (!OPEN_FIELDS.has(field)) mask.add(value.reveal())
    return credentialFrom(clientPrincipal, fields)
  } catch (error) {
    throw error instanceof Accident ? naming(topic, error) : error
  }
}

function credentialFrom(principal: string, fields: Fields): Credentials {
  const usual = fields.has('clientSecret') ? 'oauthbearer' : 'plain'
  const written = (textOf(fields, 'mechanism') ?? usual).toLowerCase()
  const mechanism = MECHANISMS.find((one) => one === written)
  switch (mechanism) {
    case undefined:
      throw badSecret(
        principal,
        'its mechanism is not known',
        `make it one of ${MECHANISMS.join(', ')}`,
      )
    case 'oauthbearer':
      return {
        type: mechanism,
        clientId: textOf(fields, 'clientId') ?? principal,
        clientSecret: needed(principal, fields, 'clientSecret'),
        tokenEndpoint: endpoint(principal, fields),
        scope: textOf(fields, 'scope'),
      }
    case 'plain':
    case 'scram-sha-256':
    case 'scram-sha-512':
      return {
        type: mechanism,
        username: textOf(fields, 'username') ?? principal,
        password: needed(principal, fields, 'password'),
        tls: flag(principal, fields, 'tls', true),
      }
    default:
      return unreachable(mechanism)
  }
}

function textOf(fields: Fields, name: string): string | undefined {
  return fields.get(name)?.reveal()
}

function needed(secret: string, fields: Fields, name: string): Secret {
  const field = fields.get(name)
  if (field === undefined)
    throw badSecret(secret, `it has no field ${name}`, `add the field ${name}`)
  return field
}

function endpoint(principal: string, fields: Fields): string {
  const written = textOf(fields, 'tokenEndpoint') ?? ''
  const url = URL.parse(written)
  if (url?.protocol === 'https:' || url?.protocol === 'http:') return url.href
  throw badSecret(
    principal,
    'its field tokenEndpoint is no URL',
    'write one that begins with https://',
  )
}

function flag(principal: string, fields: Fields, name: string, usual: boolean): boolean {
  const written = textOf(fields, name)
  if (written === undefined) return usual
  if (written === 'true' || written === 'false') return written === 'true'
  throw badSecret(principal, `its field ${name} is neither true nor false`, 'write true or false')
}

/** Everything that steps can ask for is hidden. */
function hidden(fields: Fields, mask: Mask): Fields {
  for (const value of fields.values()) mask.add(value.reveal())
  return fields
}

function naming({ topic, role, line }: TopicDirective, accident: Accident): Accident {
  const { fault: reason } = accident
  return new Accident(
    {
      ...reason,
      message: `the topic ${topic} has no credential as ${role} (line ${line}): ${reason.message}`,
      detail: { ...reason.detail, topic, role, line },
    },
    { cause: accident },
  )
}

/** One error for all; a bug goes before everything, and then what may be better next time. */
function together(reasons: readonly unknown[]): unknown {
  const accidents = reasons.filter((reason) => reason instanceof Accident)
  if (accidents.length < reasons.length)
    return reasons.find((reason) => !(reason instanceof Accident))
  const first = accidents.find(isTransient) ?? accidents[0]
  if (first === undefined || accidents.length === 1) return first
  return new Accident(
    {
      ...first.fault,
      message: `${first.fault.message} (and ${accidents.length - 1} more)`,
      detail: { ...first.detail, problems: accidents.map(({ fault: { message } }) => message) },
    },
    { cause: first },
  )
}

function valuesOf<T>(settled: readonly PromiseSettledResult<T>[]): T[] {
  return settled.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []))
}
