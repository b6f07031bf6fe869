/** SQS StartMessageMoveTask: dead letters go back to where they died, or to another queue. */
import { action, granted, isRefusal, type Action } from './action.ts'
import { invalid, SqsError } from './errors.ts'
import { integer, text } from './input.ts'
import { SQS_MOVES_PER_S_MAX } from './limits.ts'
import { queueOf, taskHandleOf } from './move-tasks.ts'

export const startMessageMoveTask: Action = action(
  'StartMessageMoveTask',
  { SourceArn: text, DestinationArn: text, MaxNumberOfMessagesPerSecond: integer },
  async (call, { SourceArn, DestinationArn, MaxNumberOfMessagesPerSecond: rate }) => {
    const { broker, caller } = call
    const source = queueOf(call, SourceArn, 'SourceArn')
    caller.check('StartMessageMoveTask', source)
    if (rate !== undefined && (rate < 1 || rate > SQS_MOVES_PER_S_MAX))
      throw invalid(
        rate,
        'MaxNumberOfMessagesPerSecond',
        `Must be between 1 and ${SQS_MOVES_PER_S_MAX}, if provided.`,
      )
    const to =
      DestinationArn === undefined ? undefined : queueOf(call, DestinationArn, 'DestinationArn')
    if (to !== undefined) caller.check('SendMessage', to)
    if (DestinationArn !== undefined && DestinationArn === SourceArn)
      throw new SqsError(
        'InvalidParameterValue',
        'Source queue arn and destination queue arn cannot be the same.',
      )
    if (broker.deadLetterSources(source).length === 0)
      throw new SqsError(
        'InvalidParameterValue',
        'Source queue must be configured as a Dead Letter Queue.',
      )
    const task = await broker.redrive(source, {
      ...(to !== undefined && { to }),
      ...(rate !== undefined && { ratePerSecond: rate }),
    })
    if (isRefusal(task) && task.code === 'task-running')
      throw new SqsError(
        'InvalidParameterValue',
        'There is already a task running. Only one active task is allowed for a source queue arn at a given time.',
      )
    return { TaskHandle: taskHandleOf(granted(task)) }
  },
)
