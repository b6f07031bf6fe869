/**
 * What step definitions of a bundle may import: Cucumber's own words, and a way to ask for events,
 * secrets and answers, since nothing else can be reached from where steps run.
 */
export {
  After,
  AfterAll,
  Before,
  BeforeAll,
  DataTable,
  defineParameterType,
  Given,
  setDefaultTimeout,
  Then,
  When,
  World,
} from '@cucumber/cucumber'
export { ask, Refused } from '../probe/steps/asking.ts'
export { eventsOf } from '../probe/steps/state.ts'
export type {
  AwaitInput,
  Awaited,
  EventCondition,
  EventQuery,
  EventView,
  HttpAnswer,
  HttpInput,
  HttpMethod,
  ProduceInput,
  SchemaInput,
  SecretInput,
  ServiceCalls,
  ServiceInput,
  ServiceName,
  ServiceOutput,
  TopicInput,
} from '../probe/steps/services.ts'
