/**
 * The world around an orchestrator: directories, stores, runs and sessions, as the scripts of the bundles
 * have it. It outlives the server, whose end closes what only a process holds.
 */
import type { Bundle } from '../../../src/probe/bundle/directive.ts'
import type { ProbePorts, StagedTest } from '../../../src/probe/children/ports.ts'
import type { RunResult } from '../../../src/probe/result.ts'
import type { Run, RunJob } from '../../../src/probe/runner/runner.ts'
import { Accident, fault, type Clock } from '../../../src/std/index.ts'
import { DIRECTIVE, FAILED, FILES, PASSED } from '../fakes.ts'
import type { Book } from './book.ts'
import type { Script, Way } from './program.ts'

type Running = Readonly<{ testId: string; keys: readonly string[] }>

export class Estate {
  /** Directories that are there. */
  readonly staged: Set<string> = new Set()
  readonly running: Set<Running> = new Set()
  readonly sessions: Set<object> = new Set()
  /** Tells that the consumer of a test has failed. */
  readonly consumers: Map<string, (error: unknown) => void> = new Map()
  runs = 0
  runningMost = 0
  readonly #tries = new Map<string, number>()
  readonly #book: Book
  readonly #slots: number
  readonly #wrong: (what: string) => void

  constructor(book: Book, slots: number, wrong: (what: string) => void) {
    this.#book = book
    this.#slots = slots
    this.#wrong = wrong
  }

  /** What ends with the process. */
  onProcessEnded(): void {
    this.running.clear()
    this.sessions.clear()
    this.consumers.clear()
  }

