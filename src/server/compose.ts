/**
 * The one place where the parts meet: a journal, a system of actors, entities, features, and the http
 * layer in front of them.
 *
 *   composed --start--> serving --stop--> stopped
 *
 * A request's trace goes with everything its route tells, and with every event it causes.
 */
import type { Broker } from '../broker/index.ts'
import { createEntities, type DrainReport, type Entities } from '../entity/index.ts'
import {
  createHttp,
  type Authenticator,
  type Http,
  type Metric,
  type Route,
} from '../http/index.ts'
import type { Journal } from '../journal/index.ts'
import { createSystem, withContext, type System } from '../kernel/index.ts'
import type { Probe } from '../probe/index.ts'
import { Accident, PRODUCT, systemClock, type Clock, type Log } from '../std/index.ts'
import type { Stock } from '../stock/index.ts'
import { brokerFeature } from './broker-feature.ts'
import { authenticatorFor, refuseExposure } from './authenticating.ts'
import type { Config } from './config-keys.ts'
import { dataDirectory, removeNote, writeNote } from './directory.ts'
import type { Feature } from './feature.ts'
import { readiness, type Health } from './health.ts'
import { entityMetrics, journalMetrics, kernelMetrics, ProcessMetrics } from './metrics.ts'
import { openStore, type Backup, type Store } from './store.ts'
import { platformRoutes } from './platform-routes.ts'
import { probeFeature } from './probe-feature.ts'
import { stockFeature } from './stock-feature.ts'

export type ComposeOptions = Readonly<{
  log: Log
  version: string
  clock?: Clock
  /** One that is being opened already; otherwise the config's is. */
  store?: Promise<Store>
  /** Where secrets of tests may be. */
  environment?: Readonly<Record<string, string | undefined>>
}>

export type Address = Readonly<{ host: string; port: number; url: string }>

/** `actors` did not end in time; what else there is, the entities say. */
export type Stopped = DrainReport & Readonly<{ actors: readonly string[] }>

export interface Server extends AsyncDisposable {
  readonly http: Http
  readonly journal: Journal
  readonly system: System
  readonly entities: Entities
  readonly stock: Stock
  readonly broker: Broker
  readonly probe: Probe
  /** Listens where the config says. */
  start(): Promise<Address>
  /** What has been begun and not been answered. */
  unfinished(): Readonly<{ commits: number; commands: number }>
  /** Refuses what comes, answers what is owed, makes durable what was decided. Once. */
  stop(): Promise<Stopped>
}

/** Throws `open-to-all` where the config would let anybody in from anywhere. */
export async function compose(config: Config, options: ComposeOptions): Promise<Server> {
  const { log, clock = systemClock } = options
  const exposure = refuseExposure(config)
  if (exposure !== undefined) throw new Accident(exposure)
  const store = await (options.store ?? openStore(config, { clock }))
  const { journal } = store
  const system = createSystem({ name: PRODUCT, clock, log: named(log, 'kernel') })
  const entities = createEntities({
    system,
    journal,
    log: named(log, 'entity'),
    idleMs: config['stockPot.unloadAfterInactivity'],
    sweepMs: config['stockPot.unloadCheckInterval'],
  })
  try {
    const authenticator = await authenticatorFor(config, { clock, log: named(log, 'http') })
    const stock = await stockFeature({ config, entities, journal, clock, log: named(log, 'stock') })
    const queues = await brokerFeature({
      config,
      system,
      journal,
      clock,
      log: named(log, 'broker'),
    })
    const tests = await probeFeature({
      config,
      system,
      journal,
      clock,
      log: named(log, 'probe'),
      environment: options.environment ?? {},
    })
    const parts = { clock, authenticator, ...store, system, entities, stock: stock.stock }
    return new Composition(config, options, {
      ...parts,
      broker: queues.broker,
      probe: tests.probe,
      features: [stock, queues, tests],
    })
  } catch (error) {
    await entities.drain()
    await system.stop()
    await journal.close()
    throw error
  }
}

type Parts = Readonly<{
  clock: Clock
  authenticator: Authenticator
  journal: Journal
  /** None where nothing is kept. */
  backup: Backup | undefined
  system: System
  entities: Entities
  stock: Stock
  broker: Broker
  probe: Probe
  features: readonly Feature[]
}>

