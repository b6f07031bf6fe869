/**
 * What a runner and the process of a run say to each other: lines of JSON on a descriptor of its own,
 * so that nothing a step prints can be taken for it.
 *
 * The far end runs code of the bundle, so whatever comes from there is only believed as far as it is
 * checked here, and a line has a bound.
 */
import { Accident, fault, type Fault } from '../../std/index.ts'

/** Descriptors of the process of a run. */
export const CHANNEL_FD = 3
/** Ends when the runner is gone; nothing is ever written to it. */
export const LIFELINE_FD = 4

export type Told =
  | Readonly<{
      type: 'job'
      testId: string
      /** The bundle, as the process sees it. */
      directory: string
      features: readonly string[]
      steps: readonly string[]
      tags: string
      isDryRun: boolean
      parallel: number
      retries: number
    }>
  | Readonly<{ type: 'answer'; id: string; value: unknown }>
  | Readonly<{ type: 'refusal'; id: string; code: string; message: string }>

export type Heard =
  | Readonly<{ type: 'message'; envelope: Record<string, unknown> }>
  | Readonly<{ type: 'call'; id: string; name: string; input: unknown }>
  /** Step definitions could not be loaded. */
  | Readonly<{ type: 'bad-steps'; message: string }>
  /** Cucumber would not run at all. */
  | Readonly<{ type: 'refused'; message: string }>
  | Readonly<{ type: 'end' }>

/** One line of a run; a message has at most this with all that is attached to it. */
export const CHANNEL_LINE_BYTES_MAX = 8_388_608

/** Lists and objects within each other; what goes deeper costs a stack to whoever looks at it. */
export const CHANNEL_DEPTH_MAX = 100

/** Undefined for what is none of the lines there are. */
export function readLine(line: string): Heard | undefined {
  const heard = parsed(line)
  if (!isRecord(heard) || isDeeper(heard, CHANNEL_DEPTH_MAX)) return undefined
  const { type, envelope, id, name, input, message } = heard
  if (type === 'message' && isRecord(envelope)) return { type, envelope }
  if (type === 'call' && typeof id === 'string' && typeof name === 'string')
    return { type, id, name, input }
  if ((type === 'bad-steps' || type === 'refused') && typeof message === 'string')
    return { type, message }
  return type === 'end' ? { type } : undefined
}

export function written(line: Told | Heard): string {
  return `${JSON.stringify(line)}\n`
}

/** Cuts bytes into lines; false when one is longer than it may be, and then it is over. */
export function lineReader(onLine: (line: string) => void): (chunk: Buffer) => boolean {
  let parts: Buffer[] = []
  let length = 0
  return (chunk) => {
    let from = 0
    for (let at = chunk.indexOf(10); at !== -1; at = chunk.indexOf(10, from)) {
      if (length + at - from > CHANNEL_LINE_BYTES_MAX) return false
      parts.push(chunk.subarray(from, at))
      const line = Buffer.concat(parts).toString('utf8')
      parts = []
      length = 0
      from = at + 1
      onLine(line)
    }
    if (from < chunk.length) {
      parts.push(chunk.subarray(from))
      length += chunk.length - from
    }
    return length <= CHANNEL_LINE_BYTES_MAX
  }
}

/** What a step is told that asked for something, as far as a line has room for it. */
export function answer(id: string, value: unknown): string {
  const line = written({ type: 'answer', id, value })
  if (Buffer.byteLength(line) <= CHANNEL_LINE_BYTES_MAX) return line
  return refusal(
    id,
    new Accident(
      fault('answer-too-large', `the answer has more than ${CHANNEL_LINE_BYTES_MAX} bytes`, {
        remedy: 'ask for less at once',
      }),
    ),
  )
}

/** What a step is told when it is not given what it asked for. */
export function refusal(id: string, error: unknown): string {
  const reason: Fault | undefined = isRecord(error) ? (error as Partial<Accident>).fault : undefined
  const message = error instanceof Error ? error.message : String(error)
  return written({ type: 'refusal', id, code: reason?.code ?? 'failed', message })
}

export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function isDeeper(value: unknown, than: number): boolean {
  if (typeof value !== 'object' || value === null) return false
  return than === 0 || Object.values(value).some((each) => isDeeper(each, than - 1))
}

function parsed(line: string): unknown {
  try {
    return JSON.parse(line)
  } catch {
    return undefined
  }
}
