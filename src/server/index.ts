/** The server as a value, for tests and for programs that bring their own process. */
export { compose, type Address, type ComposeOptions, type Server, type Stopped } from './compose.ts'
export { KEY_NAMES, variableOf, type Config, type KeyName } from './config-keys.ts'
export { loadConfig, writtenConfig, type ConfigSources, type Loaded } from './config.ts'
export type { Feature } from './feature.ts'
export { EXIT } from './io.ts'
export { metricName } from './metrics.ts'
export { serverLog, type LogOptions } from './log.ts'
