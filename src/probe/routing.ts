/** What the queue does for clients: it finds out who can answer, and hands the request on. */
import { fault, isFault, unreachable } from '../std/index.ts'
import { faultOf } from './children/child.ts'
import { notAccepted } from './execution/answering.ts'
import { LIVE_TESTS_MAX } from './limits.ts'
import type { ProbeFault, QueueRequest, QueueStatus, Started } from './protocol.ts'
import { handOver, type Entry, type Of, type QueueCore } from './queue-core.ts'
import { Request } from './requests.ts'
import type { Schedule } from './schedule.ts'

export function route(core: QueueCore, request: QueueRequest): undefined | Promise<undefined> {
  switch (request.type) {
    case 'initialize-test':
      return initialize(core, request)
    case 'start-test':
      return start(core, request)
    case 'test-status':
    case 'cancel-test':
    case 'extend-test':
      return forward(core, request)
    case 'retry-test':
      return retry(core, request)
    case 'queue-status':
      return queueStatus(core, request)
    case 'set-mode':
      return setMode(core, request)
    default:
      return unreachable(request)
  }
}

function initialize(
  core: QueueCore,
  { priority, by, requestId, replyTo }: Of<'initialize-test'>,
): undefined {
  const refusal = notAdmitted(core)
  if (refusal !== undefined) return void replyTo.tell(refusal)
  const testId = core.house.newId()
  core.schedule.add(testId, priority)
  const entry = core.spawn(testId, {
    type: 'fresh',
    priority,
    ...(by !== undefined && { by }),
    ...(requestId !== undefined && { requestId }),
    replyTo,
  })
  handOver(replyTo, entry)
  return undefined
}

function notAdmitted({ schedule, tests, house }: QueueCore): ProbeFault | undefined {
  const isDraining = schedule.mode === 'draining'
  if (!isDraining && tests.size < LIVE_TESTS_MAX) return undefined
  house.tally.refused++
  if (isDraining)
    return fault('probe-draining', 'the server is about to stop and takes no tests', {
      remedy: 'try again when it has started again',
    })
  return fault('probe-overloaded', `there are ${LIVE_TESTS_MAX} tests that have not ended`, {
    remedy: 'try again later, or cancel some',
  })
}

function start(core: QueueCore, message: Of<'start-test'>): undefined {
  const { testId, replyTo } = message
  const entry = core.live(testId)
  if (entry === undefined) return core.read(message)
  const { priority = core.schedule.priorityOf(testId), ...rest } = message.options
  const isFirst = core.schedule.stateOf(testId) === 'Setup' && !core.schedule.isPending(testId)
  let place = 0
  if (isFirst) {
    const refusal = lineRefusal(core, testId)
    if (refusal !== undefined) return void replyTo.tell(refusal)
    place = core.nextPlace++
    core.schedule.enqueue(testId, priority)
    core.house.tally.started++
  }
  const standing = core.standing(testId)
  const options = { ...rest, priority }
  handOver(replyTo, entry)
  entry.actor.tell({ type: 'start', options, place, standing, replyTo })
  return undefined
}

function retry(core: QueueCore, message: Of<'retry-test'>): undefined {
  const { testId, replyTo } = message
  const entry = core.tests.get(testId)
  if (entry === undefined) return core.read(message)
  handOver(replyTo, entry)
  if (entry.isLeaving) return undefined // taken up again when its actor has ended
  return retryAt(core, entry, replyTo)
}

/** Whether a test can be retried is known to its actor; until it has said so a place in line is kept. */
function retryAt(core: QueueCore, entry: Entry, replyTo: Of<'retry-test'>['replyTo']): undefined {
  const { testId } = entry
  const { schedule } = core
  const refusal = schedule.isExpected(testId)
    ? notAccepted(testId, 'not-finished')
    : lineRefusal(core, testId)
  if (refusal !== undefined) return void replyTo.tell(refusal)
  schedule.expect(testId)
  const standing = core.standingAt(schedule.lastPosition(schedule.priorityOf(testId)))
  entry.actor.tell({
    type: 'retry',
    place: core.nextPlace++,
    standing,
    replyTo: {
      path: replyTo.path,
      tell(answer) {
        if (isFault(answer) || !answer.accepted) schedule.forgo(testId)
        return replyTo.tell(answer)
      },
    },
  })
  return undefined
}

function lineRefusal(core: QueueCore, testId: string): Started | undefined {
  const isDraining = core.schedule.mode === 'draining'
  if (!isDraining && !core.schedule.isFull) return undefined
  core.house.tally.refused++
  return notAccepted(testId, isDraining ? 'draining' : 'queue-full')
}

/** A test that had ended has an actor again, so that it can be queued again. */
export function revive(core: QueueCore, { record, replyTo }: Of<'revive-test'>): undefined {
  const { testId, priority, state } = record
  let entry = core.tests.get(testId)
  if (entry === undefined) {
    const refusal = notAdmitted(core)
    if (refusal !== undefined) return void replyTo.tell(refusal)
    core.schedule.add(testId, priority, state)
    entry = core.spawn(testId, { type: 'revived', record })
  }
  handOver(replyTo, entry)
  return entry.isLeaving ? undefined : retryAt(core, entry, replyTo)
}

function forward(
  core: QueueCore,
  message: Of<'test-status' | 'cancel-test' | 'extend-test'>,
): undefined {
  const entry = core.live(message.testId)
  if (entry === undefined) return core.read(message)
  const { actor } = entry
  handOver(message.replyTo, entry)
  switch (message.type) {
    case 'test-status': {
      const { testId, replyTo } = message
      actor.tell({ type: 'get-status', standing: core.standing(testId), replyTo })
      return undefined
    }
    case 'cancel-test': {
      const { by, replyTo } = message
      actor.tell({ type: 'cancel', ...(by !== undefined && { by }), replyTo })
      return undefined
    }
    case 'extend-test': {
      const { ms, replyTo } = message
      actor.tell({ type: 'extend', ms, replyTo })
      return undefined
    }
    default:
      return unreachable(message)
  }
}

function queueStatus(core: QueueCore, { testId, replyTo }: Of<'queue-status'>): undefined {
  const whole = statusOf(core.schedule)
  if (testId === undefined) return void replyTo.tell(whole)
  const state = core.schedule.stateOf(testId)
  if (state === undefined)
    return core.read({ type: 'queue-status', testId, status: whole, replyTo })
  replyTo.tell({ ...whole, test: { testId, state, ...core.standing(testId) } })
  return undefined
}

async function setMode(core: QueueCore, { mode, replyTo }: Of<'set-mode'>): Promise<undefined> {
  const { register } = core.house
  try {
    if (mode !== 'draining') await register.setMode(mode)
  } catch (error) {
    const { message, detail } = faultOf(error)
    replyTo.tell(fault('probe-unavailable', message, detail))
    return undefined
  }
  core.schedule.mode = mode
  if (mode === 'draining' && replyTo instanceof Request) replyTo.handTo(core.drainers)
  else replyTo.tell({ mode, running: core.schedule.running })
  return core.process()
}

function statusOf(schedule: Schedule): QueueStatus {
  const { counts, testing } = schedule
  const [currentlyTesting] = testing
  return {
    totalTests: schedule.size,
    setupCount: counts.Setup,
    loadingCount: counts.Loading,
    loadedCount: counts.Loaded,
    testingCount: counts.Testing,
    completedCount: counts.Completed,
    exceptionCount: counts.Exception,
    ...(currentlyTesting !== undefined && { currentlyTesting }),
    testing,
    pending: schedule.pending,
    slots: schedule.options.slots,
    mode: schedule.mode,
  }
}
