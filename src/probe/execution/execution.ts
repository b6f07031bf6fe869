/**
 * One test, as a machine of seven states.
 *
 *   Setup ── Loading ── Loaded ── Testing ── Completed ──┐
 *     │         │          │         ├────── Exception ──┤
 *     └─────────┴──────────┴─────────┴───────────────────┴── ShuttingDown
 *
 * A handler chooses; `enter` of the state that was chosen writes the transition down and only then tells
 * anybody. So whoever was told of it finds it on record, and nothing overtakes it.
 */
import { machine, type Behavior } from '../../kernel/index.ts'
import type { ExecutionMessage, TestState } from '../protocol.ts'
import type { TestRecord } from '../record.ts'
import type { ProbeSettings } from '../options.ts'
import {
  GO_ON,
  newData,
  NO_FILES,
  type Arrival,
  type Begin,
  type Data,
  type ExecutionOptions,
  type ExecutionState,
  type Life,
} from './data.ts'
import { completedState, exceptionState } from './finished.ts'
import { loadedState } from './loaded.ts'
import { loadingState } from './loading.ts'
import { setupState } from './setup.ts'
import { shuttingDownState } from './shutting-down.ts'
import { testingState } from './testing.ts'

export function execution(options: ExecutionOptions): Behavior<ExecutionMessage> {
  const { testId, queue, house, begin } = options
  const { state, data } = beginning({ testId, queue, house }, begin)
  return machine<TestState, Data, ExecutionMessage>({ initial: state, data, states: STATES })
}

const STATES: Readonly<Record<TestState, ExecutionState>> = {
  Setup: setupState,
  Loading: loadingState,
  Loaded: loadedState,
  Testing: testingState,
  Completed: completedState,
  Exception: exceptionState,
  ShuttingDown: shuttingDownState,
}

type Beginning = Readonly<{ state: TestState; data: Data }>

function beginning(life: Life, begin: Begin): Beginning {
  switch (begin.type) {
    case 'fresh':
      return { state: 'Setup', data: newData(life, undefined, begin) }
    case 'mourning':
      return { state: 'Exception', data: newData(life, undefined, begin) }
    case 'revived':
      return { state: begin.record.state, data: newData(life, begin.record, GO_ON) }
    case 'recovered': {
      const { state, arrival } = recovered(begin.record, begin.place, life.house.settings)
      return { state, data: newData(life, begin.record, arrival) }
    }
  }
}

/** What becomes of a test that was there when the server ended. */
function recovered(
  record: TestRecord,
  place: number,
  settings: ProbeSettings,
): Readonly<{ state: TestState; arrival: Arrival }> {
  const requeue = (why: 'restart' | 'interrupted'): Arrival => ({
    type: 'requeue',
    why,
    place,
    standing: {},
    replyTo: undefined,
  })
  if (record.state === 'Loading' || record.state === 'Loaded')
    return { state: 'Loading', arrival: requeue('restart') }
  if (record.state !== 'Testing') return { state: record.state, arrival: GO_ON }
  if (record.result !== undefined)
    return {
      state: 'Completed',
      arrival: { type: 'complete', evidence: 'pending', files: NO_FILES },
    }
  return isRunAgain(record, settings)
    ? { state: 'Loading', arrival: requeue('interrupted') }
    : { state: 'Exception', arrival: { type: 'interrupted' } }
}

/** Whether a test that was interrupted is queued again. */
export function isRunAgain({ attempt }: TestRecord, settings: ProbeSettings): boolean {
  return settings.interrupted === 'requeue' && attempt < settings.attempts
}
