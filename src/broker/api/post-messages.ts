/** Sends one message, or several. What is answered with an id is on disk. */
import { fields, json, list, route, type Route } from '../../http/index.ts'
import { traceparentOf } from '../../std/index.ts'
import { sentSchema, type QueueDesk } from './answering.ts'
import { placeQuery, queueAt, queueParams } from './input.ts'
import { sending } from './message-input.ts'
import { refusals, refused, refusedItem } from './refusing.ts'

/** A message of 1 MiB with every second character escaped, or as many small ones. */
export const SEND_REQUEST_BYTES_MAX = 4_194_304

export function postMessages({ broker, home }: QueueDesk): Route {
  return route({
    method: 'POST',
    path: '/queues/{queue}/messages',
    summary: 'Send a message, or several',
    description:
      'One message, or `messages` with up to 1000. A text is sent as `body`, any other value as `json`, ' +
      'which is written down as text. Several have an answer each, in their order, with `ok`.',
    tag: 'messages',
    access: { permission: 'queue:send' },
    params: queueParams,
    query: placeQuery,
    body: sending,
    bodyBytesMax: SEND_REQUEST_BYTES_MAX,
    answers: {
      200: {
        description: 'of several, what became of each',
        schema: fields({ sent: list({ type: 'object' }) }),
      },
      201: { description: 'the message is on disk', schema: sentSchema },
      ...refusals(
        'bad-message',
        'no-such-queue',
        'queue-paused',
        'queue-deleted',
        'message-too-large',
        'queue-full',
        'unreadable',
        'store-read-only',
      ),
    },
    async handle(call) {
      const name = queueAt(call, home)
      const info = broker.describe(name)
      if ('ok' in info) return refused(info)
      const { isOne, items } = call.body
      const by = { sender: call.principal.subject, trace: traceparentOf(call.trace) }
      const answers = await broker.send(
        name,
        items.map((item) => ({ ...item, ...by })),
      )
      const [first] = answers
      if (!isOne)
        return json(200, { sent: answers.map((one) => (one.ok ? one : refusedItem(one))) })
      if (!first!.ok) return refused(first!)
      const { messageId, seq, duplicate } = first!
      return json(201, { messageId, seq, duplicate })
    },
  })
}