  /** The ports of one server; after its end nothing comes of what it does. */
  ports(clock: Clock, isDead: () => boolean): ProbePorts {
    const { staged } = this
    const alive = async (): Promise<void> => {
      if (isDead()) await new Promise<never>(() => undefined)
    }
    const later = (ms: number): Promise<void> =>
      ms === 0
        ? alive()
        : new Promise((resolve) => clock.setTimer(clock.monotonic() + ms, () => resolve()))
    const goes = async ({ end, ms }: Way, what: string, signal: AbortSignal): Promise<void> => {
      signal.throwIfAborted()
      if (end === 'hang') await aborted(signal)
      await later(ms)
      signal.throwIfAborted()
      if (end === 'fail') throw new Accident(fault('storage-unavailable', `${what} failed`))
    }
    const directories = (testId: string): StagedTest => ({
      bundle: `/staging/${testId}/bundle`,
      evidence: `/staging/${testId}/evidence`,
      remove: async () => {
        await alive()
        staged.delete(testId)
      },
    })
    const session = async (): Promise<AsyncDisposable> => {
      await alive()
      const token = {}
      this.sessions.add(token)
      return { [Symbol.asyncDispose]: async () => void this.sessions.delete(token) }
    }
    return {
      bundleLimits: { files: 10, fileBytes: 10, totalBytes: 100 },
      staging: {
        open: async (testId) => {
          await alive()
          staged.add(testId)
          return directories(testId)
        },
        reopen: async (testId) => {
          await alive()
          return staged.has(testId) ? directories(testId) : undefined
        },
        sweep: async (kept) => {
          await alive()
          this.#book.hurtAll()
          this.#book.losses++
          for (const testId of staged) if (!kept.has(testId)) staged.delete(testId)
        },
      },
      storage: {
        fetch: async (bucket, directory, { signal }) => {
          await goes(this.#script(bucket).fetch, 'fetching', signal)
          this.#needs(testOf(directory), 'was fetched')
        },
        store: async (bucket, directory, _files, { signal }) => {
          const { stores } = this.#script(bucket)
          const tries = this.#tries.get(bucket) ?? 0
          this.#tries.set(bucket, tries + 1)
          await goes(stores[Math.min(tries, stores.length - 1)]!, 'storing', signal)
          this.#needs(testOf(directory), 'was stored')
        },
        read: async () => {
          throw new Accident(fault('no-such-object', 'nothing is read here'))
        },
      },
      readBundle: async (directory): Promise<Bundle> => {
        await alive()
        const { check, keys } = this.#scriptOf(testOf(directory))
        if (check === 'bad') throw new Accident(fault('bad-bundle', 'the bundle is bad'))
        return {
          directory,
          directive: { ...DIRECTIVE, exclusive: keys },
          features: ['features/a.feature'],
        }
      },
      sealEvidence: async () => FILES,
      newMask: () => ({
        add: () => undefined,
        text: (text) => text,
        stream: () => ({ push: (piece) => piece, end: () => '' }),
      }),
      credentialsFor: async ({ directory }, _mask, signal) => {
        await goes(this.#scriptOf(testOf(directory)).credentials, 'the vault', signal)
        return { credentials: new Map(), secrets: new Map() }
      },
      openEvents: ({ testId }) => ({
        openProducing: async (_security, signal) => {
          await goes(this.#scriptOf(testId).producing, 'producing', signal)
          return session()
        },
        openConsuming: async (_security, signal, onLost) => {
          await goes(this.#scriptOf(testId).consuming, 'consuming', signal)
          this.consumers.set(testId, onLost)
          return session()
        },
        services: () => ({ call: async () => null }),
        seal: async () => undefined,
      }),
      runner: { start: (job) => this.#start(job, clock) },
      receiveUpload: async (testId) => ({ path: `upload:${testId}` }),
      removeUpload: async () => undefined,
    }
  }

  #start({ testId }: RunJob, clock: Clock): Run {
    const { run, runMs, endMs } = this.#scriptOf(testId)
    if (run === 'refused') throw new Accident(fault('run-refused', 'the run was refused'))
    this.#needs(testId, 'runs')
    const known = this.#book.tests.get(testId)
    const me: Running = { testId, keys: known?.keys ?? [] }
    for (const other of this.running) {
      const key = me.keys.find((each) => other.keys.includes(each))
      if (key !== undefined) this.#wrong(`${testId} and ${other.testId} both hold ${key}`)
    }
    this.running.add(me)
    this.runs++
    this.runningMost = Math.max(this.runningMost, this.running.size)
    if (this.running.size > this.#slots)
      this.#wrong(`${this.running.size} run where there are ${this.#slots} slots`)
    const { promise, resolve, reject } = Promise.withResolvers<RunResult>()
    promise.catch(() => undefined)
    const at = (ms: number, work: () => void): void =>
      void clock.setTimer(clock.monotonic() + ms, () => {
        if (this.running.delete(me)) work()
      })
    if (run === 'passes') at(runMs, () => resolve(PASSED))
    else if (run === 'fails') at(runMs, () => resolve(FAILED))
    else if (run === 'throws') at(runMs, () => reject(new Accident(killed('ended early'))))
    return {
      result: promise,
      cancel: async () => at(endMs, () => reject(new Accident(killed('was killed')))),
    }
  }

  /** Whoever was hurt may have lost them; that it then fails is all that is wanted. */
  #needs(testId: string, what: string): void {
    if (this.#book.causesOf(testId).hurt) return
    if (!this.staged.has(testId)) this.#wrong(`${testId} ${what} without its directories`)
  }

  #scriptOf(testId: string): Script {
    return this.#script(this.#book.tests.get(testId)?.start?.bucket ?? '')
  }

  #script(bucket: string): Script {
    const script = this.#book.scripts.get(bucket)
    if (script === undefined) throw new Accident(fault('no-such-object', `no bundle at ${bucket}`))
    return script
  }
}

function testOf(directory: string): string {
  return directory.split('/')[2] ?? ''
}

function aborted(signal: AbortSignal): Promise<never> {
  return new Promise((_resolve, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true })
  })
}

function killed(words: string): ReturnType<typeof fault<'run-killed'>> {
  return fault('run-killed', `the run ${words}`)
}
