/** Pauses a queue, or lets it go on. What is being worked on can always be ended. */
import { flag, json, optional, route, shape, type Route } from '../../http/index.ts'
import { infoJson, infoSchema, type QueueDesk } from './answering.ts'
import { placeQuery, queueAt, queueParams } from './input.ts'
import { refusals, refused } from './refusing.ts'

export function putPaused({ broker, home }: QueueDesk): Route {
  return route({
    method: 'PUT',
    path: '/queues/{queue}/paused',
    summary: 'Pause a queue, or resume it',
    description:
      'While `receive` is paused nothing is handed out, and who waits goes on waiting; while `send` is, ' +
      'nothing is taken. Both survive a restart. What is not named is resumed.',
    tag: 'queues',
    access: { permission: 'queue:admin' },
    params: queueParams,
    query: placeQuery,
    body: shape(
      { receive: optional(flag(), false), send: optional(flag(), false) },
      { exact: true },
    ),
    answers: {
      200: { description: 'the queue as it is from here on', schema: infoSchema },
      ...refusals('no-such-queue', 'store-read-only'),
    },
    async handle(call) {
      const info = await broker.pause(queueAt(call, home), call.body)
      return 'ok' in info ? refused(info) : json(200, infoJson(info))
    },
  })
}
