/**
 * Refusals as SQS words them. Ours are faults with codes of ours; on the wire they have a type (AWS JSON), a code
 * (the query protocol, and a header of AWS JSON) and a status. The two meet here and nowhere else.
 *
 * Clients decide by type and code and show the text to people, some decide by the text: it is Amazon's.
 */
import type { QueueFault } from '../broker.ts'

const SQS = 'com.amazonaws.sqs#'
/** What is not of SQS alone. */
const GENERAL = 'com.amazon.coral.service#'
const CODE = 'AWS.SimpleQueueService.'

export type SqsErrorRow = Readonly<{
  type: string
  code: string
  status: number
  /** What is said where nothing more is known, and what the query protocol says in its place. */
  text: string
  queryText?: string
}>

export type SqsErrorName =
  | 'QueueDoesNotExist'
  | 'QueueNameExists'
  | 'PurgeQueueInProgress'
  | 'EmptyBatchRequest'
  | 'TooManyEntriesInBatchRequest'
  | 'BatchEntryIdsNotDistinct'
  | 'InvalidBatchEntryId'
  | 'BatchRequestTooLong'
  | 'MessageNotInflight'
  | 'ReceiptHandleIsInvalid'
  | 'InvalidMessageContents'
  | 'InvalidAttributeName'
  | 'InvalidAttributeValue'
  | 'UnsupportedOperation'
  | 'OverLimit'
  | 'InvalidAddress'
  | 'RequestThrottled'
  | 'ResourceNotFoundException'
  | 'InvalidParameterValue'
  | 'MissingParameter'
  | 'MalformedInput'
  | 'InvalidAction'
  | 'MissingAction'
  | 'MissingAuthenticationToken'
  | 'IncompleteSignature'
  | 'InvalidClientTokenId'
  | 'SignatureDoesNotMatch'
  | 'RequestExpired'
  | 'AccessDenied'
  | 'RequestEntityTooLarge'
  | 'InternalFailure'
  | 'ServiceUnavailable'

