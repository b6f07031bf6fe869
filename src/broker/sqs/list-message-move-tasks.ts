/** SQS ListMessageMoveTasks: the latest first; one that has ended cannot be named any more. */
import type { MoveTask } from '../broker.ts'
import { action, granted, type Action, type Output } from './action.ts'
import { invalid } from './errors.ts'
import { integer, text } from './input.ts'
import { SQS_TASKS_LISTED_MAX } from './limits.ts'
import { queueOf, taskHandleOf } from './move-tasks.ts'
import { arnOf } from './places.ts'

export const listMessageMoveTasks: Action = action(
  'ListMessageMoveTasks',
  { SourceArn: text, MaxResults: integer },
  async (call, { SourceArn, MaxResults: max = 1 }) => {
    const source = queueOf(call, SourceArn, 'SourceArn')
    call.caller.check('ListMessageMoveTasks', source)
    if (max < 1 || max > SQS_TASKS_LISTED_MAX)
      throw invalid(
        max,
        'MaxResults',
        `Must be between 1 and ${SQS_TASKS_LISTED_MAX}, if provided.`,
      )
    const tasks = granted(await call.broker.moveTasks(source)).slice(0, max)
    return tasks.length === 0 ? {} : { Results: tasks.map(taskOutput) }
  },
)

function taskOutput(task: MoveTask): Output {
  const { state, source, target, ratePerSecond, moved, toMove, reason, startedAt } = task
  return {
    ...(state === 'running' && { TaskHandle: taskHandleOf(task) }),
    Status: state.toUpperCase(),
    SourceArn: arnOf(source),
    ...(target !== undefined && { DestinationArn: arnOf(target) }),
    ...(ratePerSecond !== undefined && { MaxNumberOfMessagesPerSecond: ratePerSecond }),
    ApproximateNumberOfMessagesMoved: moved,
    ApproximateNumberOfMessagesToMove: toMove,
    ...(reason !== undefined && { FailureReason: reason }),
    StartedTimestamp: startedAt,
  }
}
