/** The producing side of a test: an event is produced when the broker has acknowledged it, and logged then. */
import { Accident, fault, freshId, type Clock } from '../../std/index.ts'
import type { ProduceInput } from '../steps/services.ts'
import type { EventLog, LoggedEvent } from './event-log.ts'
import { bytesOf, type EventProducer } from './events.ts'
import {
  openTopics,
  type EventSessionOptions,
  type ReadyTopic,
  type SessionTopics,
} from './session.ts'

export interface ProducingSession extends AsyncDisposable {
  readonly topics: SessionTopics
  /** Throws an `Accident`. */
  produce(input: ProduceInput): Promise<LoggedEvent>
}

/** Ready when every producer has found its topic. */
export async function openProducing(options: EventSessionOptions): Promise<ProducingSession> {
  const topics = await openTopics(options, 'producer')
  const producers = new Map<string, EventProducer>()
  const close = async (): Promise<void> => {
    await Promise.all(Array.from(producers.values(), (each) => each[Symbol.asyncDispose]()))
    producers.clear()
    await topics[Symbol.asyncDispose]()
  }
  try {
    for (const { directive, cluster, credentials } of topics.ready) {
      const { topic } = directive
      const { signal } = options
      producers.set(topic, await cluster.producer({ topic, credentials, signal }))
    }
  } catch (error) {
    await close()
    throw error
  }
  return {
    topics,
    produce(input) {
      const topic = topics.ready.find(({ directive }) => directive.topic === input.topic)
      const producer = producers.get(input.topic)
      if (topic === undefined || producer === undefined) throw notProduced(input.topic)
      return produce(input, topic, producer, options)
    },
    [Symbol.asyncDispose]: close,
  }
}

async function produce(
  input: ProduceInput,
  { directive, format }: ReadyTopic,
  producer: EventProducer,
  { events, clock }: Readonly<{ events: EventLog; clock: Clock }>,
): Promise<LoggedEvent> {
  const wire = await format.encode({ ...input, id: freshId(), at: clock.now() })
  const room = events.admit(bytesOf(wire))
  try {
    const placed = await producer.send(wire)
    const { undecodable: _, ...decoded } = await format.decode(wire)
    return room.append({
      direction: 'produced',
      topic: directive.topic,
      ...(directive.bootstrapServers !== undefined && { cluster: directive.bootstrapServers }),
      ...placed,
      at: clock.now(),
      headers: wire.headers,
      ...decoded,
      value: input.value ?? null, // it may be in a format that the topic is not read in
    })
  } catch (error) {
    room.forgo()
    throw error
  }
}

function notProduced(topic: string): Accident {
  return new Accident(
    fault('no-such-topic', `the directive has no topic ${topic} to produce to`, {
      topic,
      isTransient: false,
      remedy: 'add it to the directive with the role producer',
    }),
  )
}
