/** Ends deliveries: deleted, failed, given back, kept longer, or rejected. */
import { fields, json, list, route, type Route } from '../../http/index.ts'
import { fault } from '../../std/index.ts'
import type { QueueFault, Settled, Settlement } from '../broker.ts'
import type { QueueDesk } from './answering.ts'
import { placeQuery, queueAt, queueParams } from './input.ts'
import { settling } from './message-input.ts'
import { refusals, refused, refusedItem } from './refusing.ts'

export function postSettlements({ broker, receipts, home }: QueueDesk): Route {
  return route({
    method: 'POST',
    path: '/queues/{queue}/settlements',
    summary: 'End a delivery, or several',
    description:
      '`delete` when it is done; `nack` when it failed, which hands it out again after the back-off or ' +
      '`delayMs` until it has been received too often; `release` when it was not looked at; `extend` to keep it ' +
      'for `visibilityMs` more; `reject` to send it to the dead letters. One, or `settlements` with up to 1000.',
    tag: 'messages',
    access: { permission: 'queue:receive' },
    params: queueParams,
    query: placeQuery,
    body: settling,
    answers: {
      200: {
        description:
          'it is so, and on disk where it has to be; `effective` is false where nothing was left to do. Of ' +
          'several, what became of each',
        schema: {
          oneOf: [
            fields({ effective: { type: 'boolean' } }),
            fields({ settled: list({ type: 'object' }) }),
          ],
        },
      },
      ...refusals(
        'bad-message',
        'bad-receipt',
        'no-such-queue',
        'no-dead-letters',
        'stale-receipt',
        'not-in-flight',
        'queue-deleted',
        'unreadable',
        'store-read-only',
      ),
    },
    async handle(call) {
      const name = queueAt(call, home)
      const info = broker.describe(name)
      if ('ok' in info) return refused(info)
      const { isOne, items } = call.body
      const consumer = call.principal.subject
      const read = items.map(({ receipt: text, ...end }): Settlement | QueueFault => {
        const receipt = receipts.read(text)
        return receipt === undefined ? badReceipt() : { ...end, receipt, consumer }
      })
      const known = read.filter((one): one is Settlement => !('ok' in one))
      const settled = known.length === 0 ? [] : await broker.settle(name, known)
      const rest = settled.values()
      const answers = read.map((one): Settled | QueueFault =>
        'ok' in one ? one : rest.next().value!,
      )
      const [first] = answers
      if (!isOne)
        return json(200, { settled: answers.map((one) => (one.ok ? one : refusedItem(one))) })
      return first!.ok ? json(200, { effective: first!.effective }) : refused(first!)
    },
  })
}

function badReceipt(): QueueFault {
  return fault('bad-receipt', 'the receipt was not given out here', {
    remedy: 'send a receipt as it was received',
  })
}