/** What an accident of the journal is to whoever sent the request. */
const STATUSES: Readonly<Record<string, number>> = {
  'journal-overloaded': 503,
  'journal-closed': 503,
  'read-only': 507,
  damaged: 503,
  'unknown-outcome': 503,
}

class Composition implements Server {
  readonly http: Http
  readonly journal: Journal
  readonly system: System
  readonly entities: Entities
  readonly stock: Stock
  readonly broker: Broker
  readonly probe: Probe
  readonly #config: Config
  readonly #version: string
  readonly #parts: Parts
  readonly #process: ProcessMetrics
  #isDraining = false
  #stopping: Promise<Stopped> | undefined

  constructor(config: Config, { log, version }: ComposeOptions, parts: Parts) {
    const { clock, authenticator, features, backup } = parts
    this.#config = config
    this.#version = version
    this.#parts = parts
    this.#process = new ProcessMetrics(clock)
    this.journal = parts.journal
    this.system = parts.system
    this.entities = parts.entities
    this.stock = parts.stock
    this.broker = parts.broker
    this.probe = parts.probe
    const [wire] = features.flatMap((feature) => feature.wire ?? [])
    const platform = platformRoutes({
      health: () => this.#health(),
      metrics: () => this.#metrics(),
      ...(backup !== undefined && { backup }),
    })
    this.http = createHttp({
      routes: [...platform, ...features.flatMap(({ routes }) => routes)].map(withTrace),
      authenticator,
      log: named(log, 'http'),
      clock,
      limits: {
        bodyBytes: config['http.bodyMax'],
        requestMs: config['http.requestTimeout'],
        connections: config['http.connectionsMax'],
      },
      statuses: STATUSES,
      info: { title: PRODUCT, version },
      ...(wire !== undefined && { raw: wire }),
      logRequests: config['log.requests'],
    })
  }

  async start(): Promise<Address> {
    const { 'listen.host': host, 'listen.port': wanted } = this.#config
    const { port } = await this.http.listen({ host, port: wanted })
    const url = `http://${host.includes(':') ? `[${host}]` : host}:${port}`
    if (this.#parts.backup !== undefined)
      writeNote(dataDirectory(this.#config), { pid: process.pid, url, version: this.#version })
    return { host, port, url }
  }

  unfinished(): Readonly<{ commits: number; commands: number }> {
    return {
      commits: this.journal.stats().pending,
      commands: this.entities.list().reduce((sum, { pending }) => sum + pending, 0),
    }
  }

  stop(): Promise<Stopped> {
    this.#stopping ??= this.#stop()
    return this.#stopping
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop()
  }

  /** From the outside in: whoever is owed an answer needs all that is behind the http layer. */
  async #stop(): Promise<Stopped> {
    const { clock, features, backup } = this.#parts
    const endMs = clock.monotonic() + this.#config['shutdown.total']
    const leftMs = (): number => Math.max(0, endMs - clock.monotonic())
    const drainMs = (): number => Math.min(this.#config['shutdown.drain'], leftMs())
    this.#isDraining = true
    if (backup !== undefined) removeNote(dataDirectory(this.#config))
    await this.http.close(drainMs())
    await Promise.all(features.map((feature) => feature.close()))
    const drained = await this.entities.drain({ drainMs: drainMs(), totalMs: leftMs() })
    const { overdue: actors } = await this.system.stop({ deadlineMs: leftMs() })
    this.#process.stop()
    await this.journal.close()
    return { ...drained, actors }
  }

  #health(): Promise<Health> {
    const { features } = this.#parts
    return readiness({
      isDraining: () => this.#isDraining,
      journal: () => this.journal.state,
      features: async () => (await Promise.all(features.map((each) => each.health()))).flat(),
    })
  }

  #metrics(): readonly Metric[] {
    return [
      ...kernelMetrics(this.system.metrics()),
      ...journalMetrics(this.journal.stats()),
      ...entityMetrics(this.entities.metrics()),
      ...this.#parts.features.flatMap((feature) => feature.metrics()),
      ...this.http.metrics(),
      ...this.#process.metrics(),
    ]
  }
}

function named(log: Log, component: string): Log {
  return log.child({ component })
}

/** What the route tells while it runs, and what follows from that, carries the trace of its call. */
function withTrace(one: Route): Route {
  return { ...one, handle: (call) => withContext(call.trace, () => one.handle(call)) }
}