export const sqsErrors: Readonly<Record<SqsErrorName, SqsErrorRow>> = {
  QueueDoesNotExist: {
    type: `${SQS}QueueDoesNotExist`,
    code: `${CODE}NonExistentQueue`,
    status: 400,
    text: 'The specified queue does not exist.',
    queryText: 'The specified queue does not exist for this wsdl version.',
  },
  QueueNameExists: {
    type: `${SQS}QueueNameExists`,
    code: 'QueueAlreadyExists',
    status: 400,
    text: 'A queue already exists with the same name and a different value for an attribute',
  },
  PurgeQueueInProgress: {
    type: `${SQS}PurgeQueueInProgress`,
    code: `${CODE}PurgeQueueInProgress`,
    status: 403,
    text: 'Only one PurgeQueue operation on a queue is allowed every 60 seconds.',
  },
  EmptyBatchRequest: {
    type: `${SQS}EmptyBatchRequest`,
    code: `${CODE}EmptyBatchRequest`,
    status: 400,
    text: 'There should be at least one entry in the request.',
  },
  TooManyEntriesInBatchRequest: {
    type: `${SQS}TooManyEntriesInBatchRequest`,
    code: `${CODE}TooManyEntriesInBatchRequest`,
    status: 400,
    text: 'There are too many entries in the request.',
  },
  BatchEntryIdsNotDistinct: {
    type: `${SQS}BatchEntryIdsNotDistinct`,
    code: `${CODE}BatchEntryIdsNotDistinct`,
    status: 400,
    text: 'Two or more batch entries in the request have the same Id.',
  },
  InvalidBatchEntryId: {
    type: `${SQS}InvalidBatchEntryId`,
    code: `${CODE}InvalidBatchEntryId`,
    status: 400,
    text: 'A batch entry id can only contain alphanumeric characters, hyphens and underscores. It can be at most 80 letters long.',
  },
  BatchRequestTooLong: {
    type: `${SQS}BatchRequestTooLong`,
    code: `${CODE}BatchRequestTooLong`,
    status: 400,
    text: 'The length of all the messages put together is more than the limit.',
  },
  MessageNotInflight: {
    type: `${SQS}MessageNotInflight`,
    code: `${CODE}MessageNotInflight`,
    status: 400,
    text: 'The message referred to is not in flight.',
  },
  ReceiptHandleIsInvalid: {
    type: `${SQS}ReceiptHandleIsInvalid`,
    code: 'ReceiptHandleIsInvalid',
    status: 404,
    text: 'The input receipt handle is invalid.',
  },
  InvalidMessageContents: {
    type: `${SQS}InvalidMessageContents`,
    code: 'InvalidMessageContents',
    status: 400,
    text: 'Invalid characters found. Valid unicode characters are #x9 | #xA | #xD | #x20 to #xD7FF | #xE000 to #xFFFD | #x10000 to #x10FFFF.',
  },
  InvalidAttributeName: {
    type: `${SQS}InvalidAttributeName`,
    code: 'InvalidAttributeName',
    status: 400,
    text: 'Unknown Attribute.',
  },
  InvalidAttributeValue: {
    type: `${SQS}InvalidAttributeValue`,
    code: 'InvalidAttributeValue',
    status: 400,
    text: 'Invalid value for the parameter.',
  },
  UnsupportedOperation: {
    type: `${SQS}UnsupportedOperation`,
    code: `${CODE}UnsupportedOperation`,
    status: 400,
    text: 'The operation is not supported.',
  },
  OverLimit: {
    type: `${SQS}OverLimit`,
    code: 'OverLimit',
    status: 403,
    text: 'The specified action violates a limit.',
  },
  InvalidAddress: {
    type: `${SQS}InvalidAddress`,
    code: 'InvalidAddress',
    status: 404,
    text: 'The specified ID is invalid.',
  },
  RequestThrottled: {
    type: `${SQS}RequestThrottled`,
    code: 'RequestThrottled',
    status: 403,
    text: 'The request was denied due to request throttling.',
  },
  ResourceNotFoundException: {
    type: `${SQS}ResourceNotFoundException`,
    code: 'ResourceNotFoundException',
    status: 404,
    text: 'One or more specified resources do not exist.',
  },
  InvalidParameterValue: {
    type: `${GENERAL}InvalidParameterValueException`,
    code: 'InvalidParameterValue',
    status: 400,
    text: 'One or more parameters are invalid.',
  },
  MissingParameter: {
    type: `${GENERAL}MissingRequiredParameterException`,
    code: 'MissingParameter',
    status: 400,
    text: 'The request must contain a parameter that is missing.',
  },
  MalformedInput: {
    type: `${GENERAL}SerializationException`,
    code: 'MalformedInput',
    status: 400,
    text: 'The request cannot be read.',
  },
  InvalidAction: {
    type: `${GENERAL}UnknownOperationException`,
    code: 'InvalidAction',
    status: 400,
    text: 'The action is not valid for this endpoint.',
  },
  MissingAction: {
    type: `${GENERAL}UnknownOperationException`,
    code: 'MissingAction',
    status: 400,
    text: 'The request must contain the parameter Action.',
  },
  MissingAuthenticationToken: {
    type: `${GENERAL}MissingAuthenticationTokenException`,
    code: 'MissingAuthenticationToken',
    status: 403,
    text: 'Request is missing Authentication Token',
  },
  IncompleteSignature: {
    type: `${GENERAL}IncompleteSignatureException`,
    code: 'IncompleteSignature',
    status: 400,
    text: 'The signature of the request is incomplete.',
  },
  InvalidClientTokenId: {
    type: `${GENERAL}UnrecognizedClientException`,
    code: 'InvalidClientTokenId',
    status: 403,
    text: 'The security token included in the request is invalid.',
  },
  SignatureDoesNotMatch: {
    type: `${GENERAL}InvalidSignatureException`,
    code: 'SignatureDoesNotMatch',
    status: 403,
    text: 'The request signature we calculated does not match the signature you provided. Check your AWS Secret Access Key and signing method. Consult the service documentation for details.',
  },
  RequestExpired: {
    type: `${GENERAL}RequestExpiredException`,
    code: 'RequestExpired',
    status: 403,
    text: 'Request has expired.',
  },
  AccessDenied: {
    type: `${GENERAL}AccessDeniedException`,
    code: 'AccessDenied',
    status: 403,
    text: 'Access to the resource is denied.',
  },
  RequestEntityTooLarge: {
    type: `${GENERAL}RequestEntityTooLargeException`,
    code: 'RequestEntityTooLarge',
    status: 413,
    text: 'The request is larger than this endpoint takes.',
  },
  InternalFailure: {
    type: `${GENERAL}InternalFailure`,
    code: 'InternalFailure',
    status: 500,
    text: 'The request processing has failed because of an unknown error.',
  },
  ServiceUnavailable: {
    type: `${GENERAL}ServiceUnavailableException`,
    code: 'ServiceUnavailable',
    status: 503,
    text: 'The request has failed due to a temporary failure of the server.',
  },
}

