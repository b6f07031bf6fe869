/**
 * Where a piece of work belongs in a distributed trace: W3C Trace Context, version 00.
 *
 * A header that breaks the rules counts as absent, because a caller's mistake must not fail the
 * request it came with. Ids are lower-case hex and never all zero.
 */
import type { Random } from './random.ts'

export type TraceContext = Readonly<{
  /** 32 hex digits, the same for everything one request causes. */
  traceId: string
  /** 16 hex digits, one for each step. */
  spanId: string
  sampled: boolean
}>

// A later version may append fields behind another dash; version ff is forbidden.
const TRACEPARENT = /^(?!ff)([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/
const ZEROS = /^0+$/
const TRACEPARENT_CHARS = 55

/** What was written last: it is mostly read again by whoever it was written for. */
let written: Readonly<{ header: string; trace: TraceContext }> | undefined

export function parseTraceparent(header: string | undefined): TraceContext | undefined {
  if (written !== undefined && header === written.header) return written.trace
  if (header === undefined || header.length < TRACEPARENT_CHARS) return undefined
  const found = TRACEPARENT.exec(header)
  if (found === null) return undefined
  const [, version, traceId = '', spanId = '', flags = '', more] = found
  if (version === '00' && more !== undefined) return undefined
  if (ZEROS.test(traceId) || ZEROS.test(spanId)) return undefined
  return { traceId, spanId, sampled: (Number.parseInt(flags, 16) & 1) === 1 }
}

/** A trace that begins here. */
export function freshTrace(random: Random): TraceContext {
  return { traceId: hex64(random) + hex64(random), spanId: hex64(random), sampled: false }
}

/** The next step of a trace: its id stays, the span is another. */
export function childOf(parent: TraceContext, random: Random): TraceContext {
  return { traceId: parent.traceId, spanId: hex64(random), sampled: parent.sampled }
}

export function traceparentOf(trace: TraceContext): string {
  const header = `00-${trace.traceId}-${trace.spanId}-${trace.sampled ? '01' : '00'}`
  written = { header, trace }
  return header
}

const WORD = 2 ** 32
/** Each byte in two digits. Every request has three such ids, and numbers take microseconds to become text. */
const BYTES: readonly string[] = Array.from({ length: 256 }, (_, byte) =>
  byte.toString(16).padStart(2, '0'),
)

function hex64(random: Random): string {
  // The highest bit is set so that no id is all zero.
  return hex32((random.below(WORD) | 0x8000_0000) >>> 0) + hex32(random.below(WORD))
}

function hex32(word: number): string {
  return (
    BYTES[word >>> 24]! +
    BYTES[(word >>> 16) & 255]! +
    BYTES[(word >>> 8) & 255]! +
    BYTES[word & 255]!
  )
}
