/**
 * One request and its answer.
 *
 *   admitted ──▶ body read ──▶ served ──▶ answered
 *
 * An exchange is answered exactly once, whoever comes first: a refusal, the route, the clock, or the
 * caller by leaving. It is also the call that a route gets; what a route seldom asks for, such as a
 * log or a signal, is made when it does.
 */
import type { IncomingMessage, ServerResponse } from 'node:http'

import {
  Accident,
  childOf,
  fault,
  freshTrace,
  parseTraceparent,
  type Clock,
  type Fault,
  type Log,
  type Random,
  type TraceContext,
} from '../std/index.ts'
import { bodyTooLarge, judge, type Gate, type TurnedAway, type Verdict } from './admission.ts'
import { ANYBODY, type Authenticator, type Principal } from './auth.ts'
import { piecesOf, receive, type Receiver } from './body.ts'
import { parseBody } from './json-body.ts'
import { RETRY_AFTER_MS, type HttpLimits } from './limits.ts'
import type { Pending, Placed } from './pending.ts'
import { problem } from './problem.ts'
import { parseQuery, type RawQuery } from './query.ts'
import type { Call, RawParams, Reply, Route } from './route.ts'
import { badInput, readAll, type Issue } from './shape.ts'
import { Streaming } from './streaming.ts'
import type { RouteTraffic, Traffic } from './traffic.ts'
import { headOf, textOf, writeText } from './writing.ts'

/** A request that is owed an answer. */
export interface Owed extends Placed {
  /** Now and then, to see whether it is late. */
  look(nowMs: number): void
  drain(): void
}

/** What all exchanges of one server share. */
export type Desk = Readonly<{
  authenticator: Authenticator
  log: Log
  clock: Clock
  random: Random
  limits: HttpLimits
  statuses: Readonly<Record<string, number>>
  logRequests: boolean
  traffic: Traffic
  /** Those that are owed an answer. */
  pending: Pending<Owed>
  isDraining: () => boolean
  isSurplus: (request: IncomingMessage) => boolean
  /** One more is pending. */
  onOwed: () => void
}>

/** A route as the server needs it, worked out once. */
export type Entry = Readonly<{
  route: Route
  gate: Gate
  traffic: RouteTraffic
  readQuery: ((query: RawQuery) => Record<string, unknown>) | undefined
  answerMs: number
}>

export class Exchange implements Call, Owed, Receiver {
  readonly headers: Readonly<Record<string, string | undefined>>
  params: unknown
  query: unknown = undefined
  body: unknown = undefined
  principal: Principal = ANYBODY
  place = -1
  readonly #dueMs: number
  readonly #desk: Desk
  readonly #entry: Entry
  readonly #request: IncomingMessage
  readonly #response: ServerResponse
  readonly #sentParams: RawParams
  readonly #startedMs: number
  #trace: TraceContext | undefined = undefined
  #log: Log | undefined = undefined
  #abort: AbortController | undefined = undefined
  #stream: Streaming | undefined = undefined
  #isAnswered = false

  constructor(
    desk: Desk,
    entry: Entry,
    request: IncomingMessage,
    response: ServerResponse,
    params: RawParams,
  ) {
    this.#desk = desk
    this.#entry = entry
    this.#request = request
    this.#response = response
    this.#startedMs = desk.clock.monotonic()
    this.#dueMs = this.#startedMs + entry.answerMs
    this.params = params
    this.#sentParams = params
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- only set-cookie, of answers, is a list
    this.headers = request.headers as Readonly<Record<string, string | undefined>>
  }

  get url(): string {
    return this.#request.url ?? '/'
  }

