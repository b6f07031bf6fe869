/** All routes of the stock: writes, reads, the feed, the operator's view, locations and health. */
import type { Route } from '../../http/index.ts'
import type { LocationDirectory } from '../locations/directory.ts'
import type { LocationRegistry } from '../locations/registry.ts'
import type { Stock } from '../stock.ts'
import type { Wall } from './answering.ts'
import { getEvents } from './get-events.ts'
import { getExplanation } from './get-explanation.ts'
import { getHealth } from './get-health.ts'
import { getHistory } from './get-history.ts'
import { getLevel } from './get-level.ts'
import { getLocation } from './get-location.ts'
import { getMove } from './get-move.ts'
import { getPath } from './get-path.ts'
import { getPot } from './get-pot.ts'
import { getRequest } from './get-request.ts'
import { listChildren } from './list-children.ts'
import { listMoves } from './list-moves.ts'
import { listPlaces } from './list-places.ts'
import { listPots } from './list-pots.ts'
import { listProducts } from './list-products.ts'
import { postCount } from './post-count.ts'
import { postDelivery } from './post-delivery.ts'
import { postMove } from './post-move.ts'
import { postPassivation } from './post-passivation.ts'
import { postSale } from './post-sale.ts'
import { putLocation } from './put-location.ts'

export type StockRoutesOptions = Readonly<{
  clock: Wall
  locations: LocationDirectory
  /** With it locations can be created, moved and changed here. */
  registry?: LocationRegistry
  /** Whether the start is over; it is unless said otherwise. */
  isStarted?: () => boolean
}>

export function stockRoutes(stock: Stock, options: StockRoutesOptions): readonly Route[] {
  const { clock, locations, registry, isStarted = () => true } = options
  return [
    postDelivery(stock, clock),
    postSale(stock, clock),
    ...postMove(stock, clock),
    postCount(stock, clock),
    getLevel(stock, clock),
    getHistory(stock, clock),
    getExplanation(stock, clock),
    listProducts(stock, clock),
    listPlaces(stock, clock),
    getMove(stock, clock),
    listMoves(stock, clock),
    getRequest(stock, clock),
    getEvents(stock),
    listPots(stock),
    getPot(stock, clock),
    postPassivation(stock, clock),
    getLocation(locations, clock),
    listChildren(locations, clock),
    getPath(locations, clock),
    ...(registry === undefined ? [] : [putLocation(registry, clock)]),
    ...getHealth(stock, isStarted),
  ]
}
