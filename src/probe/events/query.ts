/**
 * What may be asked of the events of a test: which ones, and how many of them in what order.
 *
 * A query is compiled once and judges one event at a time. Comparison is exact and case-sensitive.
 */

export type Comparison =
  | 'equal'
  | 'matches'
  | 'contains'
  | 'greater'
  | 'less'
  | 'present'
  | 'absent'

/** True when any value at the path compares so; `absent` when there is none. */
export type Condition = Readonly<{
  in: 'value' | 'key' | 'headers'
  path: string
  is: Comparison
  than?: unknown
}>

export type EventQuery = Readonly<{
  topic?: string
  cluster?: string
  /** `consumed` by default. */
  direction?: 'produced' | 'consumed'
  correlation?: string
  type?: string
  where?: readonly Condition[]
  /** Only events of a later sequence. */
  after?: number
}>

/**
 * `atLeast` is met as soon as it is; `exactly` and `atMost` only when time is up, because one more may
 * come until then. `exactly: 0` is absence.
 */
export type Expectation = Readonly<{
  count:
    | Readonly<{ atLeast: number }>
    | Readonly<{ exactly: number }>
    | Readonly<{ atMost: number }>
  /** Values at this path of the event never go down (or up), in the order the events came. */
  orderedBy?: Readonly<{ path: string; descending?: boolean }>
  withinMs: number
}>
