/**
 * HTTP as nobody should speak it: bytes that the test decides, at the pace it decides.
 */
import { connect } from 'node:net'

import { systemClock } from '../../src/std/index.ts'
import { passing } from '../acceptance/until.ts'

export type RawAnswer = Readonly<{
  /** 0 where the connection ended without an answer. */
  status: number
  head: string
  text: string
  tookMs: number
}>

export type RawRequest = Readonly<{
  /** Sent one after the other. */
  pieces: Iterable<string | Buffer>
  /** Between two of them. */
  pauseMs?: number
}>

const ANSWER_MS_MAX = 60_000

/** Until the server has ended the connection or has answered in whole, whatever was sent by then. */
export function raw(url: string, { pieces, pauseMs = 0 }: RawRequest): Promise<RawAnswer> {
  const { hostname, port } = new URL(url)
  const begunMs = systemClock.monotonic()
  return new Promise((resolve, reject) => {
    const socket = connect(Number(port), hostname)
    const limit = systemClock.setTimer(begunMs + ANSWER_MS_MAX, () => {
      socket.destroy()
      reject(new Error(`no answer after ${ANSWER_MS_MAX} ms`))
    })
    const heard: Buffer[] = []
    let isOver = false
    const end = (): void => {
      if (isOver) return
      isOver = true
      limit.cancel()
      socket.destroy()
      resolve(answerIn(Buffer.concat(heard).toString('utf8'), systemClock.monotonic() - begunMs))
    }
    socket.on('data', (bytes) => {
      heard.push(bytes)
      if (isWhole(Buffer.concat(heard).toString('utf8'))) end()
    })
    socket.on('close', end)
    socket.on('error', end)
    socket.on('connect', () => {
      void (async () => {
        for (const piece of pieces) {
          if (isOver || !socket.writable) return
          socket.write(piece)
          if (pauseMs > 0) await passing(pauseMs)
        }
      })()
    })
  })
}

/** A request in one piece; the headers are lines. */
export function request(
  method: string,
  path: string,
  headers: readonly string[] = [],
  body: string | Buffer = '',
): Buffer {
  const head = [`${method} ${path} HTTP/1.1`, 'Host: localhost', 'Connection: close', ...headers]
  return Buffer.concat([Buffer.from(`${head.join('\r\n')}\r\n\r\n`, 'latin1'), Buffer.from(body)])
}

/** A POST of JSON with its length. */
export function post(path: string, body: string | Buffer, more: readonly string[] = []): Buffer {
  const length = Buffer.byteLength(body)
  const headers = ['Content-Type: application/json', `Content-Length: ${length}`, ...more]
  return request('POST', path, headers, body)
}

function isWhole(text: string): boolean {
  const [head = '', ...rest] = text.split('\r\n\r\n')
  const length = /^content-length: (\d+)/im.exec(head)?.[1]
  return length !== undefined && Buffer.byteLength(rest.join('\r\n\r\n')) >= Number(length)
}

function answerIn(text: string, tookMs: number): RawAnswer {
  const [head = '', ...rest] = text.split('\r\n\r\n')
  const status = Number(/^HTTP\/1\.1 (\d{3})/.exec(head)?.[1] ?? 0)
  return { status, head, text: rest.join('\r\n\r\n'), tookMs }
}
