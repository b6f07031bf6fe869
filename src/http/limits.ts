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

/** From the first byte of a request to its last; and, from there, until it is answered. */
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

/** Fields of a query. */
export const QUERY_FIELDS_MAX = 100

/** Silence after which a stream writes its heartbeat. */
export const HEARTBEAT_MS = 15_000

/** How long a caller may take nothing of what is written to it, before its connection is closed. */
export const STALL_MS = 30_000

/** How long a caller that was refused without having finished has to read why. */
export const FAREWELL_MS = 1_000

/** How often requests that are owed an answer are looked over for those that are overdue. */
export const OVERDUE_CHECK_MS = 1_000

/** When a caller may come back that was refused because the server is full or going down. */
export const RETRY_AFTER_MS = 1_000

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
