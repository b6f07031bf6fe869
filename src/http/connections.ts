/**
 * The connections of the server: how many there are, what is said on one that does not speak HTTP or
 * not in time, and how all of them come to an end.
 *
 * Up to the limit a connection is served; a few more are told that there are too many; the next are
 * closed and counted.
 */
import type { Server } from 'node:http'
import { Socket } from 'node:net'

import {
  Accident,
  assert,
  fault,
  freshTrace,
  type Clock,
  type Fault,
  type Log,
  type Random,
} from '../std/index.ts'
import { CONNECTIONS_SURPLUS_MAX, FAREWELL_MS, type HttpLimits } from './limits.ts'
import { problem, PROBLEM_TYPE } from './problem.ts'
import type { Traffic } from './traffic.ts'

type Surroundings = Readonly<{
  traffic: Traffic
  clock: Clock
  random: Random
  limits: HttpLimits
  log: Log
}>

export class Connections {
  readonly #server: Server
  readonly #around: Surroundings
  readonly #open: Set<Socket> = new Set()
  readonly #surplus: Set<Socket> = new Set()

  constructor(server: Server, around: Surroundings) {
    this.#server = server
    this.#around = around
    const { limits, traffic } = around
    server.maxConnections = limits.connections + CONNECTIONS_SURPLUS_MAX
    server.on('connection', (socket) => {
      if (socket instanceof Socket) this.#onConnection(socket) // another stream is an injected request
    })
    server.on('drop', () => traffic.connectionsDropped++)
    server.on('clientError', (error, socket) => {
      if (socket instanceof Socket) this.#onClientError(error, socket)
      else socket.destroy(error)
    })
  }

  async listen(
    at: Readonly<{ host: string; port: number }>,
  ): Promise<{ host: string; port: number }> {
    const server = this.#server
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    server.once('error', reject)
    server.listen({ host: at.host, port: at.port }, resolve)
    try {
      await promise
    } catch (error) {
      throw unavailable(at, error)
    } finally {
      server.removeListener('error', reject)
    }
    server.on('error', (error) => this.#around.log.error('the listener failed', { error }))
    const address = server.address()
    assert(typeof address === 'object' && address !== null, 'a listener has an address')
    return { host: address.address, port: address.port }
  }

  isSurplus(socket: Socket): boolean {
    return this.#surplus.size > 0 && this.#surplus.has(socket)
  }

  /** Takes no more, waits for answers that are owed, and after `graceMs` ends the rest. */
  async close(graceMs: number): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#server.close(() => resolve()) // and those that are kept without a request
    // Node waits for the first request of a connection that never sent a byte.
    for (const socket of this.#open) if (socket.bytesRead === 0) socket.destroy()
    const { clock } = this.#around
    const timer = clock.setTimer(clock.monotonic() + graceMs, () =>
      this.#server.closeAllConnections(),
    )
    await promise
    timer.cancel()
  }

  #onConnection(socket: Socket): void {
    const { limits, traffic } = this.#around
    this.#open.add(socket)
    traffic.connectionsAccepted++
    traffic.connections = this.#open.size
    if (this.#open.size > limits.connections) this.#surplus.add(socket)
    socket.once('close', () => {
      this.#open.delete(socket)
      this.#surplus.delete(socket)
      traffic.connections = this.#open.size
    })
  }

  /** What came is not a request, or did not come in time; the connection is of no further use. */
  #onClientError(error: NodeJS.ErrnoException, socket: Socket): void {
    const { clock, traffic, random } = this.#around
    if (error.code === 'ECONNRESET' || !socket.writable) return void socket.destroy()
    const [status, refusal] = refusalOf(error.code)
    traffic.refused(refusal.code)
    const { body } = problem(status, refusal, { traceId: freshTrace(random).traceId })
    // An answer that has begun cannot become another one.
    if (hasBegun(socket)) return void socket.destroy()
    const text = JSON.stringify(body)
    socket.end(
      `HTTP/1.1 ${status} ${REASONS[status]}\r\nconnection: close\r\ncontent-type: ${PROBLEM_TYPE}\r\n` +
        `content-length: ${Buffer.byteLength(text)}\r\n\r\n${text}`,
    )
    // Closing with input unread would reset the connection, and the caller might never see the answer.
    socket.resume()
    const timer = clock.setTimer(clock.monotonic() + FAREWELL_MS, () => socket.destroy())
    socket.once('close', () => timer.cancel())
  }
}

// Node has them all, but importing them loads everything that its module can do.
const REASONS: Readonly<Record<number, string>> = {
  400: 'Bad Request',
  408: 'Request Timeout',
  431: 'Request Header Fields Too Large',
}

function refusalOf(code: string | undefined): readonly [status: number, refusal: Fault] {
  if (code === 'HPE_HEADER_OVERFLOW')
    return [
      431,
      fault('header-too-large', 'the headers are larger than the server takes', {
        remedy: 'send smaller headers',
      }),
    ]
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT')
    return [
      408,
      fault('request-overdue', 'the request did not arrive in time', {
        remedy: 'send it faster, or in smaller parts',
      }),
    ]
  return [
    400,
    fault('bad-input', 'what was sent is not an HTTP request', {
      missing: [],
      invalid: ['request'],
      expected: { request: 'HTTP/1.1' },
      remedy: 'speak HTTP/1.1',
    }),
  ]
}

function hasBegun(socket: Socket): boolean {
  // Node keeps the answer that is being written here, and has no other way to ask.
  const current: unknown = Reflect.get(socket, '_httpMessage')
  return (
    typeof current === 'object' && current !== null && Reflect.get(current, 'headersSent') === true
  )
}

function unavailable(
  { host, port }: Readonly<{ host: string; port: number }>,
  cause: unknown,
): Accident {
  return new Accident(
    fault('address-unavailable', `the server cannot listen on ${host}:${port}`, {
      host,
      port,
      remedy: 'stop what is listening there, or choose another address',
    }),
    { cause },
  )
}
