/** What the queue does when tests tell of themselves, and when one ends that has not. */
import { fault, unreachable } from '../std/index.ts'
import { faultOf } from './children/child.ts'
import type { ProbeFault, TestNotice } from './protocol.ts'
import { confirmKey, type Entry, type Of, type QueueCore } from './queue-core.ts'
import type { TestError } from './record.ts'
import type { Outcome } from './result.ts'
import { route } from './routing.ts'
import { countRun } from './tally.ts'

export function noticed(core: QueueCore, { life, notice }: Of<'test-notice'>): undefined {
  const { testId } = notice
  const entry = core.live(testId)
  if (entry === undefined || entry.life !== life) return undefined
  const { schedule } = core
  switch (notice.type) {
    case 'test-initialized':
      core.house.tally.initialized++
      return undefined
    case 'test-loading':
      schedule.mark(testId, 'Loading')
      if (!schedule.isPending(testId) && !schedule.isRunning(testId))
        schedule.enqueue(testId, notice.priority)
      return undefined
    case 'test-loaded':
      if (schedule.ready(testId, notice.exclusive)) schedule.mark(testId, 'Loaded')
      return core.process()
    case 'test-started':
      core.ctx.timers.cancel(confirmKey(testId))
      return undefined
    case 'test-completed':
      return finished(core, entry, 'Completed', notice.outcome)
    case 'test-exception':
      return finished(core, entry, 'Exception', notice.outcome)
    case 'test-ending':
      core.ctx.timers.cancel(confirmKey(testId)) // it was told to run, and will not
      schedule.withdraw(testId)
      return core.process()
    case 'test-stopping':
      return leaving(core, entry, notice)
    default:
      return unreachable(notice)
  }
}

function finished(
  core: QueueCore,
  entry: Entry,
  state: 'Completed' | 'Exception',
  outcome: Outcome,
): undefined {
  const { testId, ranFrom } = entry
  core.ctx.timers.cancel(confirmKey(testId))
  if (ranFrom !== undefined) {
    const tookMs = Math.max(0, core.house.register.now() - ranFrom)
    core.schedule.noteDuration(tookMs)
    countRun(core.house.tally.runs, tookMs)
  }
  entry.ranFrom = undefined
  core.schedule.finish(testId, state)
  core.house.tally.outcomes[outcome]++
  return core.process()
}

function leaving(
  core: QueueCore,
  entry: Entry,
  { testId, outcome }: Extract<TestNotice, { type: 'test-stopping' }>,
): undefined {
  const state = core.schedule.stateOf(testId)
  const isCounted = state === 'Completed' || state === 'Exception'
  if (outcome !== undefined && !isCounted) core.house.tally.outcomes[outcome]++
  entry.isLeaving = true
  core.ctx.timers.cancel(confirmKey(testId))
  core.schedule.remove(testId)
  return core.process()
}

/** What its actor has not answered is answered from its record, or by whoever follows it. */
export function testEnded(core: QueueCore, { testId, life, ended }: Of<'test-ended'>): undefined {
  const entry = core.tests.get(testId)
  if (entry === undefined || entry.life !== life) return undefined
  const open = [...entry.open]
  if (entry.isLeaving) core.tests.delete(testId)
  else mourn(core, entry, ended)
  for (const request of open) {
    // What has ended two of them might end a third.
    const isRefused = request.message.type === 'initialize-test' || request.isOrphan
    request.isOrphan = true
    request.handTo(core.open)
    if (isRefused) request.tell(crashed(testId))
    else void route(core, request.message)
  }
  return core.process()
}

function mourn(core: QueueCore, entry: Entry, { cause, error }: Of<'test-ended'>['ended']): void {
  const { testId, doom } = entry
  const { log, tally } = core.house
  tally.crashes++
  log.error('the actor of a test ended unasked', { testId, cause, error: String(error) })
  core.ctx.timers.cancel(confirmKey(testId))
  core.schedule.finish(testId, 'Exception')
  core.schedule.forgo(testId)
  entry.doom = undefined
  entry.ranFrom = undefined
  core.spawn(testId, { type: 'mourning', error: doom ?? endedUnasked(cause, error) }, entry)
}

export function notConfirmed(core: QueueCore, testId: string): undefined {
  const entry = core.live(testId)
  if (entry === undefined) return undefined
  entry.doom = {
    kind: 'queue',
    code: 'start-not-confirmed',
    message: 'the test was told to run and did not say that it does',
  }
  core.ctx.stop(entry.actor)
  return undefined
}

function endedUnasked(cause: string, error: unknown): TestError {
  const words = error === undefined ? '' : `: ${faultOf(error).message}`
  return { kind: 'test', code: 'test-crashed', message: `the test ended (${cause})${words}` }
}

function crashed(testId: string): ProbeFault {
  return fault('test-crashed', `the test ${testId} ended before it had answered`, {
    testId,
    remedy: 'look at its status, and initialize another if there is none',
  })
}
