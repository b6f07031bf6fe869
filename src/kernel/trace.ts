/**
 * What happened in a system, one entry a happening, for the console and for tests.
 *
 * Nothing is kept and nothing is made unless somebody listens.
 */
export type TraceType =
  | 'spawned'
  | 'received'
  | 'transition'
  | 'entered'
  | 'suspended'
  | 'resumed'
  | 'failed'
  | 'retried'
  | 'restarted'
  | 'stopped'
  | 'dead-letter'
  | 'slow-turn'

export type TraceEntry = Readonly<{
  /** Counts the entries of one system. */
  seq: number
  /** Monotonic milliseconds of the system's clock. */
  at: number
  actor: string
  type: TraceType
  facts: Readonly<Record<string, unknown>>
}>

export type TraceListener = (entry: TraceEntry) => void