  get pieces(): AsyncIterable<Uint8Array> {
    return piecesOf(this.#request, this.#entry.gate.bodyBytesMax)
  }

  get trace(): TraceContext {
    return (this.#trace ??= this.#traceFrom(parseTraceparent(this.headers['traceparent'])))
  }

  get log(): Log {
    const { traceId, spanId } = this.trace
    return (this.#log ??= this.#desk.log.child({ trace_id: traceId, span_id: spanId }))
  }

  get signal(): AbortSignal {
    if (this.#abort === undefined) {
      this.#abort = new AbortController()
      if (this.#response.closed || this.#isAnswered) this.#abort.abort()
      else this.#response.once('close', () => this.#abort?.abort())
    }
    return this.#abort.signal
  }

  /** Admitted, read and served. */
  begin(): void {
    const said = this.#judged()
    if (said instanceof Promise) this.#admitLater(said, () => this.#receive())
    else if ('refusal' in said) this.turnAway(said)
    else {
      this.principal = said
      this.#receive()
    }
  }

  /** Calls back if it may come in; if not, the refusal has been sent or will be. */
  admit(onAdmitted: () => void): void {
    const said = this.#judged()
    if (said instanceof Promise) this.#admitLater(said, onAdmitted)
    else this.#admitted(said, onAdmitted)
  }

  #judged(): Verdict | Promise<Verdict> {
    return judge(this.#entry.gate, this.#desk, this.#request, this.#sentParams)
  }

  #admitLater(said: Promise<Verdict>, go: () => void): void {
    said.then(
      (later) => this.#admitted(later, go),
      (error: unknown) => this.fail(error),
    )
  }

  #admitted(said: Verdict, go: () => void): void {
    if ('refusal' in said) return this.turnAway(said)
    this.principal = said
    go()
  }

  /** A body that nobody asked for is left to Node, which reads it so that the next request can be. */
  #receive(): void {
    const { takesBody, upload, bodyBytesMax } = this.#entry.gate
    if (takesBody && upload === undefined) receive(this.#request, bodyBytesMax, this)
    else this.serve(undefined)
  }

  onBody(bytes: Buffer): void {
    if (bytes.length === 0) return this.serve(undefined)
    const parsed = parseBody(bytes)
    if (parsed.ok) this.serve(parsed.value)
    else this.refuse(parsed, 400)
  }

  onTooLarge(): void {
    this.turnAway(bodyTooLarge(this.#entry.gate.bodyBytesMax))
  }

  onLeft(): void {
    this.left()
  }

  /** What is left of a body is read and forgotten by Node, so that the caller gets to see the answer. */
  turnAway({ refusal, status }: TurnedAway): void {
    this.refuse(refusal, status)
  }

  /** Reads what was sent and lets the route answer. */
  serve(body: unknown): void {
    const { route } = this.#entry
    try {
      const refusal = this.#read(body)
      if (refusal !== undefined) return this.refuse(refusal, 400)
      const reply = route.handle(this)
      if (!(reply instanceof Promise)) return this.answer(reply)
      this.#desk.pending.add(this)
      this.#desk.onOwed()
      reply.then(
        (later) => this.answer(later),
        (error: unknown) => this.fail(error),
      )
    } catch (error) {
      this.fail(error)
    }
  }

  /** Everything that is wrong is said at once. */
  #read(body: unknown): Fault<'bad-input'> | undefined {
    const { route, readQuery } = this.#entry
    const issues: Issue[] = []
    if (route.params !== undefined) this.params = readAll(route.params, this.params, issues)
    if (readQuery !== undefined) {
      const at = this.url.indexOf('?')
      const raw = parseQuery(at === -1 ? '' : this.url.slice(at + 1))
      if (raw === undefined)
        issues.push({ path: 'query', problem: 'invalid', expected: 'a query of encoded fields' })
      else this.query = readAll(route.query!, readQuery(raw), issues)
    }
    if (route.body !== undefined) {
      const before = issues.length
      this.body = readAll(route.body, body, issues)
      // Where every field may be left out, a body that got lost must not pass for one that says so,
      // unless the body as a whole may be left out.
      const isLost = (body === undefined || body === null) && !route.body.isOptional
      if (isLost && issues.length === before)
        issues.push({ path: 'body', problem: 'missing', expected: 'a JSON value' })
    }
    return issues.length === 0 ? undefined : badInput(issues)
  }

  answer(reply: Reply): void {
    if (this.#isAnswered) return
    try {
      if (reply.stream !== undefined && this.#request.method !== 'HEAD')
        return this.#startStream(reply, reply.stream)
      const text = textOf(reply, () => this.trace)
      this.#isAnswered = true
      this.#desk.pending.delete(this)
      // A head that Node refuses leaves nothing written, and is answered like any other failure.
      if (!this.#response.destroyed) writeText(this.#response, reply, text, this.#closes())
      this.#count(reply.status)
    } catch (error) {
      if (this.#response.headersSent) return void this.#response.destroy()
      this.#isAnswered = false
      this.fail(error)
    }
  }

  /** A refusal of the http layer, in the words of the feature if it has any. */
  refuse(refusal: Fault, status: number): void {
    this.#desk.traffic.refused(refusal.code)
    this.answer(this.#refusalOf(refusal, status))
  }

  #refusalOf(refusal: Fault, status: number): Reply {
    const said = this.#entry.route.refuse?.(refusal, status) ?? problem(status, refusal)
    const more = headersOf(status, refusal)
    return more === undefined ? said : { ...said, headers: { ...more, ...said.headers } }
  }

  /** What a route threw, or could not be written. */
  fail(error: unknown): void {
    if (this.#isAnswered) return
    if (this.#response.destroyed && !this.#request.complete) return this.left() // in the middle of its upload
    if (error instanceof Accident && error.code === 'body-too-large')
      return this.turnAway({ refusal: error.fault, status: 413 })
    const known = error instanceof Accident ? this.#desk.statuses[error.code] : undefined
    const { route } = this.#entry
    if (known !== undefined && error instanceof Accident) {
      const { code, message, detail } = error.fault
      const remedy = detail['remedy']
      this.log.warn('a route met an accident', { route: route.path, error })
      // What else is in the detail is for whoever runs the server.
      return this.refuse(
        { ok: false, code, message, detail: remedy === undefined ? {} : { remedy } },
        known,
      )
    }
    this.log.error('a route failed', { route: route.path, method: route.method, error })
    this.refuse(
      fault('internal', 'the server failed to answer', {
        remedy: 'try again, and report the trace id if it fails again',
      }),
      500,
    )
  }

  /** Whether the caller is still there, and still has time. */
  look(nowMs: number): void {
    if (this.#stream !== undefined) return
    if (this.#response.destroyed) this.left()
    else if (this.#dueMs <= nowMs) this.#overdue()
  }

  /** What the route may still answer goes nowhere. */
  #overdue(): void {
    this.refuse(
      fault('answer-overdue', 'the answer took too long, and what became of it is not known', {
        remedy: 'ask again with the same request id',
      }),
      503,
    )
    this.#abort?.abort()
  }

  /** The caller went away, in the middle of its request or before the answer. */
  left(): void {
    this.#isAnswered = true
    this.#desk.pending.delete(this)
    this.#response.destroy()
  }

  /** The server goes down: a stream and who waits for news end here, other answers are still waited for. */
  drain(): void {
    if (this.#stream === undefined && this.#entry.route.waits !== true) return
    this.#abort?.abort()
    this.#stream?.end()
  }

  #startStream(reply: Reply, stream: AsyncIterable<string | Uint8Array>): void {
    this.#isAnswered = true
    this.#desk.pending.add(this)
    this.#response.writeHead(reply.status, headOf(reply, this.#closes()))
    this.#stream = new Streaming(this.#response, stream, {
      heartbeat: reply.heartbeat,
      clock: this.#desk.clock,
      onEnd: (how, error) => {
        this.#desk.pending.delete(this)
        this.#abort?.abort()
        this.#count(reply.status)
        if (how === 'stalled') this.#desk.traffic.stalled++
        if (how === 'failed')
          this.log.error('a stream failed', { route: this.#entry.route.path, error })
      },
    })
  }

  #closes(): boolean {
    return this.#desk.isDraining() || this.#desk.isSurplus(this.#request)
  }

  #count(status: number): void {
    const tookMs = this.#desk.clock.monotonic() - this.#startedMs
    this.#entry.traffic.count(status, tookMs)
    if (!this.#desk.logRequests) return
    const { route } = this.#entry
    this.log.info('request', { method: this.#request.method, route: route.path, status, tookMs })
  }

  #traceFrom(parent: TraceContext | undefined): TraceContext {
    return parent === undefined ? freshTrace(this.#desk.random) : childOf(parent, this.#desk.random)
  }
}

function headersOf(status: number, refusal: Fault): Readonly<Record<string, string>> | undefined {
  if (status === 401) return { 'www-authenticate': 'Bearer' }
  if (status === 503) return { 'retry-after': String(Math.ceil(RETRY_AFTER_MS / 1_000)) }
  const { allow } = refusal.detail
  return typeof allow === 'string' ? { allow } : undefined
}
