/** What a durable workload is asked to do, and what it answers. */

export type Effort = Readonly<{ rounds: number; roundMs: number }>

/** One sample per round and key. */
export type Samples = Record<string, number[]>
