/**
 * The limit of the stock suite: fastify with the same routes and nothing behind them. It reads the same
 * body and answers one of the same size, and that is all.
 *
 *     node bench/stock/bare.ts PORT HEADER_BYTES
 *
 * HEADER_BYTES are those that ours has more in the head of an answer.
 */
import fastify from 'fastify'

type Path = Readonly<{ location: string; product: string }>
type Sale = Readonly<{ requestId: string; quantity: number; soldAt: string }>
type Move = Readonly<{
  requestId: string
  destinationLocationId: string
  quantity: number
  reason: string
  movedAt: string
}>

const [, , port, headerBytesText] = process.argv
const headerBytes = Number(headerBytesText ?? 0)
const EMPTY_HEADER = 'x-fill: \r\n'.length
const fill = 'x'.repeat(Math.max(1, headerBytes - EMPTY_HEADER))

const app = fastify()
app.post<{ Params: Path; Body: Sale }>(
  '/locations/:location/products/:product/sales',
  async ({ params, body }, reply) => {
    reply.code(201)
    if (headerBytes > 0) reply.header('x-fill', fill)
    return {
      requestId: body.requestId,
      locationId: params.location,
      productId: params.product,
      quantitySold: body.quantity,
      soldAt: body.soldAt,
    }
  },
)
app.post<{ Params: Path; Body: Move }>(
  '/locations/:location/products/:product/movements',
  async ({ params, body }, reply) => {
    reply.code(201)
    if (headerBytes > 0) reply.header('x-fill', fill)
    return {
      requestId: body.requestId,
      sourceLocationId: params.location,
      destinationLocationId: body.destinationLocationId,
      productId: params.product,
      quantity: body.quantity,
      reason: body.reason,
      movedAt: body.movedAt,
    }
  },
)
await app.listen({ host: '127.0.0.1', port: Number(port) })
