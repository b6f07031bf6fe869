/** Fetches what a test needs to prove who it is. Secrets go on as handles, never as texts. */
import { receive, setup, type Behavior } from '../../kernel/index.ts'
import { unreachable } from '../../std/index.ts'
import type { VaultMessage } from '../protocol.ts'
import { tellFailed, type ChildOptions } from './child.ts'

export function vault(options: ChildOptions): Behavior<VaultMessage> {
  const { parent, ports } = options
  return setup((ctx) => {
    let hasBegun = false
    return receive((_ctx, message) => {
      switch (message.type) {
        case 'initialize': {
          if (hasBegun) return undefined
          hasBegun = true
          const fetching = ports.credentialsFor(message.bundle, message.mask, ctx.signal)
          ctx.pipe(
            fetching,
            (security) => ({ type: 'fetched' as const, security }),
            (error) => ({ type: 'failed' as const, error }),
          )
          return undefined
        }
        case 'fetched':
          parent.tell({ type: 'security-fetched', security: message.security })
          parent.tell({ type: 'child-ready', kind: 'vault' })
          return undefined
        case 'failed':
          return tellFailed(options, 'vault', message.error)
        case 'stop':
          return 'stopped'
        default:
          return unreachable(message)
      }
    })
  })
}
