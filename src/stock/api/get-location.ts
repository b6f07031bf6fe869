/** A location: its roles, and what is directly inside it. */
import { json, route, shape, type Route } from '../../http/index.ts'
import { traceparentOf } from '../../std/index.ts'
import type { LocationDirectory } from '../locations/directory.ts'
import type { Wall } from './answering.ts'
import { id } from './input.ts'
import { known, location } from './location-answers.ts'
import { LOOKING, refusals, refuse, refused } from './refusing.ts'

export function getLocation(locations: LocationDirectory, clock: Wall): Route {
  return route({
    method: 'GET',
    path: '/locations/{locationId}',
    summary: 'One location',
    tag: 'locations',
    access: { permission: 'stock:level:read', places: ({ locationId = '' }) => [locationId] },
    params: shape({ locationId: id }),
    answers: {
      200: { description: 'the location', schema: location },
      ...refusals(...LOOKING),
    },
    refuse,
    async handle(call) {
      const { locationId } = call.params
      const traceparent = traceparentOf(call.trace)
      const found = await known(locationId, () => locations.find(locationId, { traceparent }))
      return found.ok ? json(200, found.value) : refused(found, { url: call.url, now: clock.now() })
    },
  })
}
