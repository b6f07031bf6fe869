/** The messages that a state has an opinion about, as a table; all others are answered as in any state. */
import type { ExecutionMessage, TestState } from '../protocol.ts'
import type { Ctx, Data, ExecutionState, Step } from './data.ts'
import { otherwise } from './otherwise.ts'

type Type = ExecutionMessage['type']

type Handler<M> = (ctx: Ctx, data: Data, message: M) => Step | Promise<Step>

export type Handlers = Readonly<{
  [T in Type]?: Handler<Extract<ExecutionMessage, { type: T }>>
}>

export function handling(state: TestState, handlers: Handlers): ExecutionState['on'] {
  return (ctx, data, message) => {
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- each stands under its own type
    const handler = handlers[message.type] as Handler<ExecutionMessage> | undefined
    return handler === undefined
      ? otherwise(data.life, data, state, message)
      : handler(ctx, data, message)
  }
}
