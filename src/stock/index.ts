/** Stock: how much of each product is where, and how that came about. */
export { stockRoutes, type StockRoutesOptions } from './api/routes.ts'
export type { CountBody, DeliveryBody, MoveBody, Operation, SaleBody } from './bodies.ts'
export { isoOf, timeOf } from './time.ts'
export {
  isTracked,
  TRACKED_ROLE,
  type FindOptions,
  type Later,
  type Location,
  type LocationDirectory,
  type LocationTree,
} from './locations/directory.ts'
export { listedLocations } from './locations/file.ts'
export {
  openRegistry,
  type LocationRegistry,
  type Registered,
  type RegistryBy,
  type RegistryRefusal,
} from './locations/registry.ts'
export {
  remoteLocations,
  type RemoteCounts,
  type RemoteLocations,
  type RemoteOptions,
  type Transport,
  type TransportRequest,
  type TransportResponse,
} from './locations/remote.ts'
export { httpTransport, type HttpTransport } from './locations/transport.ts'
export {
  ID_ENCODED_CHARS_MAX,
  isId,
  isRequestId,
  potKey,
  potPlace,
  REQUEST_ID_CHARS_MAX,
  type PotPlace,
} from './names.ts'
export {
  COUNT_REASONS,
  DELIVERY_PRODUCTS_MAX,
  FUTURE_SKEW_MS_DEFAULT,
  MOVE_REASONS,
  stockPot,
  stockPotWith,
  type CountReason,
  type DeliveryLine,
  type MoveReason,
  type Pot,
  type PotCommand,
  type PotDefinition,
  type PotEvent,
  type PotRefusal,
  type PotReply,
  type PotRules,
} from './pot.ts'
export {
  numberOf,
  QUANTITY_DECIMALS_MAX,
  QUANTITY_MAX,
  quantityOf,
  type Quantity,
} from './quantity.ts'
export {
  createStock,
  type By,
  type Count,
  type Delivery,
  type ExplainQuestion,
  type Explanation,
  type HistoryEntry,
  type HistoryQuestion,
  type Level,
  type LevelBody,
  type LevelNode,
  type LevelQuestion,
  type Listed,
  type Move,
  type MoveReport,
  type PotLevel,
  type PotReport,
  type Recorded,
  type RequestReport,
  type Sale,
  type Standing,
  type Stock,
  type StockChange,
  type StockHealth,
  type StockMetric,
  type StockOptions,
  type StockPage,
  type StockReadRefusal,
  type StockRefusal,
} from './stock.ts'
