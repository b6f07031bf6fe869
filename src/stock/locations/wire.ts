/**
 * What a location service answers: `{ id, roles, children }`, where children are places of the same form
 * or their ids, and may be missing. Other fields are nobody's business here.
 */
import { isId } from '../names.ts'
import type { Location, LocationTree } from './directory.ts'
import { LOCATION_DEPTH_MAX } from './tree.ts'

export function readLocation(body: unknown): Location | undefined {
  const tree = treeOf(body, LOCATION_DEPTH_MAX)
  if (tree === undefined) return undefined
  return { id: tree.id, roles: tree.roles, children: tree.children.map(({ id }) => id) }
}

export function readPath(body: unknown): readonly Location[] | undefined {
  return Array.isArray(body) ? allOf(body, readLocation) : undefined
}

export function readTree(body: unknown): LocationTree | undefined {
  return treeOf(body, LOCATION_DEPTH_MAX)
}

function treeOf(body: unknown, depth: number): LocationTree | undefined {
  if (typeof body === 'string')
    return isId(body) ? { id: body, roles: [], children: [] } : undefined
  if (typeof body !== 'object' || body === null || depth === 0) return undefined
  const { id, roles, children = [] }: { id?: unknown; roles?: unknown; children?: unknown } = body
  if (typeof id !== 'string' || !isId(id) || !Array.isArray(roles) || !Array.isArray(children))
    return undefined
  const inside = allOf(children, (child) => treeOf(child, depth - 1))
  if (inside === undefined || !roles.every((role) => typeof role === 'string')) return undefined
  return { id, roles, children: inside }
}

function allOf<Value>(
  values: readonly unknown[],
  read: (value: unknown) => Value | undefined,
): readonly Value[] | undefined {
  const all: Value[] = []
  for (const value of values) {
    const one = read(value)
    if (one === undefined) return undefined
    all.push(one)
  }
  return all
}
