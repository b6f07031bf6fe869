/**
 * One run: a process, what it tells, and its end.
 *
 * The runner is outside of everything that steps can hold up: it kills the whole group of the process
 * when it is cancelled, eats too much, starts too many processes or does not end. A run counts as
 * passed only by what its messages say up to the last one; a process that ends before has failed,
 * whatever its exit code. When the result settles no process of the run is left and the evidence is
 * written.
 */
import { spawn, type ChildProcess } from 'node:child_process'
import { mkdtemp } from 'node:fs/promises'
import { Socket } from 'node:net'
import { dirname, join } from 'node:path'

import {
  Accident,
  fault,
  freshId,
  isoTime,
  PRODUCT,
  unreachable,
  type Clock,
  type Timer,
} from '../../std/index.ts'
import { chainOf, digestsOf } from '../evidence/digest.ts'
import { openRecording, type Recording } from '../evidence/recording.ts'
import { writeReports } from '../evidence/reports.ts'
import { writeFacts } from '../evidence/seal.ts'
import type { EvidenceFile } from '../record.ts'
import type { RunResult } from '../result.ts'
import { removeTree } from '../storage/staging.ts'
import { answer, lineReader, readLine, refusal, written, type Heard } from './channel.ts'
import { CODE, commandOf, versions } from './command.ts'
import { badSteps } from './load-error.ts'
import { createLogLines, type LineReader } from './log-lines.ts'
import { masked } from './masking.ts'
import { endMarked, familyOf, signal, weigh } from './processes.ts'
import type { Isolation, Run, RunHooks, RunJob, RunnerFault } from './runner.ts'
import { Tally } from './tally.ts'

export type RunLimits = Readonly<{
  /** Of all processes of a run together, without what they share. */
  memoryBytes: number
  processes: number
}>

export type RunSetting = Readonly<{
  isolation: () => Promise<Isolation>
  bubblewrap: string
  limits: RunLimits
  clock: Clock
}>

type StopReason = 'cancelled' | 'memory' | 'processes' | 'messages' | 'channel'
type Stop = Readonly<{ reason: StopReason; message: string }>

/** How often a run is weighed. */
export const RUN_WEIGHED_MS = 200

/** How long a run may take to end after its last message. */
export const RUN_ENDING_MS = 2_000

/** What steps of a run may ask for at a time. */
export const RUN_CALLS_MAX = 100

/** Of answers that the process of a run has not read yet. */
export const RUN_UNREAD_BYTES_MAX = 67_108_864

const SWEEP_MS = 10

export class ProcessRun implements Run {
  readonly result: Promise<RunResult>
  readonly #job: RunJob
  readonly #hooks: RunHooks
  readonly #setting: RunSetting
  readonly #mask: Readonly<{ text: (text: string) => string }>
  readonly #tally: Tally
  readonly #tags: string
  readonly #recording: Recording
  readonly #timers = new Set<Timer>()
  #child: ChildProcess | undefined
  #channel: Socket | undefined
  #isolation: Isolation = 'process'
  #calls = 0
  #stop: Stop | undefined
  #refusal: RunnerFault | undefined
  #hasEnded = false
  #exit: Readonly<{ exitCode: number | null; signalCode: string | null }> | undefined

