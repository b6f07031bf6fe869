/** A part of the product that is served; features know nothing of each other. */
import type { Metric, RawService, Route } from '../http/index.ts'
import type { HealthCheck } from './health.ts'

export interface Feature {
  readonly routes: readonly Route[]
  /** A protocol of its own beside the routes; at most one feature has one. */
  readonly wire?: RawService
  health(): Promise<readonly HealthCheck[]>
  metrics(): readonly Metric[]
  /** What it has started ends; the entities and the journal are not its own. */
  close(): Promise<void>
}
