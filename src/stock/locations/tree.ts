/**
 * Places in memory, as a tree: found at once, by whoever keeps them.
 *
 * Whoever fills it sees to it that a parent is there before its children and that nothing is inside
 * itself. What is given out is made once and kept until the place changes.
 */
import { assert } from '../../std/index.ts'
import type { Location, LocationDirectory, LocationTree } from './directory.ts'

/** Places of one directory. */
export const LOCATIONS_MAX = 10_000
/** Places from a root down to the deepest, both included. */
export const LOCATION_DEPTH_MAX = 64
/** Roles of one place, and characters of each. */
export const LOCATION_ROLES_MAX = 32
export const LOCATION_ROLE_CHARS_MAX = 64

export type Place = Readonly<{ id: string; parent: string | null; roles: readonly string[] }>

type Node = {
  place: Place
  readonly children: Set<string>
  told: Location | undefined
}

export class PlaceTree implements LocationDirectory {
  readonly #nodes = new Map<string, Node>()

  get size(): number {
    return this.#nodes.size
  }

  find(id: string): Location | undefined {
    const node = this.#nodes.get(id)
    return node === undefined ? undefined : (node.told ??= locationOf(node))
  }

  path(id: string): readonly Location[] | undefined {
    const path: Location[] = []
    for (let at = this.find(id); at !== undefined;) {
      path.push(at)
      at = at.parent === undefined ? undefined : this.find(at.parent)
    }
    return path.length === 0 ? undefined : path.toReversed()
  }

  children(id: string, depth: number = Infinity): LocationTree | undefined {
    const found = this.find(id)
    if (found === undefined) return undefined
    const inside = depth <= 0 ? [] : found.children
    return {
      id,
      roles: found.roles,
      children: inside.flatMap((child) => this.children(child, depth - 1) ?? []),
    }
  }

  health(): boolean {
    return true
  }

  /** A place that is there since, elsewhere since, or of other roles. */
  put(place: Place): void {
    const { id, parent } = place
    const before = this.#nodes.get(id)
    if (before !== undefined && before.place.parent !== parent)
      this.#inside(before.place.parent)?.delete(id)
    const node = before ?? { place, children: new Set<string>(), told: undefined }
    node.place = place
    node.told = undefined
    this.#nodes.set(id, node)
    this.#inside(parent)?.add(id)
  }

  clear(): void {
    this.#nodes.clear()
  }

  #inside(parent: string | null): Set<string> | undefined {
    if (parent === null) return undefined
    const node = this.#nodes.get(parent)
    assert(node !== undefined, 'a parent is there before its children')
    node.told = undefined
    return node.children
  }
}

function locationOf({ place: { id, parent, roles }, children }: Node): Location {
  return {
    id,
    ...(parent === null ? undefined : { parent }),
    roles,
    children: [...children].toSorted(),
  }
}
