/** Loaded: all is ready, and the test waits for its turn, however long that takes. */
import { stay, to } from '../../kernel/index.ts'
import { errorOf } from '../record.ts'
import {
  endedError,
  recordOf,
  unlimited,
  written,
  type Data,
  type ExecutionState,
  type Life,
} from './data.ts'
import { without } from './loading.ts'
import { cancelled, failed, otherwise } from './otherwise.ts'

export function loadedState(life: Life): ExecutionState {
  return {
    async enter(ctx, data) {
      const { testId, house, queue } = life
      const exclusive = exclusiveOf(data)
      const at = house.register.now()
      const after = await written(life, ctx, data, [{ type: 'loaded', at, exclusive }])
      const loaded = unlimited(ctx, after)
      queue.tell({ type: 'test-loaded', testId, exclusive })
      return stay(loaded)
    },
    on(_ctx, data, message) {
      switch (message.type) {
        case 'start-testing':
          return to('Testing', data)
        case 'child-failed':
          return failed(data, errorOf(message.kind, message.fault))
        case 'child-ended':
          if (data.children.get(message.kind) !== message.actor) return stay(data)
          return failed(without(data, message.kind), endedError(message.kind, message.ended))
        case 'cancel':
          return cancelled(data, message)
        default:
          return otherwise(life, data, 'Loaded', message)
      }
    },
  }
}

/** What the start asked for, and what the bundle does. */
function exclusiveOf(data: Data): readonly string[] {
  const ofBundle = data.fetched?.bundle.directive.exclusive ?? []
  return [...new Set([...(recordOf(data).start?.exclusive ?? []), ...ofBundle])]
}
