/**
 * Fetches the bundle of a test into directories of its own, and stores its evidence afterwards.
 *
 * The directories are gone when the actor has ended, whatever ended it, with one exception: evidence
 * that is still to be stored stays where it is unless the actor was told to stop.
 */
import { receive, setup, type Behavior, type Context } from '../../kernel/index.ts'
import { Accident, isFault, unreachable } from '../../std/index.ts'
import type { BlockStorageMessage } from '../protocol.ts'
import type { EvidenceFile } from '../record.ts'
import { faultOf, notReady, tellFailed, type ChildOptions } from './child.ts'
import type { EventRoom, Fetched, StagedTest } from './ports.ts'

export function blockStorage(options: ChildOptions): Behavior<BlockStorageMessage> {
  return setup((ctx) => {
    const actor = new BlockStorageActor(ctx, options)
    return receive((_ctx, message) => actor.take(message), { onStop: () => actor.clear() })
  })
}

class BlockStorageActor {
  readonly #ctx: Context<BlockStorageMessage>
  readonly #options: ChildOptions
  readonly #signal: AbortSignal
  #staged: StagedTest | undefined
  #fetching: Promise<unknown> | undefined
  #isOwed = false

  constructor(ctx: Context<BlockStorageMessage>, options: ChildOptions) {
    this.#ctx = ctx
    this.#options = options
    this.#signal = ctx.signal
  }

  take(message: BlockStorageMessage): undefined | 'stopped' {
    const { parent } = this.#options
    switch (message.type) {
      case 'initialize':
        if (this.#fetching !== undefined) return undefined
        this.#fetching = this.#begin('fetch', this.#load(message.bucket), (fetched) => ({
          type: 'fetched',
          fetched,
        }))
        return undefined
      case 'fetched':
        parent.tell({ type: 'bundle-fetched', fetched: message.fetched })
        parent.tell({ type: 'child-ready', kind: 'block-storage' })
        return undefined
      case 'store-evidence':
        this.#isOwed = true
        void this.#begin('store', this.#store(message.bucket, message.room), (files) => ({
          type: 'stored',
          files,
        }))
        return undefined
      case 'stored':
        this.#isOwed = false
        parent.tell({ type: 'evidence-stored', files: message.files })
        return undefined
      case 'failed':
        if (message.during === 'fetch')
          return tellFailed(this.#options, 'block-storage', message.error)
        parent.tell({ type: 'evidence-failed', fault: faultOf(message.error) })
        return undefined
      case 'stop':
        this.#isOwed = false
        return 'stopped'
      default:
        return unreachable(message)
    }
  }

  /** A fetch that is under way may still be making the directories. */
  async clear(): Promise<void> {
    await this.#fetching
    if (this.#isOwed) return
    try {
      await this.#staged?.remove()
    } catch (error) {
      const { log } = this.#options
      log.error('the directories of a test could not be removed', { error: String(error) })
    }
  }

  #begin<T>(
    during: 'fetch' | 'store',
    promise: Promise<T>,
    onValue: (value: T) => BlockStorageMessage,
  ): Promise<unknown> {
    this.#ctx.pipe(promise, onValue, (error) => ({ type: 'failed', during, error }))
    return promise.catch(() => undefined)
  }

  async #load(bucket: string): Promise<Fetched> {
    const { testId, ports } = this.#options
    this.#staged = await ports.staging.open(testId)
    const { bundle: directory, evidence } = this.#staged
    const { bundleLimits: limits, storage } = ports
    await storage.fetch(bucket, directory, { limits, signal: this.#signal })
    const bundle = await ports.readBundle(directory)
    if (isFault(bundle)) throw new Accident(bundle)
    return { bundle, evidence }
  }

  async #store(bucket: string, room: EventRoom | undefined): Promise<readonly EvidenceFile[]> {
    const { testId, ports, log } = this.#options
    this.#staged ??= await ports.staging.reopen(testId)
    if (this.#staged === undefined) throw notReady('block-storage', 'store evidence')
    const { evidence } = this.#staged
    await room?.seal().catch((error: unknown) => {
      log.warn('events of a test are missing in its evidence', { error: String(error) })
    })
    const files = await ports.sealEvidence(evidence)
    const names = files.map(({ name }) => name)
    await ports.storage.store(bucket, evidence, names, { signal: this.#signal })
    return files
  }
}
