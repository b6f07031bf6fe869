/** One client of a cluster with one set of credentials; what it logs is masked and goes to our log. */
import type { Admin, Kafka, KafkaConfig, LogEntry, Producer, SASLOptions } from 'kafkajs'
import type Package from 'kafkajs'

import type { Clock, Log } from '../../std/index.ts'
import type { Mask } from '../secrets/secrets.ts'
import type { Credentials } from './events.ts'
import { within } from './kafka-faults.ts'
import { accessTokens } from './kafka-tokens.ts'
import { optionalPackage } from './packages.ts'

export type KafkaWorld = Readonly<{
  brokers: readonly string[]
  ca?: string
  clock: Clock
  log: Log
  mask: Mask
}>

export const KAFKA_CONNECT_MS = 10_000
export const KAFKA_REQUEST_MS = 30_000

/** Some seconds in all; whoever asked then hears of it, or starts anew. */
export const KAFKA_RETRY: Readonly<{
  initialRetryTime: number
  maxRetryTime: number
  retries: number
}> = {
  initialRetryTime: 100,
  maxRetryTime: 2_000,
  retries: 5,
}

const CLOSE_MS = 5_000

export class KafkaConnection {
  readonly name: string
  uses = 0
  readonly #credentials: Credentials
  readonly #world: KafkaWorld
  #client: Promise<Kafka> | undefined
  #producer: Promise<Producer> | undefined
  #admin: Promise<Admin> | undefined

  constructor(name: string, credentials: Credentials, world: KafkaWorld) {
    this.name = name
    this.#credentials = credentials
    this.#world = world
  }

  async client(): Promise<Kafka> {
    this.#client ??= loadKafkajs().then(
      ({ Kafka }) => new Kafka(configOf(this.#credentials, this.#world)),
    )
    return this.#client
  }

  /** Connected. */
  async producer(): Promise<Producer> {
    this.#producer ??= this.#open(async (client) => {
      const { Partitioners } = await loadKafkajs()
      const producer = client.producer({
        allowAutoTopicCreation: false,
        createPartitioner: Partitioners.DefaultPartitioner,
      })
      await producer.connect()
      return producer
    })
    this.#producer.catch(() => (this.#producer = undefined))
    return this.#producer
  }

  /** Connected. */
  async admin(): Promise<Admin> {
    this.#admin ??= this.#open(async (client) => {
      const admin = client.admin()
      await admin.connect()
      return admin
    })
    this.#admin.catch(() => (this.#admin = undefined))
    return this.#admin
  }

  async close(): Promise<void> {
    const { clock, log, mask } = this.#world
    for (const opened of [this.#producer, this.#admin]) {
      try {
        const one = await opened?.catch(() => undefined)
        if (one !== undefined) await within(one.disconnect(), { clock, ms: CLOSE_MS })
      } catch (error) {
        log.warn('a connection to Kafka was not closed in time', {
          error: mask.text(String(error)),
        })
      }
    }
    this.#producer = undefined
    this.#admin = undefined
  }

  async #open<T>(work: (client: Kafka) => Promise<T>): Promise<T> {
    return work(await this.client())
  }
}

function loadKafkajs(): Promise<typeof Package> {
  return optionalPackage('kafkajs', async () => (await import('kafkajs')).default)
}

function configOf(credentials: Credentials, world: KafkaWorld): KafkaConfig {
  const { brokers, ca } = world
  const hasTls =
    credentials.type === 'oauthbearer' || (credentials.type !== 'none' && credentials.tls)
  const sasl = saslOf(credentials, world)
  return {
    clientId: 'flytower-probe',
    brokers: [...brokers],
    ssl: hasTls ? (ca === undefined ? true : { ca: [ca] }) : false,
    ...(sasl !== undefined && { sasl }),
    connectionTimeout: KAFKA_CONNECT_MS,
    authenticationTimeout: KAFKA_CONNECT_MS,
    requestTimeout: KAFKA_REQUEST_MS,
    retry: { ...KAFKA_RETRY },
    logCreator: () => (entry) => logEntry(entry, world),
  }
}

function saslOf(credentials: Credentials, { clock, mask }: KafkaWorld): SASLOptions | undefined {
  switch (credentials.type) {
    case 'none':
      return undefined
    case 'plain':
    case 'scram-sha-256':
    case 'scram-sha-512': {
      const { type: mechanism, username } = credentials
      const password = credentials.password.reveal()
      mask.add(password)
      return { mechanism, username, password }
    }
    case 'oauthbearer': {
      const token = accessTokens(credentials, { clock, mask })
      return {
        mechanism: 'oauthbearer',
        oauthBearerProvider: async () => ({ value: await token() }),
      }
    }
  }
}

/** Its errors are our warnings: what comes of them is said by the fault that follows, if any. */
function logEntry({ namespace, label, log: entry }: LogEntry, { log, mask }: KafkaWorld): void {
  const { message, timestamp: _, logger: __, stack: ___, ...fields } = entry
  const said = mask.text(`kafka: ${message}`)
  const facts = { namespace, facts: mask.text(JSON.stringify(fields)) }
  if (label === 'ERROR' || label === 'WARN') log.warn(said, facts)
  else log.debug(said, facts)
}
