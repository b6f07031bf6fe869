/**
 * Every bound of the http layer. What reaches one is answered with a typed refusal or, where there
 * is nobody to answer, closed and counted.
 */

const KIB = 1024
const MIB = 1024 * KIB

/** The largest message of 1 MiB and what JSON puts around it. */
export const BODY_BYTES_DEFAULT: number = MIB + 64 * KIB

export const HEADER_BYTES_DEFAULT: number = 16 * KIB

export const HEADERS_DEFAULT = 100

/** From the connection, or from the first byte on a connection that was kept, to the last header. */
export const HEADER_MS_DEFAULT = 10_000

/** From there to the last byte of the body, and again for the answer. */
export const REQUEST_MS_DEFAULT = 30_000

/** Longer than the 60 s after which common load balancers drop a connection they keep. */
export const KEEP_ALIVE_MS_DEFAULT = 65_000

export const CONNECTIONS_DEFAULT = 15_000

/** Connections beyond the limit that are told so before they are closed; the next are only closed. */
export const CONNECTIONS_SURPLUS_MAX = 256

/** Objects and lists within each other in a body. */
export const JSON_DEPTH_MAX = 64

/** One segment of a path that is a parameter, as it was sent. */
export const PARAM_CHARS_MAX = 2_048

/** Fields that are named in one refusal of bad input; the rest is counted. */
export const ISSUES_NAMED_MAX = 256

export type HttpLimits = Readonly<{
  bodyBytes: number
  headerBytes: number
  headers: number
  headerMs: number
  requestMs: number
  keepAliveMs: number
  connections: number
}>

export const defaultLimits: HttpLimits = {
  bodyBytes: BODY_BYTES_DEFAULT,
  headerBytes: HEADER_BYTES_DEFAULT,
  headers: HEADERS_DEFAULT,
  headerMs: HEADER_MS_DEFAULT,
  requestMs: REQUEST_MS_DEFAULT,
  keepAliveMs: KEEP_ALIVE_MS_DEFAULT,
  connections: CONNECTIONS_DEFAULT,
}
