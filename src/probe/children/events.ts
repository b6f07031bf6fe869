/** One side of the events of a test: opens it, says when it is open, and closes it when it ends. */
import { receive, setup, type Behavior } from '../../kernel/index.ts'
import { unreachable } from '../../std/index.ts'
import type { EventsMessage } from '../protocol.ts'
import { notReady, tellFailed, type ChildOptions } from './child.ts'

export type Opening = Extract<EventsMessage, { type: 'initialize' }>

export type Open = (
  opening: Opening,
  signal: AbortSignal,
  onLost: (error: unknown) => void,
) => Promise<AsyncDisposable>

export function events(
  options: ChildOptions,
  kind: 'producer' | 'consumer',
  open: Open,
): Behavior<EventsMessage> {
  const { parent, log } = options
  return setup((ctx) => {
    let opened: Promise<AsyncDisposable> | undefined

    return receive(
      (_ctx, message) => {
        switch (message.type) {
          case 'initialize': {
            if (opened !== undefined) return undefined
            const { self } = ctx
            opened = open(message, ctx.signal, (error) => void self.tell({ type: 'failed', error }))
            ctx.pipe(
              opened,
              () => ({ type: 'opened' as const }),
              (error) => ({ type: 'failed' as const, error }),
            )
            return undefined
          }
          case 'opened':
            parent.tell({ type: 'child-ready', kind })
            return undefined
          case 'failed':
            return tellFailed(options, kind, message.error)
          case 'start-test':
            if (opened === undefined) tellFailed(options, kind, notReady(kind, 'begin'))
            return undefined
          case 'stop':
            return 'stopped'
          default:
            return unreachable(message)
        }
      },
      { onStop: close },
    )

    /** Also what is only being opened. */
    async function close(): Promise<void> {
      const session = await opened?.catch(() => undefined)
      try {
        await session?.[Symbol.asyncDispose]()
      } catch (error) {
        log.warn('the events of a test could not be closed', { kind, error: String(error) })
      }
    }
  })
}
