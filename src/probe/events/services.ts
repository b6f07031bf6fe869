/** What steps are answered about events. Only topics of the directive can be asked about. */
import { Accident, fault, type Fault } from '../../std/index.ts'
import type { EventQuery, SchemaInput, ServiceHandlers, TopicInput } from '../steps/services.ts'
import { CLOUD_EVENT } from './cloud-event.ts'
import type { ConsumingSession } from './consuming.ts'
import type { EventLog } from './event-log.ts'
import type { ProducingSession } from './producing.ts'
import { recordNamed } from './schema.ts'
import type { ReadyTopic, SessionTopics } from './session.ts'
import { registered } from './values.ts'

export type EventSessions = Readonly<{
  producing: ProducingSession | undefined
  consuming: ConsumingSession | undefined
}>

type Found = Readonly<{ topic: ReadyTopic; session: SessionTopics }>

/** The default cluster, where a step has to name it. */
const DEFAULT_CLUSTER = 'default'

/** `sessions` are looked at when something is asked. */
export function eventServices(sessions: () => EventSessions, events: EventLog): ServiceHandlers {
  return {
    async topic(input) {
      return { roles: find(input).map(({ topic }) => topic.directive.role) }
    },
    async 'create-topic'(input) {
      const { topic, session } = one(input)
      await session.create(topic, input.partitions)
      return null
    },
    async cluster({ name }) {
      if (!all().some(({ topic }) => isCluster(topic, name))) throw noCluster(name)
      return null
    },
    async schema(input) {
      const { topic } = one(input)
      if (!(await isWritten(topic, input))) throw notWritten(input)
      return null
    },
    async produce(input) {
      const { producing } = sessions()
      if (producing === undefined) throw notOpen()
      one(input, 'producer')
      return producing.produce(input)
    },
    async position() {
      return { sequence: events.size }
    },
    async query(input) {
      refuseUnknown(input)
      return events.find(input)
    },
    async 'await-events'({ count, is, withinMs, ...query }) {
      refuseUnknown(query)
      return events.wait(query, { count, is, withinMs })
    },
    async 'group-lag'(input) {
      const { cluster, credentials, directive } = one(input).topic
      return { lag: await cluster.lag(directive.topic, input.group, credentials) }
    },
  }

  function all(): Found[] {
    const { producing, consuming } = sessions()
    return [producing, consuming].flatMap((session) =>
      session === undefined
        ? []
        : session.topics.ready.map((topic) => ({ topic, session: session.topics })),
    )
  }

  function find({ topic: name, cluster }: TopicInput): Found[] {
    return all().filter(
      ({ topic }) =>
        topic.directive.topic === name && (cluster === undefined || isCluster(topic, cluster)),
    )
  }

  function one(input: TopicInput, role?: 'producer' | 'consumer'): Found {
    const found = find(input).find(
      ({ topic }) => role === undefined || topic.directive.role === role,
    )
    if (found === undefined) throw notInDirective(input, role)
    return found
  }

  /** To wait for events of a topic that is not consumed would be to wait in vain. */
  function refuseUnknown({ topic, cluster, direction = 'consumed' }: EventQuery): void {
    one({ topic, cluster }, direction === 'consumed' ? 'consumer' : 'producer')
  }
}

function isCluster({ directive }: ReadyTopic, name: string): boolean {
  return (directive.bootstrapServers ?? DEFAULT_CLUSTER) === name
}

/** The key of a topic, or a record of its values, in the bundle or the registry. */
async function isWritten(topic: ReadyTopic, input: SchemaInput): Promise<boolean> {
  const { directive, records, cluster } = topic
  const { of, format, type, version } = input
  if (of === 'key' && (format === 'cloudevent' || format === 'json'))
    return directive.keyFormat === format
  if (of === 'key') {
    const found = await registered(directive.topic, CLOUD_EVENT, version, cluster.registry)
    return directive.keyFormat === 'cloudevent' && found?.schema.type === format
  }
  if (directive.valueFormat !== format) return false
  if (type === undefined || format === 'json') return true
  if (version === undefined && recordNamed(records, type) !== undefined) return true
  return (await registered(directive.topic, type, version, cluster.registry)) !== undefined
}

function notInDirective({ topic, cluster }: TopicInput, role = 'topic'): Accident {
  const where = cluster === undefined ? '' : ` on ${cluster}`
  const as = role === 'topic' ? '' : ` as ${role}`
  return refusal(
    fault('no-such-topic', `the directive has no topic ${topic}${where}${as}`, {
      topic,
      cluster,
      remedy: 'add it to the directive',
    }),
  )
}

function noCluster(name: string): Accident {
  return refusal(
    fault('no-such-cluster', `no topic of the directive is on the cluster ${name}`, {
      cluster: name,
      remedy: `name the bootstrap servers as the directive does, or '${DEFAULT_CLUSTER}'`,
    }),
  )
}

function notWritten({ topic, of, format, type, version }: SchemaInput): Accident {
  const which = [type, version === undefined ? undefined : `in version ${version}`]
  const what = ['in', format, ...which].filter((word) => word !== undefined).join(' ')
  return refusal(
    fault('no-such-schema', `the ${of}s of ${topic} are not written ${what}`, {
      topic,
      remedy: 'let the directive say so, and put the schema into the bundle or register it',
    }),
  )
}

function notOpen(): Accident {
  return refusal(fault('events-unavailable', 'nothing can be produced yet', { isTransient: true }))
}

function refusal(reason: Fault): Accident {
  return new Accident(reason)
}
