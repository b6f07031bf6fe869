/**
 * A wire of its own on the same port: what speaks another protocol than routes do is asked for before
 * them, reads bytes and answers text. The http layer keeps to itself who may connect, how much a body
 * may have, how long an answer may take, how all ends, and what is counted.
 */
import type { IncomingMessage, Server, ServerResponse } from 'node:http'

import { fault, type Fault } from '../std/index.ts'
import { bodyTooLarge, judge, type Gate } from './admission.ts'
import type { Desk, Owed } from './exchange.ts'
import type { RouteTraffic } from './traffic.ts'

/** A request before its body was read. */
export type RawHead = Readonly<{
  method: string
  /** Path and query as they were sent. */
  url: string
  /** Names are in lower case. */
  headers: Readonly<Record<string, string | undefined>>
}>

export type RawRequest = RawHead &
  Readonly<{
    body: Buffer
    /** Aborts when the caller has left, when the time is up, and when the server drains. */
    signal: AbortSignal
  }>

export type RawReply = Readonly<{
  status: number
  /** Names and values in turn; how long the text is will be added. */
  head: readonly string[]
  text: string
  /** Under which of the service's labels it is counted. */
  label: string
}>

export interface RawService {
  /** Everything that an answer can be counted under. */
  readonly labels: readonly string[]
  readonly bodyBytesMax: number
  readonly answerMsMax: number
  /** Whether a request is for this wire; asked for every request of the server. */
  accepts(head: RawHead): boolean
  /** A promise that rejects, or a throw, is answered as `internal`. */
  answer(request: RawRequest): RawReply | Promise<RawReply>
  /** A refusal of the http layer in the words of the wire. */
  refuse(head: RawHead, refusal: Fault, status: number): RawReply
}

/** The service is asked first, and what it does not want goes to whoever listened before. */
export function serveBeside(server: Server, service: RawService, desk: Desk): void {
  const others = server.listeners('request')
  const traffic = new Map(
    service.labels.map((label) => [label, desk.traffic.of({ path: label, method: 'POST' })]),
  )
  const stand: Stand = { service, traffic, desk }
  server.removeAllListeners('request')
  server.on('request', (request, response) => {
    const head = headOf(request)
    if (service.accepts(head)) new RawExchange(stand, head, request, response).begin()
    else for (const other of others) Reflect.apply(other, server, [request, response])
  })
}

type Stand = Readonly<{
  service: RawService
  traffic: ReadonlyMap<string, RouteTraffic>
  desk: Desk
}>

/** Who calls is the wire's business, and it reads any kind of body. */
const GATE: Gate = {
  isOpen: true,
  permission: '',
  patterns: [],
  places: undefined,
  takesBody: false,
  upload: undefined,
  bodyBytesMax: 0,
  whileDraining: false,
}

class RawExchange implements Owed, RawRequest {
  readonly method: string
  readonly url: string
  readonly headers: Readonly<Record<string, string | undefined>>
  body: Buffer = NO_BYTES
  place = -1
  readonly #stand: Stand
  readonly #request: IncomingMessage
  readonly #response: ServerResponse
  readonly #startedMs: number
  readonly #dueMs: number
  #rest: Buffer[] | undefined = undefined
  #bytes = 0
  #abort: AbortController | undefined = undefined
  #isAnswered = false

  constructor(stand: Stand, head: RawHead, request: IncomingMessage, response: ServerResponse) {
    this.method = head.method
    this.url = head.url
    this.headers = head.headers
    this.#stand = stand
    this.#request = request
    this.#response = response
    this.#startedMs = stand.desk.clock.monotonic()
    this.#dueMs = this.#startedMs + stand.service.answerMsMax
  }

  get signal(): AbortSignal {
    if (this.#abort === undefined) {
      this.#abort = new AbortController()
      if (this.#response.closed || this.#stand.desk.isDraining()) this.#abort.abort()
      else this.#response.once('close', () => this.#abort?.abort())
    }
    return this.#abort.signal
  }

  begin(): void {
    const request = this.#request
    const { service, desk } = this.#stand
    const said = judge(GATE, desk, request, {})
    if ('refusal' in said) this.#turnAway(said.refusal, said.status)
    else if (Number(this.headers['content-length']) > service.bodyBytesMax) this.#tooLarge()
    request.on('data', (chunk: Buffer) => this.#take(chunk))
    request.on('end', () => this.#serve())
  }

  look(nowMs: number): void {
    if (nowMs < this.#dueMs) return
    this.#refuse(fault('answer-overdue', 'the answer took too long'), 503)
    this.#abort?.abort()
  }

  /** Whoever waits for nothing but news is told that there are none. */
  drain(): void {
    this.#abort?.abort()
  }

  #take(chunk: Buffer): void {
    if (this.#isAnswered) return // what is left of a body is read so that the answer can be seen
    this.#bytes += chunk.length
    if (this.#bytes > this.#stand.service.bodyBytesMax) return this.#tooLarge()
    if (this.#bytes === chunk.length) this.body = chunk
    else (this.#rest ??= [this.body]).push(chunk)
  }

  #serve(): void {
    if (this.#isAnswered) return
    if (this.#rest !== undefined) this.body = Buffer.concat(this.#rest, this.#bytes)
    const { service, desk } = this.#stand
    try {
      const reply = service.answer(this)
      if (!(reply instanceof Promise)) return this.#answer(reply)
      desk.pending.add(this)
      desk.onOwed()
      reply.then(
        (later) => this.#answer(later),
        (error: unknown) => this.#fail(error),
      )
    } catch (error) {
      this.#fail(error)
    }
  }

  #tooLarge(): void {
    const { refusal, status } = bodyTooLarge(this.#stand.service.bodyBytesMax)
    this.#turnAway(refusal, status)
  }

  #turnAway(refusal: Fault, status: number): void {
    this.body = NO_BYTES
    this.#rest = undefined
    this.#refuse(refusal, status)
  }

  #refuse(refusal: Fault, status: number): void {
    if (this.#isAnswered) return
    this.#stand.desk.traffic.refused(refusal.code)
    this.#answer(this.#stand.service.refuse(this, refusal, status))
  }

  #fail(error: unknown): void {
    if (this.#isAnswered) return
    this.#stand.desk.log.error('a wire failed', { error })
    this.#refuse(fault('internal', 'the server failed to answer'), 500)
  }

  #answer({ status, head, text, label }: RawReply): void {
    if (this.#isAnswered) return
    this.#isAnswered = true
    const { desk, traffic } = this.#stand
    desk.pending.delete(this)
    const response = this.#response
    if (!response.destroyed) {
      const whole = [...head, 'content-length', String(Buffer.byteLength(text))]
      if (desk.isDraining() || desk.isSurplus(this.#request)) whole.push('connection', 'close')
      response.writeHead(status, whole)
      response.end(text)
    }
    const tookMs = desk.clock.monotonic() - this.#startedMs
    traffic.get(label)?.count(status, tookMs)
    if (desk.logRequests)
      desk.log.info('request', { method: this.method, route: label, status, tookMs })
  }
}

const NO_BYTES = Buffer.alloc(0)

function headOf({ method = 'GET', url = '/', headers }: IncomingMessage): RawHead {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- only set-cookie, of answers, is a list
  return { method, url, headers: headers as RawHead['headers'] }
}
