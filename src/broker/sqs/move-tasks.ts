/** What the three actions of move tasks share: their handles, and the queues they name by ARN. */
import type { MoveTask, QueueName } from '../broker.ts'
import { isRefusal, required, type SqsCall } from './action.ts'
import { SqsError } from './errors.ts'
import { arnOf, queueOfArn } from './places.ts'

/** The queue of an ARN, which is there. */
export function queueOf(
  { broker }: SqsCall,
  arn: string | undefined,
  parameter: 'SourceArn' | 'DestinationArn',
): QueueName {
  const queue = queueOfArn(required(arn, parameter))
  if (queue === undefined)
    throw new SqsError(
      'InvalidParameterValue',
      `You must use this format to specify the ${parameter}: arn:<partition>:<service>:<region>:<account-id>:<resource-id>`,
    )
  if (isRefusal(broker.describe(queue))) throw noSuchResource(parameter)
  return queue
}

export function noSuchResource(parameter: string): SqsError {
  return new SqsError(
    'ResourceNotFoundException',
    `The resource that you specified for the ${parameter} parameter doesn't exist.`,
  )
}

/** As Amazon's is: what is named and where it is. */
export function taskHandleOf({ handle, source }: MoveTask): string {
  const { taskId } = partsOf(handle)
  return Buffer.from(JSON.stringify({ taskId, sourceArn: arnOf(source) })).toString('base64')
}

export function taskOf(
  handle: string | undefined,
): Readonly<{ taskId: string; sourceArn: string }> {
  const { taskId, sourceArn } = partsOf(required(handle, 'TaskHandle'))
  if (typeof taskId === 'string' && typeof sourceArn === 'string') return { taskId, sourceArn }
  throw new SqsError('InvalidParameterValue', 'Value for parameter TaskHandle is invalid.')
}

export function isTask({ handle }: MoveTask, taskId: string): boolean {
  return partsOf(handle).taskId === taskId
}

function partsOf(handle: string): Readonly<{ taskId?: unknown; sourceArn?: unknown }> {
  try {
    const parsed: unknown = JSON.parse(Buffer.from(handle, 'base64').toString())
    return typeof parsed === 'object' && parsed !== null ? parsed : {}
  } catch {
    return {} // whatever it is, it is no handle
  }
}
