/** The world of a test orchestrator, made up: everything succeeds at once unless a test says otherwise. */
import { createHash } from 'node:crypto'

import type { Bundle, Directive } from '../../src/probe/bundle/directive.ts'
import type { ProbePorts, StagedTest } from '../../src/probe/children/ports.ts'
import type { EvidenceFile } from '../../src/probe/record.ts'
import type { RunResult } from '../../src/probe/result.ts'
import type { Run, RunHooks, RunJob } from '../../src/probe/runner/runner.ts'
import { Accident, fault } from '../../src/std/index.ts'

export const PASSED: RunResult = {
  passed: true,
  scenarioCount: 2,
  scenariosPassed: 2,
  scenariosFailed: 0,
  scenariosSkipped: 0,
  stepCount: 6,
  stepsPassed: 6,
  stepsFailed: 0,
  stepsSkipped: 0,
  stepsUndefined: 0,
  durationMillis: 12,
  failedScenarios: [],
}

export const FAILED: RunResult = {
  ...PASSED,
  passed: false,
  scenariosPassed: 1,
  scenariosFailed: 1,
  errorMessage: '1 scenario(s) failed',
  failedScenarios: [{ name: 'a', location: 'features/a.feature:3', error: 'expected 1, got 2' }],
}

const EVIDENCE = '[]'
export const FILES: readonly EvidenceFile[] = [
  {
    name: 'cucumber.json',
    bytes: EVIDENCE.length,
    sha256: createHash('sha256').update(EVIDENCE).digest('hex'),
  },
]

export const DIRECTIVE: Directive = {
  topics: [],
  tags: undefined,
  steps: [],
  secrets: [],
  exclusive: [],
  parallel: 1,
  retries: 0,
  testingMs: undefined,
  network: false,
}

/** A run that goes on until a test ends it. */
export class FakeRun implements Run {
  readonly job: RunJob
  readonly hooks: RunHooks
  readonly result: Promise<RunResult>
  isOver = false
  graceMs: number | undefined
  /** What ending it takes. */
  onCancel: (() => Promise<void>) | undefined
  readonly #settle: PromiseWithResolvers<RunResult> = Promise.withResolvers()

  constructor(job: RunJob, hooks: RunHooks) {
    this.job = job
    this.hooks = hooks
    this.result = this.#settle.promise
    this.result.catch(() => undefined)
  }

  finish(result: RunResult = PASSED): void {
    this.isOver = true
    this.#settle.resolve(result)
  }

  fail(error: unknown): void {
    this.isOver = true
    this.#settle.reject(error)
  }

  async cancel(graceMs: number): Promise<void> {
    this.graceMs = graceMs
    await this.onCancel?.()
    if (!this.isOver)
      this.fail(new Accident(fault('run-killed', 'the run was killed', { remedy: 'none' })))
  }
}

export class Fakes {
  readonly runs: FakeRun[] = []
  /** Directories that are there. */
  readonly staged: Set<string> = new Set()
  readonly stored: string[] = []
  /** What is open of producers and consumers. */
  readonly sessions: Set<string> = new Set()
  readonly secrets: Set<string> = new Set()
  /** Ends runs by itself. */
  onRun: ((run: FakeRun) => void) | undefined
  onFetch: (bucket: string) => Promise<void> = async () => undefined
  onStore: (bucket: string) => Promise<void> = async () => undefined
  onCredentials: () => Promise<void> = async () => undefined
  onOpen: (side: string) => Promise<void> = async () => undefined
  onLost: ((error: unknown) => void) | undefined
  directive: Directive = DIRECTIVE
  features: readonly string[] = ['features/a.feature']
  readonly ports: ProbePorts

  constructor() {
    const staged = this.staged
    const open = (testId: string): StagedTest => {
      staged.add(testId)
      return {
        bundle: `/staging/${testId}/bundle`,
        evidence: `/staging/${testId}/evidence`,
        remove: async () => void staged.delete(testId),
      }
    }
    this.ports = {
      bundleLimits: { files: 10, fileBytes: 10, totalBytes: 100 },
      staging: {
        open: async (testId) => open(testId),
        reopen: async (testId) => (staged.has(testId) ? open(testId) : undefined),
        sweep: async (kept) => {
          for (const testId of staged) if (!kept.has(testId)) staged.delete(testId)
        },
      },
      storage: {
        fetch: async (bucket) => this.onFetch(bucket),
        store: async (bucket, _directory, files) => {
          await this.onStore(bucket)
          this.stored.push(...files.map((name) => `${bucket}/evidence/${name}`))
        },
        read: async () => bytes(EVIDENCE),
      },
      readBundle: async (directory): Promise<Bundle> => ({
        directory,
        directive: this.directive,
        features: this.features,
      }),
      sealEvidence: async () => FILES,
      newMask: () => ({
        add: (value) => void this.secrets.add(value),
        text: (text) => {
          let masked = text
          for (const secret of this.secrets) masked = masked.replaceAll(secret, '[secret]')
          return masked
        },
        stream: () => ({ push: (piece) => piece, end: () => '' }),
      }),
      credentialsFor: async () => {
        await this.onCredentials()
        return { credentials: new Map(), secrets: new Map() }
      },
      openEvents: ({ testId }) => ({
        openProducing: async () => this.#open(`producer-${testId}`),
        openConsuming: async (_security, _signal, onLost) => {
          this.onLost = onLost
          return this.#open(`consumer-${testId}`)
        },
        services: () => ({ call: async () => null }),
        seal: async () => undefined,
      }),
      runner: {
        start: (job, hooks) => {
          const run = new FakeRun(job, hooks)
          this.runs.push(run)
          this.onRun?.(run)
          return run
        },
      },
      receiveUpload: async (testId) => ({ path: `upload:${testId}` }),
      removeUpload: async () => undefined,
    }
  }

  runOf(testId: string): FakeRun {
    const run = this.runs.findLast(({ job }) => job.testId === testId)
    if (run === undefined) throw new Error(`${testId} does not run`)
    return run
  }

  get running(): number {
    return this.runs.filter(({ isOver }) => !isOver).length
  }

  async #open(session: string): Promise<AsyncDisposable> {
    await this.onOpen(session)
    this.sessions.add(session)
    return { [Symbol.asyncDispose]: async () => void this.sessions.delete(session) }
  }
}

async function* bytes(text: string): AsyncGenerator<Uint8Array> {
  yield new TextEncoder().encode(text)
}
