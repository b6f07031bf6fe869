/** The SQS wire: what clients of Amazon SQS ask a broker, on the port of the server. */
import type { RawHead, RawService } from '../../http/index.ts'
import { freshId, type Clock } from '../../std/index.ts'
import type { Broker } from '../broker.ts'
import { QUEUE_ANSWER_MS } from '../queues.ts'
import { WAIT_MS_MAX } from '../limits.ts'
import { keyAccess, openAccess, type SqsKey } from './access.ts'
import { sqsActions } from './actions.ts'
import { sqsErrorOfHttp } from './errors.ts'
import { relaxedSqs, SQS_BODY_BYTES_MAX, strictSqs } from './limits.ts'
import { isSqsPath } from './places.ts'
import { answerSqs, errorReply, labelOf, NO_ACTION, type SqsDesk } from './protocol.ts'
import { ReceiptHandles } from './receipt-handle.ts'
import { Turns } from '../turns.ts'

export type SqsOptions = Readonly<{
  /** Those who may ask; `off` lets in everybody on this machine, and is for a server that listens there only. */
  keys: readonly SqsKey[] | 'off'
  /** Whose queues are made, unless a key says so; the queues of others are found by their URLs. */
  account?: string
  /** Where somebody is who does not say so by a signature. */
  region?: string
  /** `relaxed` allows what the broker can do, beyond what Amazon allows. */
  limits?: 'strict' | 'relaxed'
  /** Which attribute is a message's priority, where its queue has no tag that says so. */
  priorityAttribute?: string
}>

const ACCOUNT_DEFAULT = '000000000000'
const REGION_DEFAULT = 'local'
const PRIORITY_DEFAULT = 'Priority'

export function sqsWire({
  broker,
  clock,
  options,
}: Readonly<{ broker: Broker; clock: Clock; options: SqsOptions }>): RawService {
  const { keys, account = ACCOUNT_DEFAULT, region = REGION_DEFAULT, limits } = options
  const home = { account, region }
  const desk: SqsDesk = {
    broker,
    access: keys === 'off' ? openAccess(home) : keyAccess(keys, home, clock),
    limits: limits === 'relaxed' ? relaxedSqs : strictSqs,
    handles: new ReceiptHandles(broker.secret),
    turns: new Turns(),
    priorityAttribute: options.priorityAttribute ?? PRIORITY_DEFAULT,
  }
  return {
    labels: [...[...sqsActions.keys()].map(labelOf), NO_ACTION],
    bodyBytesMax: SQS_BODY_BYTES_MAX,
    answerMsMax: WAIT_MS_MAX + QUEUE_ANSWER_MS,
    accepts,
    answer: (request) => answerSqs(desk, request),
    refuse: (head, { code }, status) =>
      errorReply(head, sqsErrorOfHttp(code, status), freshId(), undefined),
  }
}

/** Its own header, or a form, or an action in the query; and where SQS is asked. */
function accepts({ method, url, headers }: RawHead): boolean {
  if (headers['x-amz-target']?.startsWith('AmazonSQS') === true) return method === 'POST'
  if (method !== 'POST' && method !== 'GET') return false
  const at = url.indexOf('?')
  const isForm =
    method === 'POST' &&
    headers['content-type']?.startsWith('application/x-www-form-urlencoded') === true
  if (!isForm && (at === -1 || !/[?&]Action=/.test(url))) return false
  return isSqsPath(at === -1 ? url : url.slice(0, at))
}
