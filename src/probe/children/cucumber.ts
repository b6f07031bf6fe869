/**
 * Runs the features of a test in a process of its own. When the actor has ended, so has the process:
 * it is asked to, and killed after the grace.
 */
import { receive, setup, type Behavior } from '../../kernel/index.ts'
import { unreachable } from '../../std/index.ts'
import type { CucumberMessage } from '../protocol.ts'
import type { RunJob, Run } from '../runner/runner.ts'
import type { RunResult } from '../result.ts'
import { notReady, tellFailed, type ChildOptions } from './child.ts'
import type { LiveMask } from '../secrets/secrets.ts'
import type { EventRoom } from './ports.ts'

export function cucumber(options: ChildOptions): Behavior<CucumberMessage> {
  const { testId, parent, ports, graceMs, log } = options
  return setup((ctx) => {
    let job: RunJob | undefined
    let mask: LiveMask | undefined
    let run: Run | undefined

    return receive(
      (_ctx, message) => {
        switch (message.type) {
          case 'initialize':
            return initialize(message)
          case 'start-test':
            return start(message.room)
          case 'ran':
            run = undefined
            parent.tell({ type: 'test-complete', result: message.result })
            return undefined
          case 'failed':
            run = undefined
            return tellFailed(options, 'cucumber', message.error)
          case 'stop':
            return 'stopped'
          default:
            return unreachable(message)
        }
      },
      { onStop: end },
    )

    async function end(): Promise<void> {
      await run?.cancel(graceMs)
      await run?.result.catch(() => undefined) // its evidence is written by then
    }

    function initialize(message: Extract<CucumberMessage, { type: 'initialize' }>): undefined {
      if (job !== undefined) return undefined
      const { fetched, tags, isDryRun } = message
      mask = message.mask
      const { bundle, evidence } = fetched
      if (bundle.features.length === 0 || evidence === '')
        return tellFailed(
          options,
          'cucumber',
          notReady('cucumber', 'run a bundle without features'),
        )
      job = { testId, bundle, evidence, tags, isDryRun }
      parent.tell({ type: 'child-ready', kind: 'cucumber' })
      return undefined
    }

    function start(room: EventRoom): undefined {
      if (run !== undefined) return undefined
      try {
        if (job === undefined || mask === undefined) throw notReady('cucumber', 'run')
        run = ports.runner.start(job, {
          services: room.services(),
          mask,
          onProgress: (progress) => void parent.tell({ type: 'progress', progress }),
          onLog: (line) => log.debug(line),
        })
      } catch (error) {
        return tellFailed(options, 'cucumber', error)
      }
      ctx.pipe<RunResult>(
        run.result,
        (result) => ({ type: 'ran', result }),
        (error) => ({ type: 'failed', error }),
      )
      return undefined
    }
  })
}
