/** The way from the root of the tree down to a location. */
import { json, list, route, shape, type Route } from '../../http/index.ts'
import { traceparentOf } from '../../std/index.ts'
import type { LocationDirectory } from '../locations/directory.ts'
import type { Wall } from './answering.ts'
import { id } from './input.ts'
import { known, location } from './location-answers.ts'
import { LOOKING, refusals, refuse, refused } from './refusing.ts'

export function getPath(locations: LocationDirectory, clock: Wall): Route {
  return route({
    method: 'GET',
    path: '/locations/{locationId}/path',
    summary: 'The way to a location',
    tag: 'locations',
    access: { permission: 'stock:level:read', places: ({ locationId = '' }) => [locationId] },
    params: shape({ locationId: id }),
    answers: {
      200: {
        description: 'locations from the root down; the last one is the location itself',
        schema: { ...list(location), examples: [location['examples']] },
      },
      ...refusals(...LOOKING),
    },
    refuse,
    async handle(call) {
      const { locationId } = call.params
      const traceparent = traceparentOf(call.trace)
      const found = await known(locationId, () => locations.path(locationId, { traceparent }))
      return found.ok ? json(200, found.value) : refused(found, { url: call.url, now: clock.now() })
    },
  })
}