  constructor(job: RunJob, hooks: RunHooks, setting: RunSetting) {
    this.#job = job
    this.#hooks = hooks
    this.#setting = setting
    this.#mask = { text: (text) => this.#asWritten(hooks.mask.text(text)) }
    this.#tags = job.tags ?? job.bundle.directive.tags ?? 'not @ignore'
    this.#tally = new Tally({ isDryRun: job.isDryRun, tags: this.#tags })
    this.#recording = openRecording(job.evidence)
    this.result = this.#run().catch((error: unknown) => {
      throw refusedBy(error)
    })
    this.result.catch(() => undefined) // whoever cancels need not look at it
  }

  async cancel(graceMs: number): Promise<void> {
    this.#end({ reason: 'cancelled', message: 'the run was cancelled' }, graceMs)
    await this.result.catch(() => undefined)
  }

  async #run(): Promise<RunResult> {
    const { clock } = this.#setting
    const startedAt = clock.now()
    const began = clock.monotonic()
    const { bundle, evidence } = this.#job
    let files: readonly EvidenceFile[] = []
    let stopped: Accident | undefined
    try {
      files = await digestsOf(bundle.directory)
      await this.#process()
      stopped = this.#failure()
    } catch (error) {
      stopped = refusedBy(error)
    }
    const millis = Math.round(clock.monotonic() - began)
    if (stopped !== undefined) this.#say(stopped.message)
    const unwritten = await this.#recording.close().then(
      () => undefined,
      (error: unknown) => refusedBy(error),
    )
    const unreported = await writeReports(evidence, stopped?.message)
    const failure = stopped ?? unwritten
    const result = this.#tally.result(millis)
    await writeFacts(evidence, {
      testId: this.#job.testId,
      startedAt: isoTime(startedAt),
      endedAt: isoTime(startedAt + millis),
      isolation: this.#isolation,
      tags: this.#tags,
      isDryRun: this.#job.isDryRun,
      versions: versions(),
      bundle: { sha256: chainOf('', files), files },
      ...(unreported !== undefined && { unreported }),
      ...(failure === undefined
        ? { result }
        : { error: { code: failure.code, message: failure.message } }),
    })
    if (failure !== undefined) throw failure
    return result
  }

  async #process(): Promise<void> {
    this.#isolation = await this.#setting.isolation()
    this.#say(`isolation: ${this.#isolation}`)
    await this.#runProcess()
  }

  async #runProcess(): Promise<void> {
    const { bundle, evidence, testId, isDryRun } = this.#job
    const { directive } = bundle
    const temporary = await mkdtemp(join(dirname(evidence), 'run-')) // gone with the rest if we are killed
    const mark = freshId()
    const command = commandOf({
      isolation: this.#isolation,
      bubblewrap: this.#setting.bubblewrap,
      bundle: bundle.directory,
      temporary,
      hasNetwork: directive.network,
      memoryBytes: this.#setting.limits.memoryBytes,
      parallel: directive.parallel,
      testId,
      mark,
    })
    try {
      if (this.#stop !== undefined) return // whoever stops it from here on finds a process
      const child = spawn(command.program, command.args, {
        cwd: bundle.directory,
        env: command.env,
        detached: true, // a group of its own, to be killed as one
        stdio: ['ignore', 'pipe', 'pipe', 'pipe', 'pipe'],
      })
      this.#child = child
      const exited = Promise.withResolvers<void>()
      const closed = Promise.withResolvers<void>()
      child.on('exit', (exitCode, signalCode) => {
        this.#exit = { exitCode, signalCode }
        exited.resolve()
      })
      child.on('close', closed.resolve)
      child.on('error', (error) => {
        this.#refusal ??= fault('run-refused', 'the process of the run cannot be started', {
          error: String(error),
        })
        exited.resolve()
        closed.resolve()
      })
      this.#listen(child)
      this.#tell(
        written({
          type: 'job',
          testId,
          directory: command.bundle,
          features: bundle.features,
          steps: directive.steps,
          tags: this.#tags,
          isDryRun,
          parallel: directive.parallel,
          retries: directive.retries,
        }),
      )
      this.#weighAgain(child)
      await exited.promise
      this.#kill() // whatever is left of its group
      await endMarked(mark, () => new Promise((resolve) => this.#later(SWEEP_MS, resolve)))
      this.#later(RUN_ENDING_MS, closed.resolve) // somebody else has its output, and may keep it
      await closed.promise
    } finally {
      for (const timer of this.#timers) timer.cancel()
      for (const stream of this.#child?.stdio ?? []) stream?.destroy()
      this.#child = undefined
      await removeTree(temporary)
    }
  }

  #listen(child: ChildProcess): void {
    const channel = child.stdio[3]
    if (!(channel instanceof Socket)) throw new Error('the channel of a run is a socket')
    this.#channel = channel
    const read = lineReader((line) => this.#hear(readLine(line)))
    channel.on('error', () => undefined) // it ends with its process, which is what counts
    channel.on('data', (chunk: Buffer) => {
      if (!read(chunk))
        this.#end({ reason: 'channel', message: 'the run sent a message that is too large' }, 0)
      if (!this.#recording.isBehind) return
      channel.pause()
      void this.#recording.caughtUp().then(() => channel.resume())
    })
    child.stdio[4]?.on('error', () => undefined)
    const lines = createLogLines({
      masked: () => this.#hooks.mask.stream(),
      onLine: (line) => this.#keep(this.#asWritten(line)),
    })
    for (const stream of [child.stdout, child.stderr]) {
      const reader: LineReader = lines.reader()
      stream?.on('data', (chunk: Buffer) => reader.write(chunk))
      stream?.on('end', () => reader.end())
    }
  }

  #hear(heard: Heard | undefined): void {
    if (heard === undefined)
      return this.#end({ reason: 'channel', message: 'the run sent what is no message' }, 0)
    switch (heard.type) {
      case 'message':
        return this.#message(heard.envelope)
      case 'call':
        void this.#serve(heard)
        return
      case 'bad-steps':
        this.#refusal ??= badSteps(this.#mask.text(heard.message))
        return this.#keep(this.#mask.text(heard.message))
      case 'refused':
        this.#refusal ??= fault('run-refused', 'cucumber refused to run', {
          error: this.#mask.text(heard.message),
        })
        return this.#keep(this.#mask.text(heard.message))
      case 'end':
        this.#hasEnded = true
        this.#later(RUN_ENDING_MS, () => this.#kill())
        return
      default:
        unreachable(heard)
    }
  }

  #message(envelope: Record<string, unknown>): void {
    const hidden = masked(envelope, this.#mask)
    if (!this.#recording.message(hidden))
      this.#end({ reason: 'messages', message: 'the run has attached more than it may' }, 0)
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- a record stays one
    if (this.#tally.add(hidden as Record<string, unknown>))
      this.#hooks.onProgress(this.#tally.progress())
  }

  async #serve({ id, name, input }: Extract<Heard, { type: 'call' }>): Promise<void> {
    if (this.#calls >= RUN_CALLS_MAX)
      return this.#tell(refusal(id, new Error('steps ask for too much at once')))
    this.#calls += 1
    try {
      this.#tell(answer(id, await this.#hooks.services.call(name, input)))
    } catch (error) {
      this.#tell(refusal(id, error))
    } finally {
      this.#calls -= 1
    }
  }

  #weighAgain(child: ChildProcess): void {
    this.#later(RUN_WEIGHED_MS, () => void this.#weigh(child))
  }

  async #weigh(child: ChildProcess): Promise<void> {
    const { bytes, processes } = await weigh(child.pid ?? 0)
    const { limits } = this.#setting
    if (bytes > limits.memoryBytes)
      this.#end({ reason: 'memory', message: 'the run took more memory than it may' }, 0)
    else if (processes > limits.processes)
      this.#end({ reason: 'processes', message: 'the run started too many processes' }, 0)
    else if (this.#child === child) this.#weighAgain(child)
  }

  #end(stop: Stop, graceMs: number): void {
    if (!this.#hasEnded) this.#stop ??= stop
    if (graceMs <= 0) return this.#kill()
    const pid = this.#child?.pid
    if (pid === undefined) return
    if (this.#isolation === 'process') signal(-pid, 'SIGTERM')
    // The first is bubblewrap, which would take all the others with it at once.
    else
      void familyOf(pid).then((family) =>
        family.slice(1).forEach((each) => signal(each, 'SIGTERM')),
      )
    this.#later(graceMs, () => this.#kill())
  }

  #kill(): void {
    if (this.#child?.pid !== undefined) signal(-this.#child.pid, 'SIGKILL')
  }

  #failure(): Accident | undefined {
    const { findings, features, isFinished } = this.#tally
    if (this.#refusal !== undefined) return new Accident(this.#refusal)
    if (findings.length > 0)
      return new Accident(
        fault('run-refused', `a feature cannot be read: ${findings[0]?.message ?? ''}`, {
          findings,
        }),
      )
    const isWhole = isFinished && this.#hasEnded
    const isLeft = this.#stop === undefined || this.#stop.reason === 'cancelled'
    if (isWhole && isLeft && features === this.#job.bundle.features.length) return undefined
    if (this.#stop !== undefined)
      return new Accident(fault('run-killed', this.#stop.message, { reason: this.#stop.reason }))
    if (isWhole)
      return new Accident(fault('run-refused', 'not every feature of the bundle was read'))
    return new Accident(
      fault('run-ended-early', 'the process of the run ended before the run did', {
        ...this.#exit,
        remedy: 'look in run.log for a step that exits, or for the error that ended it',
      }),
    )
  }

  #later(ms: number, callback: () => void): void {
    const { clock } = this.#setting
    const timer = clock.setTimer(clock.monotonic() + ms, () => {
      this.#timers.delete(timer)
      callback()
    })
    this.#timers.add(timer)
  }

  #tell(line: string): void {
    if (this.#channel?.writable !== true) return
    this.#channel.write(line)
    if (this.#channel.writableLength > RUN_UNREAD_BYTES_MAX)
      this.#end({ reason: 'channel', message: 'the run does not read what it has asked for' }, 0)
  }

  #say(line: string): void {
    this.#keep(this.#mask.text(`${PRODUCT}: ${line}`))
  }

  /** Paths as whoever wrote the bundle knows them. */
  #asWritten(text: string): string {
    const { directory } = this.#job.bundle
    return text.replaceAll(`${directory}/`, '').replaceAll(CODE, PRODUCT)
  }

  #keep(line: string): void {
    this.#recording.log(line)
    this.#hooks.onLog(line)
  }
}

/** A disk that is full, or a program that is not there. */
function refusedBy(error: unknown): Accident {
  if (error instanceof Accident) return error
  return new Accident(
    fault('run-refused', 'the run cannot be done here', { error: String(error) }),
    {
      cause: error,
    },
  )
}