/** Ends an action; nobody but the protocol catches it. */
export class SqsError extends Error {
  override readonly name: string = 'SqsError'
  readonly kind: SqsErrorName
  /** Without it, the text of the row. */
  readonly text: string | undefined

  constructor(kind: SqsErrorName, text?: string) {
    super(text ?? kind)
    this.kind = kind
    this.text = text
  }

  get row(): SqsErrorRow {
    return sqsErrors[this.kind]
  }

  textFor(protocol: 'json' | 'query'): string {
    const { text, queryText } = this.row
    return this.text ?? (protocol === 'query' ? (queryText ?? text) : text)
  }
}

/** What a fault of the broker is called. Those with a text of their own there keep it. */
const OF_BROKER: Readonly<
  Record<QueueFault['code'], readonly [name: SqsErrorName, says?: 'its-own']>
> = {
  'no-such-queue': ['QueueDoesNotExist'],
  'queue-deleted': ['QueueDoesNotExist'],
  'queue-exists': ['QueueNameExists', 'its-own'],
  'bad-queue-name': ['InvalidParameterValue', 'its-own'],
  'bad-queue-config': ['InvalidAttributeValue', 'its-own'],
  'bad-message': ['InvalidParameterValue', 'its-own'],
  'message-too-large': ['InvalidParameterValue', 'its-own'],
  'queue-full': ['OverLimit', 'its-own'],
  'queue-paused': ['RequestThrottled', 'its-own'],
  'bad-receipt': ['ReceiptHandleIsInvalid'],
  'stale-receipt': ['InvalidParameterValue', 'its-own'],
  'not-in-flight': ['MessageNotInflight'],
  'too-many-in-flight': ['OverLimit', 'its-own'],
  'too-many-parked': ['RequestThrottled', 'its-own'],
  'too-many-queues': ['OverLimit', 'its-own'],
  'store-read-only': ['ServiceUnavailable', 'its-own'],
  'unknown-outcome': ['ServiceUnavailable', 'its-own'],
  'broker-overloaded': ['ServiceUnavailable', 'its-own'],
  'broker-closed': ['ServiceUnavailable', 'its-own'],
  'purge-in-progress': ['PurgeQueueInProgress'],
  'no-such-task': ['ResourceNotFoundException'],
  'task-running': ['InvalidParameterValue', 'its-own'],
  'no-dead-letters': ['InvalidParameterValue', 'its-own'],
  unreadable: ['InternalFailure'],
}

export function sqsErrorOf(refusal: QueueFault): SqsError {
  const [name, says] = OF_BROKER[refusal.code]
  return new SqsError(name, says === undefined ? undefined : refusal.message)
}

/** What the http layer has refused before an action was asked. */
export function sqsErrorOfHttp(code: string, status: number): SqsError {
  if (code === 'body-too-large') return new SqsError('RequestEntityTooLarge')
  if (code === 'internal') return new SqsError('InternalFailure')
  return status < 500 ? new SqsError('MalformedInput') : new SqsError('ServiceUnavailable')
}

/** One item of a batch, as a batch tells of it. */
export function failedEntry(id: string, error: SqsError): Readonly<Record<string, unknown>> {
  return {
    Id: id,
    SenderFault: error.row.status < 500,
    Code: error.row.code,
    Message: error.textFor('json'),
  }
}

const SHOWN_CHARS = 256

/** The sentence that SQS has for most of what it does not like. */
export function invalid(value: unknown, parameter: string, reason?: string): SqsError {
  const shown = String(value).slice(0, SHOWN_CHARS)
  const why = reason === undefined ? '' : ` Reason: ${reason}`
  return new SqsError(
    'InvalidParameterValue',
    `Value ${shown} for parameter ${parameter} is invalid.${why}`,
  )
}

export function missing(parameter: string): SqsError {
  return new SqsError('MissingParameter', `The request must contain the parameter ${parameter}.`)
}
