/** One pot, for those who run the system; looking does not wake it. */
import { json, route, shape, type Route } from '../../http/index.ts'
import type { Stock } from '../stock.ts'
import type { Wall } from './answering.ts'
import { key, placesOfPot } from './input.ts'
import { pot } from './list-pots.ts'
import { READING, refusals, refuse, refused } from './refusing.ts'

export function getPot(stock: Stock, clock: Wall): Route {
  return route({
    method: 'GET',
    path: '/pots/{key}',
    summary: 'One pot',
    tag: 'operation',
    access: { permission: 'stock:pot:read', places: placesOfPot },
    params: shape({ key }),
    answers: {
      200: { description: 'the pot as it stands in memory', schema: pot },
      ...refusals(...READING, 'no-such-pot'),
    },
    refuse,
    async handle(call) {
      const found = await stock.pot(call.params.key)
      return found.ok ? json(200, found.pot) : refused(found, { url: call.url, now: clock.now() })
    },
  })
}
