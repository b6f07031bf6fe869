/** Queues by name, a page at a time. */
import { fields, json, list, route, type Route } from '../../http/index.ts'
import type { QueueInfo } from '../broker.ts'
import { infoJson, infoSchema, type QueueDesk } from './answering.ts'
import { listQuery, placeOf } from './input.ts'
import { refusals } from './refusing.ts'

export function listQueues({ broker, home }: QueueDesk): Route {
  return route({
    method: 'GET',
    path: '/queues',
    summary: 'Queues',
    description:
      'By name; `next` goes on with the page behind it. `stats=true` adds what is in each.',
    tag: 'queues',
    access: { permission: 'queue:read' },
    query: listQuery,
    answers: {
      200: {
        description: 'a page of queues; `next` is missing on the last',
        schema: fields({ queues: list(infoSchema), 'next?': { type: 'string' } }),
      },
      ...refusals(),
    },
    async handle({ query }) {
      const { prefix, after, limit, stats } = query
      const found = broker.list(placeOf(query, home), {
        limit: limit + 1,
        ...(prefix !== undefined && { prefix }),
        ...(after !== undefined && { after }),
      })
      const page = found.slice(0, limit)
      const queues = stats
        ? await Promise.all(page.map((info) => withStats(info)))
        : page.map((info) => infoJson(info))
      return json(200, { queues, ...(found.length > limit && { next: page.at(-1)?.name.name }) })
    },
  })

  /** One that is deleted meanwhile has none. */
  async function withStats(info: QueueInfo): Promise<object> {
    const stats = await broker.stats(info.name)
    return 'ok' in stats ? infoJson(info) : infoJson(info, stats)
  }
}
