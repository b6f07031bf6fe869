/** The queue broker as a feature of the server: its own API as routes, and Amazon's as a wire beside them. */
import { createBroker, queueRoutes, sqsWire, type Broker } from '../broker/index.ts'
import type { RawService } from '../http/index.ts'
import type { Journal } from '../journal/index.ts'
import type { System } from '../kernel/index.ts'
import type { Clock, Log } from '../std/index.ts'
import { isProtected } from './authenticating.ts'
import type { Config } from './config-keys.ts'
import type { Feature } from './feature.ts'
import { brokerMetrics } from './metrics.ts'

export type BrokerParts = Readonly<{
  config: Config
  system: System
  journal: Journal
  clock: Clock
  log: Log
}>

export async function brokerFeature(
  parts: BrokerParts,
): Promise<Feature & Readonly<{ broker: Broker }>> {
  const { config, system, journal, log } = parts
  const broker = await createBroker({
    system,
    journal,
    log,
    bodiesMax: config['broker.bodiesMax'],
  })
  const wire = sqsFor(broker, parts)
  const home = { account: config['broker.account'], region: config['broker.region'] }
  let isClosed = false
  return {
    broker,
    routes: queueRoutes(broker, { home }),
    ...(wire !== undefined && { wire }),
    health: async () => [
      isClosed ? { name: 'broker', up: false, note: 'it is closed' } : { name: 'broker', up: true },
    ],
    metrics: () => brokerMetrics(broker.metrics()),
    async close() {
      isClosed = true
      await broker.close()
    },
  }
}

/** Whoever has to say who they are at the routes does not get in by another door without a key. */
function sqsFor(broker: Broker, { config, clock, log }: BrokerParts): RawService | undefined {
  const given = config['broker.sqs.keys']
  if (given.length === 0 && isProtected(config)) {
    log.info('the SQS wire is off: callers need keys, and broker.sqs.keys has none')
    return undefined
  }
  return sqsWire({
    broker,
    clock,
    options: {
      keys: given.length === 0 ? 'off' : given,
      account: config['broker.account'],
      region: config['broker.region'],
      limits: config['broker.sqs.limits'],
    },
  })
}
