/**
 * Fetches the bundle of a test into directories of its own, and stores its evidence afterwards.
 *
 * The directories are gone when the actor has ended, whatever ended it, with one exception: evidence
 * that is still to be stored stays where it is unless the actor was told to stop.
 */
import { receive, setup, type Behavior } from '../../kernel/index.ts'
import { Accident, isFault, unreachable } from '../../std/index.ts'
import type { BlockStorageMessage } from '../protocol.ts'
import type { EvidenceFile } from '../record.ts'
import { faultOf, notReady, tellFailed, type ChildOptions } from './child.ts'
import type { EventRoom, Fetched, StagedTest } from './ports.ts'

export function blockStorage(options: ChildOptions): Behavior<BlockStorageMessage> {
  const { testId, parent, ports, log } = options
  return setup((ctx) => {
    const { signal } = ctx
    let staged: StagedTest | undefined
    let work: Promise<unknown> | undefined
    let isOwed = false

    return receive(
      (_ctx, message) => {
        switch (message.type) {
          case 'initialize':
            if (work !== undefined) return undefined
            return begin('fetch', load(message.bucket), (fetched) => ({
              type: 'fetched',
              fetched,
            }))
          case 'fetched':
            parent.tell({ type: 'bundle-fetched', fetched: message.fetched })
            parent.tell({ type: 'child-ready', kind: 'block-storage' })
            return undefined
          case 'store-evidence':
            isOwed = true
            return begin('store', store(message.bucket, message.room), (files) => ({
              type: 'stored',
              files,
            }))
          case 'stored':
            isOwed = false
            parent.tell({ type: 'evidence-stored', files: message.files })
            return undefined
          case 'failed':
            if (message.during === 'fetch')
              return tellFailed(options, 'block-storage', message.error)
            parent.tell({ type: 'evidence-failed', fault: faultOf(message.error) })
            return undefined
          case 'stop':
            isOwed = false
            return 'stopped'
          default:
            return unreachable(message)
        }
      },
      { onStop: clear },
    )

    function begin<T>(
      during: 'fetch' | 'store',
      promise: Promise<T>,
      onValue: (value: T) => BlockStorageMessage,
    ): undefined {
      work = promise.catch(() => undefined)
      ctx.pipe(promise, onValue, (error) => ({ type: 'failed', during, error }))
      return undefined
    }

    async function load(bucket: string): Promise<Fetched> {
      staged = await ports.staging.open(testId)
      const { bundle: directory, evidence } = staged
      await ports.storage.fetch(bucket, directory, { limits: ports.bundleLimits, signal })
      const bundle = await ports.readBundle(directory)
      if (isFault(bundle)) throw new Accident(bundle)
      return { bundle, evidence }
    }

    async function store(
      bucket: string,
      room: EventRoom | undefined,
    ): Promise<readonly EvidenceFile[]> {
      staged ??= await ports.staging.reopen(testId)
      if (staged === undefined) throw notReady('block-storage', 'store evidence')
      await room?.seal().catch((error: unknown) => {
        log.warn('events of a test are missing in its evidence', { error: String(error) })
      })
      const files = await ports.sealEvidence(staged.evidence)
      const names = files.map(({ name }) => name)
      await ports.storage.store(bucket, staged.evidence, names, { signal })
      return files
    }

    /** What is under way may still be making the directories. */
    async function clear(): Promise<void> {
      await work
      if (isOwed) return
      try {
        await staged?.remove()
      } catch (error) {
        log.error('the directories of a test could not be removed', { error: String(error) })
      }
    }
  })
}
