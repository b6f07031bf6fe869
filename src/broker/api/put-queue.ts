/** Makes a queue. Asked twice for the same, it is made once. */
import { json, optional, route, shape, type Route } from '../../http/index.ts'
import { createOwn } from '../own-queues.ts'
import { infoJson, infoSchema, type QueueDesk } from './answering.ts'
import { config } from './config-input.ts'
import { placeQuery, queueAt, queueParams, tags } from './input.ts'
import { refusals, refused } from './refusing.ts'

export function putQueue({ broker, home }: QueueDesk): Route {
  return route({
    method: 'PUT',
    path: '/queues/{queue}',
    summary: 'Create a queue',
    description:
      'A name that ends in `.fifo` is that of a FIFO queue. Without `deadLetterQueue` messages die into ' +
      '`{queue}_dlq`, which the first of them makes; `false` lets none die.',
    tag: 'queues',
    access: { permission: 'queue:admin' },
    params: queueParams,
    query: placeQuery,
    body: optional(shape({ config: optional(config), tags: optional(tags) }, { exact: true }), {}),
    answers: {
      200: { description: 'the queue, which was there with this config', schema: infoSchema },
      201: { description: 'the queue', schema: infoSchema },
      ...refusals(
        'bad-queue-name',
        'bad-queue-config',
        'queue-exists',
        'too-many-queues',
        'store-read-only',
      ),
    },
    async handle(call) {
      const name = queueAt(call, home)
      const isThere = !('ok' in broker.describe(name))
      const { config: given = {}, tags: marked = {} } = call.body
      const made = await createOwn(broker, name, given, { tags: marked })
      if ('ok' in made) return refused(made)
      return json(isThere ? 200 : 201, infoJson(made))
    },
  })
}
