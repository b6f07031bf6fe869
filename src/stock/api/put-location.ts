/**
 * A location as it is to be: created where there is none, else moved and given other roles as needed.
 *
 * What is asked for is the whole location, so repeating a request changes nothing. A location takes
 * everything inside it along, and totals follow without a word to any pot.
 */
import { json, listOf, optional, route, shape, text, type Route } from '../../http/index.ts'
import { traceparentOf, type Fault } from '../../std/index.ts'
import type {
  LocationRegistry,
  Registered,
  RegistryBy,
  RegistryRefusal,
} from '../locations/registry.ts'
import { LOCATION_ROLE_CHARS_MAX, LOCATION_ROLES_MAX } from '../locations/tree.ts'
import { consistency, READ_HEADERS, type Wall } from './answering.ts'
import { id, isInScope, outOfScope } from './input.ts'
import { location } from './location-answers.ts'
import { LOOKING, refusals, refuse, refused } from './refusing.ts'

const body = shape({
  parent: optional(id),
  roles: optional(
    listOf(text({ min: 1, max: LOCATION_ROLE_CHARS_MAX }), { max: LOCATION_ROLES_MAX }),
    [],
  ),
})

type Wanted = Readonly<{ id: string; parent?: string; roles: readonly string[] }>

type Put = Readonly<{ created: boolean; done: Registered | Fault<RegistryRefusal> }>

export function putLocation(registry: LocationRegistry, clock: Wall): Route {
  return route({
    method: 'PUT',
    path: '/locations/{locationId}',
    summary: 'Create, move or change a location',
    description:
      'The whole location: without `parent` it is a root, without `roles` it has none. Stock is kept at those with the role `TrackedInventoryLocation`.',
    tag: 'locations',
    access: { permission: 'stock:location:write', places: ({ locationId = '' }) => [locationId] },
    params: shape({ locationId: id }),
    body,
    answers: {
      200: { description: 'the location that was there', schema: location, headers: READ_HEADERS },
      201: {
        description: 'the location that was created',
        schema: location,
        headers: READ_HEADERS,
      },
      ...refusals(
        ...LOOKING,
        'bad-json',
        'location-cycle',
        'too-deep',
        'too-many-locations',
        'body-too-large',
        'unsupported-media-type',
        'overloaded',
        'shutting-down',
        'pot-unavailable',
      ),
    },
    refuse,
    async handle(call) {
      const about = { url: call.url, now: clock.now() }
      const { parent } = call.body
      if (parent !== undefined && !isInScope(call.principal, parent))
        return refused(outOfScope(parent), about)
      const by = { actor: call.principal.subject, trace: traceparentOf(call.trace) }
      const { created, done } = await put(
        registry,
        { id: call.params.locationId, ...call.body },
        by,
      )
      if (!done.ok) return refused(done, about)
      return json(created ? 201 : 200, done.location, consistency(done.position))
    },
  })
}

async function put(registry: LocationRegistry, wanted: Wanted, by: RegistryBy): Promise<Put> {
  const { id: name, parent, roles } = wanted
  if (registry.find(name) === undefined) {
    const done = await registry.create(wanted, by)
    // Somebody else may have created it in between; then it is there to be changed.
    if (done.ok || done.code !== 'location-exists') return { created: true, done }
  }
  const moved = await registry.move({ id: name, ...(parent !== undefined && { parent }) }, by)
  if (!moved.ok) return { created: false, done: moved }
  return { created: false, done: await registry.setRoles({ id: name, roles }, by) }
}
