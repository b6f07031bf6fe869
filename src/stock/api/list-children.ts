/** What is inside a location, as a tree. */
import { json, optional, route, shape, whole, type Route } from '../../http/index.ts'
import { traceparentOf } from '../../std/index.ts'
import type { LocationDirectory } from '../locations/directory.ts'
import type { Wall } from './answering.ts'
import { id } from './input.ts'
import { known, tree } from './location-answers.ts'
import { LOOKING, refusals, refuse, refused } from './refusing.ts'

const LEVELS_MAX = 1_000

export function listChildren(locations: LocationDirectory, clock: Wall): Route {
  return route({
    method: 'GET',
    path: '/locations/{locationId}/children',
    summary: 'What is inside a location',
    tag: 'locations',
    access: { permission: 'stock:level:read', places: ({ locationId = '' }) => [locationId] },
    params: shape({ locationId: id }),
    query: shape({ depth: optional(whole(0, LEVELS_MAX)) }),
    answers: {
      200: { description: 'the location with everything inside it, `depth` deep', schema: tree },
      ...refusals(...LOOKING),
    },
    refuse,
    async handle(call) {
      const { locationId } = call.params
      const traceparent = traceparentOf(call.trace)
      const found = await known(locationId, () =>
        locations.children(locationId, call.query.depth, { traceparent }),
      )
      return found.ok ? json(200, found.value) : refused(found, { url: call.url, now: clock.now() })
    },
  })
}
