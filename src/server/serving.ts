/**
 * The life of a serving process: it says where it is, works until somebody wants it to end, and ends in
 * order.
 *
 *   first signal    refuse what comes, answer what is owed, make durable what was decided, end with 0
 *   second signal   end at once with 128 and its number, and say what was left
 *   an exception    say so, try to end in order, end with 1
 *   a failed disk   nothing is acknowledged any more; let the refusals out, end with 70
 */
import { FAILED_EXIT_CODE } from '../journal/index.ts'
import type { Accident, Clock, Log } from '../std/index.ts'
import type { Server } from './compose.ts'
import { EXIT } from './io.ts'
import { SIGNALS, withoutEcho, type EndingSignal } from './signals.ts'

/** What of a process is needed here, so that a test can be one. */
export interface Host {
  on(event: string, listener: (error: unknown) => void): unknown
  exit(code: number): void
}

export type Serving = Readonly<{
  log: Log
  clock: Clock
  host: Host
  /** How long an orderly end may take; what is not done by then is left. */
  stopMs: number
}>

/** Beyond the time that the parts have, so that they can say themselves what they gave up. */
const STOP_GRACE_MS = 1_000
/** How long those have who are owed an answer when the disk has failed: it is that nobody knows. */
const FAILED_MS_MAX = 500

/** From here on the process ends as the picture says; `server` is there once it has been composed. */
export class Life {
  readonly #serving: Serving
  #server: Server | undefined
  #isEnding = false

  constructor(serving: Serving) {
    this.#serving = serving
    const onSignal = withoutEcho(serving.clock, (signal) => this.#onSignal(signal))
    serving.host.on('SIGINT', () => onSignal('SIGINT'))
    serving.host.on('SIGTERM', () => onSignal('SIGTERM'))
    for (const event of ['uncaughtException', 'unhandledRejection'])
      serving.host.on(event, (error: unknown) => this.#onError(event, error))
  }

  take(server: Server): void {
    this.#server = server
  }

  onFailed(why: Accident): void {
    const { log, clock, host } = this.#serving
    const leave = (): void => host.exit(FAILED_EXIT_CODE)
    this.#isEnding = true
    log.error('the disk has failed and nothing is acknowledged any more', {
      component: 'server',
      code: why.code,
      error: why.fault.message,
      cause: why.detail['cause'] ?? why.cause,
    })
    clock.setTimer(clock.monotonic() + FAILED_MS_MAX, leave)
    void this.#server?.http.close(FAILED_MS_MAX).then(leave, leave)
  }

  #onSignal(signal: EndingSignal): void {
    const { log, host } = this.#serving
    if (this.#isEnding) {
      log.warn('ended at once by a second signal', { component: 'server', signal, ...this.#left() })
      host.exit(SIGNALS[signal])
      return
    }
    log.info('stopping', { component: 'server', signal, ...this.#left() })
    this.#end(EXIT.fine)
  }

  #onError(event: string, error: unknown): void {
    this.#serving.log.error('an error that nobody expected', { component: 'server', event, error })
    if (this.#isEnding) return
    this.#end(EXIT.trouble)
  }

  #end(code: number): void {
    const { log, clock, host, stopMs } = this.#serving
    this.#isEnding = true
    const beginMs = clock.monotonic()
    clock.setTimer(beginMs + stopMs + STOP_GRACE_MS, () => {
      log.error('it did not end in time', { component: 'server', ...this.#left() })
      host.exit(EXIT.trouble)
    })
    void this.#stop(code, beginMs)
  }

  async #stop(code: number, beginMs: number): Promise<void> {
    const { log, clock, host } = this.#serving
    try {
      const report = await this.#server?.stop()
      const tookMs = Math.round(clock.monotonic() - beginMs)
      log.info('stopped', { component: 'server', tookMs, ...report })
      host.exit(code)
    } catch (error) {
      log.error('it could not end in order', { component: 'server', error })
      host.exit(EXIT.trouble)
    }
  }

  #left(): Readonly<Record<string, unknown>> {
    return this.#server?.unfinished() ?? {}
  }
}
