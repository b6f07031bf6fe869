/**
 * What the clients of the stock suite send, as the bytes on the wire. Ours and the limit are sent the
 * same; only the host and the number in the request id differ from one request to the next.
 */

export type Kind = 'sales' | 'moves'

export type Task = Readonly<{
  host: string
  port: number
  kind: Kind
  connections: number
  /** The first request has this number, and no other run has any of them. */
  from: number
  count: number
}>

export type Finished = Readonly<{
  /** In milliseconds since the epoch, with fractions: clocks of two processes are compared. */
  startedAt: number
  endedAt: number
  /** Bytes of one answer, head and body. */
  answerBytes: number
}>

export const LOCATIONS: readonly [string, string] = ['bench-store-a', 'bench-store-b']
export const PRODUCTS = 1_000
/** A prime to PRODUCTS, so that requests that follow each other are for pots far from each other. */
const STRIDE = 381

const ID_DIGITS = 12

export function productOf(index: number): string {
  return `product-${String((index * STRIDE) % PRODUCTS).padStart(4, '0')}`
}

/** Moves go to and fro, so that there is always enough to be moved. */
export function requestOf(kind: Kind, index: number, at: string): string {
  const product = productOf(index)
  const requestId = `${kind}-${String(index).padStart(ID_DIGITS, '0')}`
  if (kind === 'sales')
    return post(
      `/locations/${LOCATIONS[0]}/products/${product}/sales`,
      `{"requestId":"${requestId}","quantity":1,"soldAt":"${at}"}`,
    )
  const isBack = Math.floor(index / PRODUCTS) % 2
  return post(
    `/locations/${LOCATIONS[isBack]}/products/${product}/movements`,
    `{"requestId":"${requestId}","destinationLocationId":"${LOCATIONS[1 - isBack]}","quantity":1,"reason":"replenishment","movedAt":"${at}"}`,
  )
}

/** All of it is ASCII, so characters are bytes. */
export function post(path: string, body: string): string {
  return `POST ${path} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`
}
