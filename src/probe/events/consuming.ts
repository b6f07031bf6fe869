/**
 * The consuming side of a test: every event that its filters let through, in the order of each partition.
 *
 * It is ready when every consumer is, and misses nothing from then on. An event that cannot be read is
 * logged with the reason and ends nothing; if its key cannot be read, no filter can judge it.
 */
import { Accident, freshId } from '../../std/index.ts'
import type { TopicDirective } from '../bundle/directive.ts'
import type { Room } from './event-log.ts'
import { bytesOf, type ConsumedEvent, type EventConsumer } from './events.ts'
import type { Decoded } from './formats.ts'
import {
  openTopics,
  type EventSessionOptions,
  type ReadyTopic,
  type SessionTopics,
} from './session.ts'

export type ConsumingOptions = EventSessionOptions &
  Readonly<{
    /** Once: no more events come from this topic, or the log is full. */
    onLost: (error: unknown) => void
  }>

export interface ConsumingSession extends AsyncDisposable {
  readonly topics: SessionTopics
}

export async function openConsuming(options: ConsumingOptions): Promise<ConsumingSession> {
  const topics = await openTopics(options, 'consumer')
  const consumers: Consumption[] = []
  let isOver = false
  const close = async (): Promise<void> => {
    isOver = true
    await Promise.all(consumers.splice(0).map((each) => each.close()))
    await topics[Symbol.asyncDispose]()
  }
  const onLost = (error: unknown): void => {
    if (isOver) return
    isOver = true
    options.onLost(error)
  }
  try {
    const opened = await Promise.allSettled(
      topics.ready.map(async (topic) => {
        const consumption = new Consumption(topic, options, onLost)
        await consumption.open()
        consumers.push(consumption)
      }),
    )
    for (const each of opened) if (each.status === 'rejected') throw each.reason
  } catch (error) {
    await close()
    throw error
  }
  return { topics, [Symbol.asyncDispose]: close }
}

class Consumption {
  readonly #topic: ReadyTopic
  readonly #options: ConsumingOptions
  readonly #onLost: (error: unknown) => void
  /** Events are read one after the other, so that they are logged in order. */
  #tail: Promise<void> = Promise.resolve()
  #consumer: EventConsumer | undefined

  constructor(topic: ReadyTopic, options: ConsumingOptions, onLost: (error: unknown) => void) {
    this.#topic = topic
    this.#options = options
    this.#onLost = onLost
  }

  async open(): Promise<void> {
    const { directive, cluster, credentials } = this.#topic
    const { testId, signal } = this.#options
    this.#consumer = await cluster.consumer({
      topic: directive.topic,
      group: `test-${testId}-${freshId()}`, // a group goes on where it was, and a test begins anew
      from: directive.from,
      credentials,
      signal,
      onEvent: (event) => this.#take(event),
      onLost: this.#onLost,
    })
  }

  async close(): Promise<void> {
    await this.#consumer?.[Symbol.asyncDispose]()
    await this.#tail
  }

  #take(event: ConsumedEvent): void {
    try {
      const room = this.#options.events.admit(bytesOf(event))
      this.#tail = this.#tail.then(() => this.#read(event, room)).catch((error) => this.#end(error))
    } catch (error) {
      this.#end(error)
    }
  }

  #end(error: unknown): void {
    const isSealed = error instanceof Accident && error.code === 'event-log-closed'
    if (!isSealed) this.#onLost(error)
  }

  async #read(event: ConsumedEvent, room: Room): Promise<void> {
    const { directive, format } = this.#topic
    const decoded = await format.decode(event)
    if (!isWanted(directive, decoded)) return room.forgo()
    const { topic, partition, offset, at, headers, isOld } = event
    const cluster = directive.bootstrapServers
    room.append({
      direction: 'consumed',
      topic,
      ...(cluster !== undefined && { cluster }),
      partition,
      offset,
      at,
      headers,
      ...(isOld && { isOld }),
      ...decoded,
    })
  }
}

/** Exact and case-sensitive; no filter lets everything through. */
function isWanted({ eventFilters }: TopicDirective, decoded: Decoded): boolean {
  if (eventFilters.length === 0) return true
  if (decoded.undecodable?.some(({ part }) => part === 'key') === true) return true
  return eventFilters.some(
    ({ key, value }) => key === decoded.type && value === decoded.payloadVersion,
  )
}
