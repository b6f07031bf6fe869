/**
 * An orchestrator over a journal. It takes the fence `probe`, so that whoever ran the tests before can
 * write no more, and begins with what is on record.
 *
 * This is the only place where somebody waits for actors.
 */
import type { Journal } from '../journal/index.ts'
import { ask, type Handle, type Ref, type System } from '../kernel/index.ts'
import { Accident, fault, freshId, isFault, silentLog, type Fault, type Log } from '../std/index.ts'
import { Changes } from './changes.ts'
import { badExtension, badInitialize, badListing, badStart, badTags, isTestId } from './checking.ts'
import { blockStorage } from './children/block-storage.ts'
import { consumer } from './children/consumer.ts'
import { cucumber } from './children/cucumber.ts'
import type { ProbePorts } from './children/ports.ts'
import { producer } from './children/producer.ts'
import { vault } from './children/vault.ts'
import { openSealed } from './evidence/sealed.ts'
import { noSuchTest, statusOf } from './execution/answering.ts'
import { execution } from './execution/execution.ts'
import { guardian } from './guardian.ts'
import type { Factories, House } from './house.ts'
import { LIST_TESTS_DEFAULT, PROBE_ANSWER_MS } from './limits.ts'
import { metricsOf, type ProbeMetrics } from './metrics.ts'
import { settingsOf, type ProbeSettings } from './options.ts'
import type {
  ChangesOptions,
  InitializeOptions,
  ListTestsOptions,
  Probe,
  StartTestOptions,
  TestChange,
  TestPage,
  UploadOptions,
} from './probe.ts'
import type {
  Cancelled,
  Extended,
  GuardianMessage,
  Initialized,
  ModeChanged,
  ProbeFault,
  QueueMessage,
  QueueMode,
  QueueStatus,
  Started,
  TestStatus,
} from './protocol.ts'
import { testQueue } from './queue.ts'
import type { EvidenceFile, TestEvent, TestRecord } from './record.ts'
import { Register } from './register.ts'
import { newTally } from './tally.ts'

export type CreateProbeOptions = Readonly<{
  system: System
  journal: Journal
  ports: ProbePorts
  settings?: Partial<ProbeSettings>
  log?: Log
  /** Makes ids of tests; none may come twice. */
  newId?: () => string
  /** Instead of those of the house. */
  factories?: Partial<Factories>
  /** The name of the actor at the top. */
  name?: string
}>

const FACTORIES: Factories = { execution, blockStorage, vault, cucumber, producer, consumer }

export async function createProbe(options: CreateProbeOptions): Promise<Probe> {
  const settings = settingsOf(options.settings)
  const token = await options.journal.takeFence('probe')
  const probe = new ProbeOverJournal(options, settings, token)
  const begun = await probe.queueStatus()
  if (!isFault(begun)) return probe
  await probe.close()
  throw new Accident(begun)
}

class ProbeOverJournal implements Probe {
  readonly #house: House
  readonly #changes: Changes
  readonly #guardian: Handle<GuardianMessage>
  #closed: Promise<void> | undefined
  #lost: ProbeFault | undefined

  constructor(options: CreateProbeOptions, settings: ProbeSettings, token: number) {
    const { system, journal, ports, log = silentLog, newId = freshId } = options
    const register = new Register(journal, { name: 'probe', token }, system.clock)
    this.#changes = new Changes(journal)
    this.#house = {
      register,
      ports,
      factories: { ...FACTORIES, ...options.factories },
      settings,
      log,
      newId,
      tally: newTally(),
      seen: { schedule: undefined, lives: 0 },
      onProgress: (testId, progress) => this.#changes.onProgress(testId, progress),
    }
    register.onAppended = (testId, events, position) =>
      this.#changes.onEvents(testId, events, position)
    register.onLost = (reason) => {
      log.error('tests can be written down no more', { reason: reason.message })
      this.#lost = reason
      void this.close()
    }
    this.#guardian = system.spawn(
      options.name ?? 'guardian',
      guardian(() => testQueue(this.#house), log),
    )
  }

