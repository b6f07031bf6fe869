/** Clients of a cluster with their credentials; what they log is masked and goes to our log. */
import type { Kafka, KafkaConfig, LogEntry, Producer, SASLOptions } from 'kafkajs'
import type Package from 'kafkajs'

import type { Clock, Log } from '../../std/index.ts'
import type { Mask } from '../secrets/secrets.ts'
import type { Credentials } from './events.ts'
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

export async function newClient(credentials: Credentials, world: KafkaWorld): Promise<Kafka> {
  const { Kafka } = await loadKafkajs()
  return new Kafka(configOf(credentials, world))
}

export async function newProducer(client: Kafka): Promise<Producer> {
  const { Partitioners } = await loadKafkajs()
  return client.producer({
    allowAutoTopicCreation: false,
    createPartitioner: Partitioners.DefaultPartitioner,
  })
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
