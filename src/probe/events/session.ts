/**
 * What producing and consuming have in common: topics of the directive made ready.
 *
 * Every topic needs a role and a credential of its own, and whatever its formats need; all that is
 * missing is said at once, by name, and nothing is left out silently. Topics are created where the
 * directive asks for it, and those that were created are deleted at the end; others are never touched.
 */
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'

import { Accident, fault, isFault, type Clock, type Log } from '../../std/index.ts'
import type { TopicDirective, TopicRole } from '../bundle/directive.ts'
import type { EventLog } from './event-log.ts'
import type { Credentials, EventCluster, EventClusters } from './events.ts'
import { topicFormat, type TopicFormat } from './formats.ts'
import { recordsOf, type RecordFormat } from './schema.ts'

export type EventSessionOptions = Readonly<{
  testId: string
  /** Every topic of the directive, whatever its role. */
  topics: readonly TopicDirective[]
  /** By `<topic>/<role>`. */
  credentials: ReadonlyMap<string, Credentials>
  clusters: EventClusters
  events: EventLog
  /** The directory of the bundle, for its schemas. */
  bundle: string
  clock: Clock
  log: Log
  /** Ends the opening. */
  signal: AbortSignal
}>

export type ReadyTopic = Readonly<{
  directive: TopicDirective
  cluster: EventCluster
  credentials: Credentials
  records: readonly RecordFormat[]
  format: TopicFormat
}>

export type TopicFinding = Readonly<{ topic: string; role: string; line: number; problem: string }>

export interface SessionTopics extends AsyncDisposable {
  readonly ready: readonly ReadyTopic[]
  /** True if it was not there; then it is deleted at the end. */
  create(topic: ReadyTopic, partitions: number): Promise<boolean>
}

/** Throws `bad-topics`, or what the clusters throw. */
export async function openTopics(
  options: EventSessionOptions,
  role: TopicRole,
): Promise<SessionTopics> {
  const findings = [...oddTopics(options.topics)]
  const own = options.topics.filter((topic) => topic.role === role)
  const ready: ReadyTopic[] = []
  for (const topic of own) {
    const made = await readyTopic(topic, options)
    if (typeof made === 'string') findings.push(findingOf(topic, made))
    else ready.push(made)
  }
  if (findings.length > 0) throw badTopics(findings)

  const created = new Set<ReadyTopic>()
  const topics: SessionTopics = {
    ready,
    async create(topic, partitions) {
      const { cluster, credentials, directive } = topic
      const isNew = await cluster.createTopic(directive.topic, partitions, credentials)
      if (isNew) created.add(topic)
      return isNew
    },
    async [Symbol.asyncDispose]() {
      for (const { cluster, credentials, directive } of created) {
        try {
          await cluster.deleteTopic(directive.topic, credentials)
        } catch (error) {
          options.log.warn('a topic of a test could not be deleted', {
            testId: options.testId,
            topic: directive.topic,
            error: messageOf(error),
          })
        }
      }
      created.clear()
    },
  }
  await createAsked(topics, options)
  return topics
}

/** Whichever session comes first creates what the directive asks for on behalf of both. */
async function createAsked(
  topics: SessionTopics,
  { topics: all }: EventSessionOptions,
): Promise<void> {
  try {
    for (const topic of topics.ready) {
      const partitions = all.find(
        ({ topic: name, create, bootstrapServers }) =>
          name === topic.directive.topic &&
          create !== undefined &&
          bootstrapServers === topic.directive.bootstrapServers,
      )?.create
      if (partitions !== undefined) await topics.create(topic, partitions)
    }
  } catch (error) {
    await topics[Symbol.asyncDispose]()
    throw error
  }
}

async function readyTopic(
  directive: TopicDirective,
  options: EventSessionOptions,
): Promise<ReadyTopic | string> {
  const { topic, role, keyFormat, valueFormat, schema, bootstrapServers, eventFilters } = directive
  const credentials = options.credentials.get(`${topic}/${role}`)
  if (credentials === undefined) return 'has no credentials'
  if (eventFilters.length > 0 && keyFormat !== 'cloudevent')
    return `has filters, which need CloudEvents as keys and not ${keyFormat}`
  const cluster = options.clusters.open(bootstrapServers)
  const needsSchema = valueFormat === 'avro' || valueFormat === 'protobuf'
  if (needsSchema && schema === undefined && cluster.registry === undefined)
    return `has values in ${valueFormat}, and neither a schema nor a registry`
  try {
    const records =
      needsSchema && schema !== undefined
        ? await recordsOf({
            type: valueFormat,
            text: await readFile(join(options.bundle, schema), 'utf8'),
          })
        : []
    const { registry } = cluster
    const format = topicFormat({ topic, keyFormat, valueFormat, records, registry })
    return { directive, cluster, credentials, records, format }
  } catch (error) {
    if (error instanceof Accident && error.code === 'missing-package') throw error
    return `has a schema that cannot be used (${schema}): ${messageOf(error)}`
  }
}

function* oddTopics(topics: readonly TopicDirective[]): Generator<TopicFinding> {
  const seen = new Set<string>()
  for (const topic of topics) {
    const role: string = topic.role
    if (role !== 'producer' && role !== 'consumer')
      yield findingOf(topic, 'has a role that is neither producer nor consumer')
    const name = `${topic.topic}/${role}`
    if (seen.has(name)) yield findingOf(topic, 'has this role twice')
    seen.add(name)
  }
}

function findingOf({ topic, role, line }: TopicDirective, problem: string): TopicFinding {
  return { topic, role, line, problem }
}

function badTopics(findings: readonly TopicFinding[]): Accident {
  const all = findings.map(({ topic, role, problem }) => `${topic} (${role}) ${problem}`)
  return new Accident(
    fault('bad-topics', `topics cannot be used: ${all.join('; ')}`, {
      findings,
      isTransient: false,
      remedy: 'correct these topics in the directive, or give them credentials',
    }),
  )
}

export function messageOf(error: unknown): string {
  if (isFault(error)) return error.message
  return error instanceof Error ? error.message : String(error)
}
