/** Receives messages, and waits for them if there are none. */
import { fields, json, list, optional, route, type Route } from '../../http/index.ts'
import { WAIT_MS_MAX } from '../limits.ts'
import { deliveryJson, deliverySchema, type QueueDesk } from './answering.ts'
import { placeQuery, queueAt, queueParams } from './input.ts'
import { receiving } from './message-input.ts'
import { refusals, refused } from './refusing.ts'

/** Beyond the longest wait. */
const ANSWER_MS = 10_000

export function postDeliveries({ broker, receipts, home }: QueueDesk): Route {
  return route({
    method: 'POST',
    path: '/queues/{queue}/deliveries',
    summary: 'Receive messages',
    description:
      'Up to `max`, which is 1 unless said otherwise; waits up to `waitMs` for the first. Each is hidden from ' +
      'others for `visibilityMs`, and its `receipt` ends the delivery. A caller that leaves gets none.',
    tag: 'messages',
    access: { permission: 'queue:receive' },
    requestMsMax: WAIT_MS_MAX + ANSWER_MS,
    waits: true,
    params: queueParams,
    query: placeQuery,
    body: optional(receiving, { max: 1 }),
    answers: {
      200: {
        description: 'the deliveries; none where nothing came in time',
        schema: fields({ deliveries: list(deliverySchema) }),
      },
      ...refusals(
        'no-such-queue',
        'queue-deleted',
        'too-many-in-flight',
        'too-many-parked',
        'unreadable',
      ),
    },
    async handle(call) {
      const { signal } = call
      try {
        const answer = await broker.receive(queueAt(call, home), { ...call.body, signal })
        if ('ok' in answer) return refused(answer)
        return json(200, { deliveries: answer.map((one) => deliveryJson(one, receipts)) })
      } catch (error) {
        // The caller has left, or the server ends: what was on its way has been given back.
        if (signal.aborted) return json(200, { deliveries: [] })
        throw error
      }
    },
  })
}
