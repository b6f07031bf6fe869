/** SQS CancelMessageMoveTask. What was moved stays where it is. */
import { action, granted, isRefusal, type Action } from './action.ts'
import { SqsError } from './errors.ts'
import { text } from './input.ts'
import { isTask, noSuchResource, taskOf } from './move-tasks.ts'
import { queueOfArn } from './places.ts'

export const cancelMessageMoveTask: Action = action(
  'CancelMessageMoveTask',
  { TaskHandle: text },
  async ({ broker, caller }, { TaskHandle }) => {
    const { taskId, sourceArn } = taskOf(TaskHandle)
    const source = queueOfArn(sourceArn)
    if (source === undefined || isRefusal(broker.describe(source)))
      throw noSuchResource('SourceArn')
    caller.check('CancelMessageMoveTask', source)
    const task = granted(await broker.moveTasks(source)).find((one) => isTask(one, taskId))
    if (task === undefined) throw new SqsError('ResourceNotFoundException', 'Task does not exist.')
    const cancelled = await broker.cancelMoveTask(task.handle)
    if (isRefusal(cancelled) && cancelled.code === 'no-such-task')
      throw new SqsError('UnsupportedOperation', 'Only active tasks can be cancelled.')
    return { ApproximateNumberOfMessagesMoved: granted(cancelled).moved }
  },
)
