/**
 * Places that somebody wrote down: a list of ids, each with its roles and the place it is in.
 *
 *   locations:
 *     - { id: DC01, roles: [TrackedInventoryLocation] }
 *     - { id: WH01, parent: DC01 }
 *
 * The order does not matter. A list that is wrong is refused as a whole, with everything that is wrong.
 */
import { custom, listOf, optional, readShape, shape, text } from '../../http/index.ts'
import { fault, type Fault } from '../../std/index.ts'
import { isId, ID_ENCODED_CHARS_MAX } from '../names.ts'
import type { LocationDirectory } from './directory.ts'
import {
  LOCATION_DEPTH_MAX,
  LOCATION_ROLE_CHARS_MAX,
  LOCATION_ROLES_MAX,
  LOCATIONS_MAX,
  PlaceTree,
  type Place,
} from './tree.ts'

const id = custom({
  schema: { type: 'string', minLength: 1 },
  expected: `an id: not blank, at most ${ID_ENCODED_CHARS_MAX} characters when percent-encoded`,
  read: (value) => (typeof value === 'string' && isId(value) ? value : undefined),
})

const file = shape({
  locations: listOf(
    shape({
      id,
      parent: optional(id),
      roles: optional(
        listOf(text({ min: 1, max: LOCATION_ROLE_CHARS_MAX }), { max: LOCATION_ROLES_MAX }),
        [],
      ),
    }),
    { max: LOCATIONS_MAX },
  ),
})

/** `content` is what the file says, as data. */
export function listedLocations(content: unknown): LocationDirectory | Fault<'bad-locations'> {
  const read = readShape(file, content)
  if (!read.ok) return bad('fields are missing or wrong', { ...read.detail })
  const places = new Map<string, Place>()
  const wrong: string[] = []
  for (const { id: name, parent, roles } of read.value.locations) {
    if (places.has(name)) wrong.push(`${name} is listed twice`)
    places.set(name, { id: name, parent: parent ?? null, roles })
  }
  const tree = new PlaceTree()
  for (const { id: name } of places.values()) {
    const line = lineOf(name, places)
    if (typeof line === 'string') wrong.push(line)
    else if (wrong.length === 0)
      for (const place of line) if (tree.find(place.id) === undefined) tree.put(place)
  }
  return wrong.length === 0 ? tree : bad(wrong[0]!, { wrong })
}

/** From the root down to the place, or why there is no such line. */
function lineOf(name: string, places: ReadonlyMap<string, Place>): readonly Place[] | string {
  const line: Place[] = []
  for (let at = places.get(name)!; ;) {
    line.push(at)
    if (line.length > LOCATION_DEPTH_MAX)
      return `${name} is inside itself, or nested more than ${LOCATION_DEPTH_MAX} deep`
    if (at.parent === null) return line.toReversed()
    const above = places.get(at.parent)
    if (above === undefined) return `${at.id} is in ${at.parent}, which is not listed`
    at = above
  }
}

function bad(what: string, detail: Readonly<Record<string, unknown>>): Fault<'bad-locations'> {
  return fault('bad-locations', `the list of locations cannot be used: ${what}`, {
    ...detail,
    remedy: 'correct the file that stock.locations names',
  })
}
