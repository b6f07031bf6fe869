/** What a durable workload is asked to do, and what it answers. */

export type Effort = Readonly<{
  rounds: number
  roundMs: number
  /** No round but the first is begun later than this after the start. */
  msMax?: number
}>

/** One sample per round and key. */
export type Samples = Record<string, number[]>
