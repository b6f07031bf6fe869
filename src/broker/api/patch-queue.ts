/** Tells a queue something else; what is not named stays as it was. */
import { json, route, shape, type Route } from '../../http/index.ts'
import { infoJson, infoSchema, type QueueDesk } from './answering.ts'
import { config } from './config-input.ts'
import { placeQuery, queueAt, queueParams } from './input.ts'
import { refusals, refused } from './refusing.ts'

export function patchQueue({ broker, home }: QueueDesk): Route {
  return route({
    method: 'PATCH',
    path: '/queues/{queue}',
    summary: 'Change a queue',
    description:
      'Settings that are not named stay as they are. Whether it is FIFO cannot be changed.',
    tag: 'queues',
    access: { permission: 'queue:admin' },
    params: queueParams,
    query: placeQuery,
    body: shape({ config }, { exact: true }),
    answers: {
      200: { description: 'the queue as it is from here on', schema: infoSchema },
      ...refusals('bad-queue-config', 'no-such-queue', 'store-read-only'),
    },
    async handle(call) {
      const name = queueAt(call, home)
      const { maxRetries, ...patch } = call.body.config
      const changed = await broker.update(
        name,
        maxRetries === undefined ? patch : { maxReceives: maxRetries, ...patch },
      )
      return 'ok' in changed ? refused(changed) : json(200, infoJson(changed))
    },
  })
}
