/** Marks a queue for people; the broker has no use for tags. */
import { json, optional, route, shape, type Route } from '../../http/index.ts'
import { infoJson, infoSchema, type QueueDesk } from './answering.ts'
import { placeQuery, queueAt, queueParams, tagNames, tags } from './input.ts'
import { refusals, refused } from './refusing.ts'

export function patchTags({ broker, home }: QueueDesk): Route {
  return route({
    method: 'PATCH',
    path: '/queues/{queue}/tags',
    summary: 'Set and unset tags',
    tag: 'queues',
    access: { permission: 'queue:admin' },
    params: queueParams,
    query: placeQuery,
    body: shape({ set: optional(tags), unset: optional(tagNames) }, { exact: true }),
    answers: {
      200: { description: 'the queue with its tags', schema: infoSchema },
      ...refusals('bad-queue-config', 'no-such-queue', 'store-read-only'),
    },
    async handle(call) {
      const info = await broker.tag(queueAt(call, home), call.body)
      return 'ok' in info ? refused(info) : json(200, infoJson(info))
    },
  })
}
