/** Entities: event-sourced actors that rest when idle and come back as they were. */
export {
  accept,
  answer,
  entity,
  leg,
  message,
  postpone,
  type Alarm,
  type AnyEntity,
  type Decision,
  type EntityDefinition,
  type EntityKey,
  type Leg,
  type Message,
  type SnapshotPolicy,
} from './entity.ts'
export {
  createEntities,
  type Answer,
  type Answered,
  type AskOptions,
  type Change,
  type DrainReport,
  type Entities,
  type EntitiesOptions,
  type EntityMetrics,
  type EntityPhase,
  type EntityReport,
  type Moment,
  type Reading,
} from './entities.ts'
export type { Projection, ReadOptions, Touch, View } from './projection.ts'
