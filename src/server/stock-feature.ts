/** The stock service as a feature of the server: its places come from where the config says. */
import type { Entities } from '../entity/index.ts'
import type { Journal } from '../journal/index.ts'
import { Accident, assert, freshSeed, isFault, random, type Clock, type Log } from '../std/index.ts'
import {
  createStock,
  httpTransport,
  listedLocations,
  openRegistry,
  remoteLocations,
  stockRoutes,
  timeOf,
  type LocationDirectory,
  type LocationRegistry,
  type Stock,
} from '../stock/index.ts'
import type { Config } from './config-keys.ts'
import { readDataFile } from './data-file.ts'
import type { Feature } from './feature.ts'

export type StockParts = Readonly<{
  config: Config
  entities: Entities
  journal: Journal
  clock: Clock
  log: Log
}>

type Places = Readonly<{
  locations: LocationDirectory
  registry?: LocationRegistry
  close?: () => void
}>

/** Throws `bad-locations` or `unreadable-file` where the config names a file of places. */
export async function stockFeature(
  parts: StockParts,
): Promise<Feature & Readonly<{ stock: Stock }>> {
  const { config, entities, journal, clock, log } = parts
  const { locations, registry, close } = await placesFor(parts)
  const closedBefore = timeOf(config['stock.booksClosedBefore'])
  const stock = createStock({
    entities,
    locations,
    log,
    options: {
      futureSkewMs: config['stock.futureSkew'],
      oversell: config['stock.oversell'],
      ...(closedBefore !== undefined && { booksClosedBefore: closedBefore }),
    },
    isStorageUp: () => journal.state === 'open',
  })
  return {
    stock,
    routes: stockRoutes(stock, { clock, locations, ...(registry !== undefined && { registry }) }),
    health: async () => (await stock.health()).checks,
    metrics: () => stock.metrics(),
    async close() {
      await stock.close()
      close?.()
    },
  }
}

async function placesFor({ config, entities, clock, log }: StockParts): Promise<Places> {
  switch (config['stock.locations.source']) {
    case 'registry': {
      const registry = await openRegistry(entities)
      return { locations: registry, registry }
    }
    case 'file': {
      const listed = listedLocations(await readDataFile(config['stock.locations.file'] ?? ''))
      if (isFault(listed)) throw new Accident(listed)
      return { locations: listed }
    }
    case 'remote': {
      const url = config['stock.locations.url']
      assert(url !== undefined, 'a remote source has a url')
      const transport = httpTransport(clock)
      const locations = remoteLocations({
        baseUrl: url.replace(/\/+$/, ''),
        transport: transport.get,
        clock,
        random: random(freshSeed()),
        log,
        requestMs: config['stock.locations.timeout'],
        attempts: config['stock.locations.attempts'],
        backoffMs: config['stock.locations.delay'],
        staleMs: config['stock.locations.staleFor'],
        breakerFailures: config['stock.locations.failures'],
        breakerQuietMs: config['stock.locations.quiet'],
      })
      return { locations, close: () => transport.close() }
    }
  }
}
