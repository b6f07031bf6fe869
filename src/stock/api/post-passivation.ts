/** Puts a pot away. Nobody who uses it notices: the next request brings it back. */
import { route, shape, type Route } from '../../http/index.ts'
import type { Stock } from '../stock.ts'
import type { Wall } from './answering.ts'
import { key, placesOfPot } from './input.ts'
import { READING, refusals, refuse, refused } from './refusing.ts'

export function postPassivation(stock: Stock, clock: Wall): Route {
  return route({
    method: 'POST',
    path: '/pots/{key}:passivate',
    summary: 'Put a pot away',
    tag: 'operation',
    access: { permission: 'stock:pot:write', places: placesOfPot },
    params: shape({ key }),
    answers: {
      204: { description: 'the pot rests' },
      ...refusals(...READING, 'no-such-pot'),
    },
    refuse,
    async handle(call) {
      const done = await stock.passivate(call.params.key)
      return done.ok ? { status: 204 } : refused(done, { url: call.url, now: clock.now() })
    },
  })
}