  async initialize(options: InitializeOptions = {}): Promise<Initialized | ProbeFault> {
    const { priority = 0, by, requestId } = options
    return (
      badInitialize(options) ??
      this.#asking<Initialized>((replyTo) => ({
        type: 'initialize-test',
        priority,
        ...(by !== undefined && { by }),
        ...(requestId !== undefined && { requestId }),
        replyTo,
      }))
    )
  }

  async start(testId: string, options: StartTestOptions): Promise<Started | ProbeFault> {
    const { exclusive = [], dryRun: isDryRun = false, bucket, ...rest } = options
    // Without tags nothing is waited for: whoever starts and cancels in one breath does it in this order.
    return (
      badStart(options) ??
      (options.tags === undefined ? undefined : await badTags(options)) ??
      this.#about<Started>(testId, (replyTo) => ({
        type: 'start-test',
        testId,
        options: { ...rest, bucket: bucket.trim(), exclusive, isDryRun },
        replyTo,
      }))
    )
  }

  status(testId: string): Promise<TestStatus | ProbeFault> {
    return this.#about<TestStatus>(testId, (replyTo) => ({ type: 'test-status', testId, replyTo }))
  }

  queueStatus(testId?: string): Promise<QueueStatus | ProbeFault> {
    if (testId === undefined)
      return this.#asking<QueueStatus>((replyTo) => ({ type: 'queue-status', replyTo }))
    return this.#about<QueueStatus>(testId, (replyTo) => ({
      type: 'queue-status',
      testId,
      replyTo,
    }))
  }

  cancel(testId: string, { by }: Readonly<{ by?: string }> = {}): Promise<Cancelled | ProbeFault> {
    return this.#about<Cancelled>(testId, (replyTo) => ({
      type: 'cancel-test',
      testId,
      ...(by !== undefined && { by }),
      replyTo,
    }))
  }

  async extend(testId: string, ms: number): Promise<Extended | ProbeFault> {
    return (
      badExtension(ms) ??
      this.#about<Extended>(testId, (replyTo) => ({ type: 'extend-test', testId, ms, replyTo }))
    )
  }

  retry(testId: string): Promise<Started | ProbeFault> {
    return this.#about<Started>(testId, (replyTo) => ({ type: 'retry-test', testId, replyTo }))
  }

  async list(options: ListTestsOptions = {}): Promise<TestPage | ProbeFault> {
    const refusal = this.#shut ?? badListing(options)
    if (refusal !== undefined) return refusal
    const { limit = LIST_TESTS_DEFAULT, after } = options
    return this.#reading(async () => {
      const { records, next } = await this.#house.register.find(
        (record) => isListed(record, options),
        limit,
        after,
      )
      const tests = records.map((record) => statusOf(record))
      return { tests, ...(next !== undefined && { next }) }
    })
  }

  history(testId: string): Promise<readonly TestEvent[] | ProbeFault> {
    return this.#onRecord(testId, async () => this.#house.register.history(testId))
  }

  pause(): Promise<ModeChanged | ProbeFault> {
    return this.#setMode('paused', PROBE_ANSWER_MS)
  }

  resume(): Promise<ModeChanged | ProbeFault> {
    return this.#setMode('open', PROBE_ANSWER_MS)
  }

  drain({ deadlineMs = PROBE_ANSWER_MS }: Readonly<{ deadlineMs?: number }> = {}): Promise<
    ModeChanged | ProbeFault
  > {
    return this.#setMode('draining', deadlineMs)
  }

  changes(options: ChangesOptions): AsyncIterable<TestChange> {
    return this.#changes.read(options)
  }

  evidence(testId: string): Promise<readonly EvidenceFile[] | ProbeFault> {
    return this.#onRecord(testId, async ({ files }) => files)
  }

  openEvidence(testId: string, name: string): Promise<AsyncIterable<Uint8Array> | ProbeFault> {
    return this.#onRecord(testId, async ({ start, files }) => {
      const file = files.find((each) => each.name === name)
      if (start === undefined || file === undefined)
        return fault('no-such-evidence', `the test ${testId} has no evidence ${name}`, {
          testId,
          name,
          remedy: 'list the evidence of the test',
        })
      const { signal } = new AbortController()
      return openSealed(await this.#house.ports.storage.read(start.bucket, name, { signal }), file)
    })
  }

  /** The time that an upload takes is not taken from the test. */
  async upload(
    testId: string,
    stream: AsyncIterable<Uint8Array>,
    options: UploadOptions,
  ): Promise<Readonly<{ path: string }> | Fault> {
    const found = await this.status(testId)
    if (isFault(found)) return found
    if (found.state !== 'Setup') return notWanted(found)
    const begun = await this.extend(testId, this.#house.settings.setupMs)
    if (isFault(begun)) return begun
    return this.#house.ports.receiveUpload(testId, stream, options)
  }

  metrics(): ProbeMetrics {
    return metricsOf(this.#house)
  }

  close(): Promise<void> {
    this.#closed ??= this.#close()
    return this.#closed
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close()
  }

  async #close(): Promise<void> {
    this.#changes.close()
    await this.#guardian[Symbol.asyncDispose]()
    await this.#house.register.settled()
  }

  get #shut(): ProbeFault | undefined {
    if (this.#lost !== undefined) return this.#lost
    if (this.#closed === undefined) return undefined
    return fault('probe-closed', 'the orchestrator of tests is closed', {
      remedy: 'start the server again',
    })
  }

  #setMode(mode: QueueMode, deadlineMs: number): Promise<ModeChanged | ProbeFault> {
    return this.#asking<ModeChanged>((replyTo) => ({ type: 'set-mode', mode, replyTo }), deadlineMs)
  }

  async #about<Reply>(
    testId: string,
    make: (replyTo: Ref<Reply | ProbeFault>) => QueueMessage,
  ): Promise<Reply | ProbeFault> {
    return isTestId(testId) ? this.#asking(make) : noSuchTest(testId)
  }

  /** The one that is there; made, if there is none. */
  async #queue(): Promise<Ref<QueueMessage> | ProbeFault> {
    type Answer = Ref<QueueMessage> | ProbeFault
    const found = await ask<GuardianMessage, Answer>(this.#guardian, (replyTo) => ({
      type: 'get-queue',
      replyTo,
    }))
    if (!isFault(found)) return found
    return ask<GuardianMessage, Answer>(this.#guardian, (replyTo) => ({
      type: 'initialize',
      replyTo,
    }))
  }

  /** The guardian is asked each time: a queue that was made anew has another address. */
  async #asking<Reply>(
    make: (replyTo: Ref<Reply | ProbeFault>) => QueueMessage,
    deadlineMs: number = PROBE_ANSWER_MS,
  ): Promise<Reply | ProbeFault> {
    if (this.#shut !== undefined) return this.#shut
    try {
      const queue = await this.#queue()
      if (isFault(queue)) return queue
      return await ask<QueueMessage, Reply | ProbeFault>(queue, make, { deadlineMs })
    } catch (error) {
      return this.#shut ?? inWords(error)
    }
  }

  async #onRecord<T>(
    testId: string,
    work: (record: TestRecord) => Promise<T | ProbeFault>,
  ): Promise<T | ProbeFault> {
    if (this.#shut !== undefined) return this.#shut
    if (!isTestId(testId)) return noSuchTest(testId)
    return this.#reading(async () => {
      const record = await this.#house.register.read(testId)
      return record === undefined ? noSuchTest(testId) : work(record)
    })
  }

  async #reading<T>(read: () => Promise<T | ProbeFault>): Promise<T | ProbeFault> {
    try {
      return await read()
    } catch (error) {
      if (!(error instanceof Accident)) throw error
      return fault('probe-unavailable', error.fault.message, error.fault.detail)
    }
  }
}

function notWanted({ testId, state }: TestStatus): Fault {
  return fault('bundle-not-wanted', `the test ${testId} is ${state} and takes no bundle`, {
    testId,
    state,
    remedy: 'bring the bundle before the test is started',
  })
}

function isListed(record: TestRecord, wanted: ListTestsOptions): boolean {
  const { state, outcome, testType, text } = wanted
  if (state !== undefined && record.state !== state) return false
  if (outcome !== undefined && record.outcome !== outcome) return false
  if (testType !== undefined && record.start?.testType !== testType) return false
  if (text === undefined) return true
  const { testId, start, by, error } = record
  const searched = [testId, start?.bucket, start?.testType, by, error?.message]
  return searched.some((each) => each?.toLowerCase().includes(text.toLowerCase()))
}

function inWords(error: unknown): ProbeFault {
  if (!(error instanceof Accident)) throw error
  const { code, message, detail } = error.fault
  if (code === 'mailbox-full') return fault('probe-overloaded', message, detail)
  return fault('unknown-outcome', message, { ...detail, cause: code })
}
