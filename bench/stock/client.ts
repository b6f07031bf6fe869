/**
 * The clients of the stock suite, in a process of their own: so many connections, each of which sends a
 * request, reads the whole answer and sends the next. Nothing is pipelined. It does as little as it can,
 * since it shares the machine with what it measures; an answer other than 201 ends the run.
 *
 * A task comes as a message and is answered with a message; every task has connections of its own.
 */
import { connect, type Socket } from 'node:net'
import { requestOf, type Finished, type Task } from './traffic.ts'

const READ_BYTES = 16_384
const HEAD_END = Buffer.from('\r\n\r\n')
const LENGTH = Buffer.from('\r\ncontent-length: ')
const LENGTH_UPPER = Buffer.from('\r\nContent-Length: ')
const STATUS_AT = 9
const ZERO = 48

export async function work(task: Task): Promise<Finished> {
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  let sent = 0
  let answered = 0
  let answerBytes = 0
  const next = (): string | undefined =>
    sent < task.count ? requestOf(task.kind, task.from + sent++, timeNow()) : undefined
  const onAnswer = (bytes: number): void => {
    answerBytes = bytes
    if (++answered === task.count) resolve()
  }
  const lanes = await Promise.all(
    Array.from({ length: task.connections }, () => lane(task, next, onAnswer, reject)),
  )
  const startedAt = performance.timeOrigin + performance.now()
  for (const { begin } of lanes) begin()
  try {
    await promise
  } finally {
    for (const { socket } of lanes) socket.destroy()
  }
  return { startedAt, endedAt: performance.timeOrigin + performance.now(), answerBytes }
}

type Lane = Readonly<{ socket: Socket; begin: () => void }>

function lane(
  { host, port }: Task,
  next: () => string | undefined,
  onAnswer: (bytes: number) => void,
  fail: (error: Error) => void,
): Promise<Lane> {
  const { promise, resolve, reject } = Promise.withResolvers<Lane>()
  const buffer = Buffer.allocUnsafe(READ_BYTES)
  /** What came of an answer that is not whole yet. */
  let before: Buffer | undefined
  const send = (): void => {
    const request = next()
    if (request !== undefined) socket.write(request, 'latin1')
  }
  const callback = (bytes: number): boolean => {
    const chunk = buffer.subarray(0, bytes)
    const answer = before === undefined ? chunk : Buffer.concat([before, chunk])
    const whole = lengthOf(answer)
    if (answer.length < whole) {
      before = Buffer.from(answer)
      return true
    }
    before = undefined
    if (answer.length > whole || !isCreated(answer)) {
      fail(new Error(`answered ${answer.toString('latin1')}`))
      return false
    }
    onAnswer(whole)
    send()
    return true
  }
  const socket = connect({ host, port, noDelay: true, onread: { buffer, callback } })
  socket.on('connect', () => resolve({ socket, begin: send }))
  socket.on('error', (error) => (reject(error), fail(error)))
  socket.on('close', () => fail(new Error('the server has closed a connection')))
  return promise
}

/** Bytes of the answer that begins here; Infinity as long as its head is not whole. */
function lengthOf(answer: Buffer): number {
  const end = answer.indexOf(HEAD_END)
  if (end === -1) return Infinity
  let at = answer.indexOf(LENGTH)
  if (at === -1) at = answer.indexOf(LENGTH_UPPER)
  if (at === -1) throw new Error('an answer does not say how long it is')
  let length = 0
  for (let n = at + LENGTH.length; answer[n]! >= ZERO; n++) length = length * 10 + answer[n]! - ZERO
  return end + HEAD_END.length + length
}

function isCreated(answer: Buffer): boolean {
  return (
    answer[STATUS_AT] === ZERO + 2 &&
    answer[STATUS_AT + 1] === ZERO &&
    answer[STATUS_AT + 2] === ZERO + 1
  )
}

let timeMs = 0
let timeText = ''

function timeNow(): string {
  const now = Date.now()
  if (now !== timeMs) {
    timeMs = now
    timeText = new Date(now).toISOString()
  }
  return timeText
}

if (import.meta.main)
  process.on('message', (task: Task) => {
    work(task).then(
      (finished) => process.send!(finished),
      (error: unknown) => process.send!({ error: String(error) }),
    )
  })
