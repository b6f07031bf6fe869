/** Loaded: all is ready, and the test waits for its turn, however long that takes. */
import { stay, to } from '../../kernel/index.ts'
import { errorOf } from '../record.ts'
import { recordOf, unlimited, written, type Data, type ExecutionState } from './data.ts'
import { handling } from './handling.ts'
import { lost } from './loading.ts'
import { cancelled, failed } from './otherwise.ts'

export const loadedState: ExecutionState = {
  async enter(ctx, data) {
    const { life } = data
    const { testId, house, queue } = life
    const exclusive = exclusiveOf(data)
    const at = house.register.now()
    const after = await written(life, ctx, data, [{ type: 'loaded', at, exclusive }])
    const loaded = unlimited(ctx, after)
    queue.tell({ type: 'test-loaded', testId, exclusive })
    return stay(loaded)
  },
  on: handling('Loaded', {
    'start-testing': (_ctx, data) => to('Testing', data),
    'child-failed': (_ctx, data, { kind, fault }) => failed(data, errorOf(kind, fault)),
    'child-ended': (_ctx, data, message) => lost(data, message),
    cancel: (_ctx, data, message) => cancelled(data, message),
  }),
}

/** What the start asked for, and what the bundle does. */
function exclusiveOf(data: Data): readonly string[] {
  const ofBundle = data.fetched?.bundle.directive.exclusive ?? []
  return [...new Set([...(recordOf(data).start?.exclusive ?? []), ...ofBundle])]
}
