/** What the directive file of a bundle says, read and checked. */

export type TopicRole = 'producer' | 'consumer'
export type KeyFormat = 'cloudevent' | 'string' | 'json' | 'none'
export type ValueFormat = 'json' | 'avro' | 'protobuf' | 'string' | 'bytes'

/** Unique by topic and role. */
export type TopicDirective = Readonly<{
  topic: string
  role: TopicRole
  /** Whose credential it is used with; none where the cluster asks for none. */
  clientPrincipal: string | undefined
  /** Type and payload version of a CloudEvent key; none means every event. */
  eventFilters: readonly Readonly<{ key: string; value: string }>[]
  metadata: Readonly<Record<string, string>>
  bootstrapServers: string | undefined
  keyFormat: KeyFormat
  valueFormat: ValueFormat
  /** A file of the bundle that has the schema of its values. */
  schema: string | undefined
  from: 'latest' | 'earliest'
  /** Partitions to create it with; it is deleted after the test. Undefined: it is there already. */
  create: number | undefined
  /** Where this line stands, for messages. */
  line: number
}>

export type Directive = Readonly<{
  topics: readonly TopicDirective[]
  /** A tag expression; undefined runs everything that is not `@ignore`. */
  tags: string | undefined
  /** Globs of step definitions below the bundle. */
  steps: readonly string[]
  /** Secrets that steps may ask for by name. */
  secrets: readonly string[]
  /** Names of which at most one test at a time may hold each. */
  exclusive: readonly string[]
  /** Scenarios at a time, 1 by default. */
  parallel: number
  retries: number
  testingMs: number | undefined
  /** Whether steps may open connections of their own. */
  network: boolean
}>

/** A bundle that was fetched and checked. */
export type Bundle = Readonly<{
  /** The directory on this machine. */
  directory: string
  directive: Directive
  /** Relative paths of its feature files. */
  features: readonly string[]
}>
