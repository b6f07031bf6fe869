/**
 * The two protocols of SQS over the same actions: AWS JSON 1.0, where a header names the action and the body is its
 * input, and the query protocol, where everything is a field of a form and the answer is XML.
 *
 * In this order: which action, who asks, what is asked for, whether they may, and then the action. Everything it
 * throws is told in the words of the protocol; what is not a refusal is left to whoever called.
 */
import { parseBody, type RawHead, type RawReply, type RawRequest } from '../../http/index.ts'
import { freshId } from '../../std/index.ts'
import type { Broker } from '../broker.ts'
import type { Access } from './access.ts'
import type { Action, Output } from './action.ts'
import { sqsActions } from './actions.ts'
import { SqsError } from './errors.ts'
import { readJson, readQuery, type RawInput } from './input.ts'
import type { SqsLimits } from './limits.ts'
import { originOf } from './places.ts'
import { QueryFields } from './query-fields.ts'
import type { ReceiptHandles } from './receipt-handle.ts'
import type { Turns } from '../turns.ts'
import { XML_TYPE, xmlAnswer, xmlError } from './xml.ts'

/** What all requests of one wire share. */
export type SqsDesk = Readonly<{
  broker: Broker
  access: Access
  limits: SqsLimits
  handles: ReceiptHandles
  turns: Turns
  priorityAttribute: string
}>

export const JSON_TYPE = 'application/x-amz-json-1.0'
const TARGET = 'AmazonSQS.'
/** What is counted of requests that name no action. */
export const NO_ACTION = 'sqs none'

export function answerSqs(desk: SqsDesk, request: RawRequest): RawReply | Promise<RawReply> {
  const requestId = freshId()
  let action: Action | undefined
  try {
    const asked = isJson(request) ? jsonAction(request) : queryAction(request)
    action = asked.action
    const caller = desk.access.admit(request)
    const input = asked.read()
    const origin = originOf(request.headers)
    const output = action.run({ ...desk, caller, origin, request }, input)
    if (!(output instanceof Promise)) return replyOf(request, action, output, requestId)
    const { name } = action
    return output.then(
      (later) => replyOf(request, asked.action, later, requestId),
      (error: unknown) => errorReply(request, error, requestId, name),
    )
  } catch (error) {
    return errorReply(request, error, requestId, action?.name)
  }
}

/** Rethrows what is not a refusal. */
export function errorReply(
  request: RawHead,
  error: unknown,
  requestId: string,
  action?: string,
): RawReply {
  if (!(error instanceof SqsError)) throw error
  const { type, code, status } = error.row
  const label = action === undefined ? NO_ACTION : labelOf(action)
  if (!isJson(request))
    return { status, head: headOf(XML_TYPE, requestId), text: xmlError(error, requestId), label }
  const party = status < 500 ? 'Sender' : 'Receiver'
  return {
    status,
    head: [...headOf(JSON_TYPE, requestId), 'x-amzn-query-error', `${code};${party}`],
    text: JSON.stringify({ __type: type, message: error.textFor('json') }),
    label,
  }
}

export function labelOf(action: string): string {
  return `sqs ${action}`
}

function replyOf(
  request: RawRequest,
  { name }: Action,
  output: Output,
  requestId: string,
): RawReply {
  const label = labelOf(name)
  if (isJson(request))
    return {
      status: 200,
      head: headOf(JSON_TYPE, requestId),
      text: output === undefined ? '{}' : JSON.stringify(output),
      label,
    }
  const text = xmlAnswer(name, output, requestId)
  return { status: 200, head: headOf(XML_TYPE, requestId), text, label }
}

function headOf(contentType: string, requestId: string): string[] {
  return ['content-type', contentType, 'x-amzn-RequestId', requestId]
}

function isJson({ headers }: RawHead): boolean {
  return headers['x-amz-target'] !== undefined
}

/** What is asked for, and how to read the rest once it is known who asks. */
type Asked = Readonly<{ action: Action; read(): RawInput }>

function jsonAction({ headers, body }: RawRequest): Asked {
  const target = headers['x-amz-target'] ?? ''
  const action = target.startsWith(TARGET) ? sqsActions.get(target.slice(TARGET.length)) : undefined
  if (action === undefined) throw noSuchAction(target)
  return {
    action,
    read() {
      if (body.length === 0) return readJson(action.shape, {})
      const parsed = parseBody(body)
      if (!parsed.ok) throw new SqsError('MalformedInput', `${parsed.message}.`)
      return readJson(action.shape, parsed.value)
    },
  }
}

function queryAction({ method, url, body }: RawRequest): Asked {
  const fields = new QueryFields()
  const at = url.indexOf('?')
  if (at !== -1) fields.add(url.slice(at + 1))
  if (method !== 'GET') fields.add(body.toString('utf8'))
  const name = fields.get('Action')
  if (name === undefined || name === '') throw new SqsError('MissingAction')
  const action = sqsActions.get(name)
  if (action === undefined) throw noSuchAction(name)
  return { action, read: () => readQuery(action.shape, fields) }
}

function noSuchAction(name: string): SqsError {
  return new SqsError(
    'InvalidAction',
    `The action ${name.slice(0, 100)} is not valid for this endpoint.`,
  )
}
