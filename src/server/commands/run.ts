/**
 * `run BUNDLE`: runs a bundle here, without a server. Its evidence is in `evidence/` beside its features
 * afterwards.
 *
 * It ends with 0 where everything passed, with 1 where something failed, and with 2 where the bundle
 * could not be run. The first signal cancels the run, whose evidence so far is kept, and it ends with 128
 * and the number of that signal; the second ends it at once.
 */
import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'

import { memoryJournal } from '../../journal/index.ts'
import { createSystem } from '../../kernel/index.ts'
import { readBundle, type Probe, type TestStatus } from '../../probe/index.ts'
import { Accident, isFault, PRODUCT, silentLog, type Fault } from '../../std/index.ts'
import type { Asked } from '../cli.ts'
import { MEMORY } from '../config-keys.ts'
import type { Io } from '../io.ts'
import { probeFeature } from '../probe-feature.ts'
import { SIGNALS, withoutEcho, type EndingSignal } from '../signals.ts'
import { exitCodeOf, findingLines, resultText } from './test-text.ts'

export type RunOptions = Readonly<{ tags?: string; dryRun?: boolean }>

/** Longer than the orchestrator lets any end last. */
const ENDING_MS_MAX = 86_400_000

export async function runBundle(
  { config: { config }, json }: Asked,
  bundle: string,
  options: RunOptions,
  io: Io,
): Promise<number> {
  const { clock, environment } = io
  const directory = resolve(io.directory, bundle)
  using interruption = new Interruption(io)
  const journal = await memoryJournal({ clock })
  const system = createSystem({ name: PRODUCT, clock, log: silentLog })
  const feature = await probeFeature({
    config: { ...config, 'data.directory': MEMORY, 'probe.bundleRoots': [directory] },
    system,
    journal,
    clock,
    log: silentLog,
    environment,
  })
  try {
    const status = await run(feature.probe, directory, options, interruption.signal, io)
    const refusal = await refusalOf(status, directory)
    const findings = refusal?.detail['findings']
    if (json) io.out(`${JSON.stringify({ ...status, directory, findings }, undefined, 2)}\n`)
    else if (refusal !== undefined) io.out(`${refusalText(status, refusal)}\n`)
    else io.out(`${resultText(status, evidenceOf(status, directory))}\n`)
    return (status.outcome === 'cancelled' ? interruption.code : undefined) ?? exitCodeOf(status)
  } finally {
    await feature.close()
    await system.stop()
    await journal.close()
  }
}

async function run(
  probe: Probe,
  directory: string,
  { tags, dryRun }: RunOptions,
  cancelling: AbortSignal,
  io: Io,
): Promise<TestStatus> {
  const begun = granted(await probe.initialize())
  const { testId } = begun
  const over = new AbortController()
  const cancel = (): void => void probe.cancel(testId)
  cancelling.addEventListener('abort', cancel)
  if (cancelling.aborted) cancel()
  try {
    const changes = probe.changes({ testId, signal: over.signal, after: 0 })
    const started = granted(
      await probe.start(testId, {
        bucket: directory,
        ...(tags !== undefined && { tags }),
        ...(dryRun !== undefined && { dryRun }),
      }),
    )
    if (!started.accepted && !cancelling.aborted) throw new Error(started.message)
    for await (const change of changes) {
      if (change.type === 'progress') showProgress(change.progress, io)
      else if (ENDS.has(change.event.type)) break
    }
    if (io.isWatched) io.err('\r\u001b[K')
    // The evidence of a cancelled run is stored after that was said; then nothing runs any more.
    if (cancelling.aborted) await probe.drain({ deadlineMs: ENDING_MS_MAX })
    return granted(await probe.status(testId))
  } finally {
    over.abort()
  }
}

/** What signals want of a run: its end, and when they say it again, at once. */
class Interruption implements Disposable {
  readonly #cancelling = new AbortController()
  readonly #listener: (signal: EndingSignal) => void
  /** What it ends with; undefined while nobody wants it to. */
  code: number | undefined

  constructor({ clock, err, isWatched }: Io) {
    this.#listener = withoutEcho(clock, (signal) => {
      if (this.code !== undefined) process.exit(SIGNALS[signal])
      this.code = SIGNALS[signal]
      err(`${isWatched ? '\r\u001b[K' : ''}cancelling; a second signal ends it at once\n`)
      this.#cancelling.abort()
    })
    process.on('SIGINT', this.#listener).on('SIGTERM', this.#listener)
  }

  get signal(): AbortSignal {
    return this.#cancelling.signal
  }

  [Symbol.dispose](): void {
    process.off('SIGINT', this.#listener).off('SIGTERM', this.#listener)
  }
}

/** A test that ends with its bundle names one problem; here all of them can be told. */
async function refusalOf({ errorKind }: TestStatus, directory: string): Promise<Fault | undefined> {
  if (errorKind !== 'block-storage') return undefined
  const read = await readBundle(directory)
  return isFault(read) ? read : undefined
}

function refusalText({ errorCode, outcome }: TestStatus, refusal: Fault): string {
  return [`${errorCode}: the bundle is refused`, ...findingLines(refusal), outcome].join('\n')
}

const ENDS: ReadonlySet<string> = new Set(['completed', 'errored', 'cancelled'])

/** On one line that is written over, where somebody is looking. */
function showProgress(
  { scenarios, scenariosDone, scenariosFailed, step }: NonNullable<TestStatus['progress']>,
  io: Io,
): void {
  if (!io.isWatched) return
  const failed = scenariosFailed === 0 ? '' : `, ${scenariosFailed} failed`
  io.err(
    `\r\u001b[K${scenariosDone} of ${scenarios}${failed}${step === undefined ? '' : `  ${step}`}`,
  )
}

function evidenceOf({ evidence }: TestStatus, directory: string): string | undefined {
  return evidence === 'stored' ? pathToFileURL(`${directory}/evidence/`).href : undefined
}

function granted<T extends object>(answer: T): Exclude<T, Readonly<{ ok: false }>> {
  if (isFault(answer)) throw new Accident(answer)
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- it is no fault
  return answer as Exclude<T, Readonly<{ ok: false }>>
}
