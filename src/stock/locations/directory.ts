/**
 * Where things can be: places that form a tree, some of them tracked.
 *
 * Stock is kept at tracked places only. The tree may change at any time, and totals follow because they
 * are made over the tree when they are read. Whoever answers for the places may be in memory, which
 * then answers at once, or elsewhere, which then answers later or rejects with the accident
 * `upstream-unavailable`.
 */

/** The role that makes a place tracked. */
export const TRACKED_ROLE = 'TrackedInventoryLocation'

export type Location = Readonly<{
  id: string
  /** None for a root, and where the directory does not tell. */
  parent?: string
  roles: readonly string[]
  /** Ids of the places directly inside it. */
  children: readonly string[]
}>

export type LocationTree = Readonly<{
  id: string
  roles: readonly string[]
  children: readonly LocationTree[]
}>

export type Later<Value> = Value | Promise<Value>

export type FindOptions = Readonly<{
  /** The W3C `traceparent` that goes with a call to somebody else. */
  traceparent?: string
}>

export interface LocationDirectory {
  find(id: string, options?: FindOptions): Later<Location | undefined>
  /** From the root down to the place itself, which is the last. */
  path(id: string, options?: FindOptions): Later<readonly Location[] | undefined>
  /** The place with everything inside it, `depth` levels deep; all of them unless said otherwise. */
  children(id: string, depth?: number, options?: FindOptions): Later<LocationTree | undefined>
  /** Whether it could answer. */
  health(): Later<boolean>
}

/** What a call to somebody else on behalf of this trace is given along. */
export function tracing(traceparent: string | undefined): FindOptions | undefined {
  return traceparent === undefined ? undefined : { traceparent }
}

export function isTracked({ roles }: Readonly<{ roles: readonly string[] }>): boolean {
  return roles.includes(TRACKED_ROLE)
}
