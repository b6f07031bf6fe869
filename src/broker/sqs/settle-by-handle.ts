/** What deletes and changes of visibility have in common: a handle that names one delivery. */
import type { QueueFault, Receipt } from '../broker.ts'
import { required, type SqsCall } from './action.ts'
import { invalid, SqsError, sqsErrorOf } from './errors.ts'
import { SQS_VISIBILITY_S_MAX } from './limits.ts'

const SHOWN_CHARS = 256

export function receiptOf({ handles }: SqsCall, handle: string | undefined): Receipt {
  const given = required(handle, 'ReceiptHandle')
  const receipt = handles.read(given)
  if (receipt === undefined) throw notAHandle(given)
  return receipt
}

export function visibilityOf(seconds: number | undefined): number {
  const given = required(seconds, 'VisibilityTimeout')
  if (given >= 0 && given <= SQS_VISIBILITY_S_MAX) return given * 1_000
  throw invalid(
    given,
    'VisibilityTimeout',
    `Must be between 0 and ${SQS_VISIBILITY_S_MAX}, if provided.`,
  )
}

/** Why a delivery could not be ended, or not be prolonged. */
export function settleError(
  refusal: QueueFault,
  handle: string | undefined,
  seconds?: number,
): SqsError {
  const shown = (handle ?? '').slice(0, SHOWN_CHARS)
  if (refusal.code === 'bad-receipt') return notAHandle(shown)
  if (refusal.code === 'bad-message' && seconds !== undefined)
    return invalid(
      seconds,
      'VisibilityTimeout',
      `Total VisibilityTimeout for the message is beyond the limit [${SQS_VISIBILITY_S_MAX} seconds].`,
    )
  if (refusal.code === 'stale-receipt')
    return invalid(shown, 'ReceiptHandle', 'The receipt handle has expired.')
  if (refusal.code === 'not-in-flight')
    return new SqsError(
      'MessageNotInflight',
      `Value ${shown} for parameter ReceiptHandle is invalid. Reason: Message does not exist or is not available for visibility timeout change.`,
    )
  return sqsErrorOf(refusal)
}

function notAHandle(handle: string): SqsError {
  return new SqsError(
    'ReceiptHandleIsInvalid',
    `The input receipt handle "${handle.slice(0, SHOWN_CHARS)}" is not a valid receipt handle.`,
  )
}
