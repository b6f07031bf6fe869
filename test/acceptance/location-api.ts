/**
 * The other service that knows the places: a real HTTP server in the process of the test, with a
 * tree that the test decides, and with the failures it is told to have. Every request is noted.
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'

import { systemClock } from '../../src/std/index.ts'

export type Place = {
  parent: string | undefined
  roles: string[]
  cacheControl: string | undefined
}

export type Asked = Readonly<{
  path: string
  /** The place it is about, if it is about one. */
  place: string | undefined
  atMs: number
  traceparent: string | undefined
}>

/** What becomes of the next requests about places, each used up by one; then all is well. */
export type Trouble = 'fails' | 'silent'

export interface LocationApi {
  readonly url: string
  readonly asked: readonly Asked[]
  readonly places: Map<string, Place>
  /** Infinity for every request from here on; 0 ends what was told before. */
  trouble(kind: Trouble, times: number): void
  close(): Promise<void>
}

type Node = { id: string; roles: string[]; children: Node[] }

export async function startLocationApi(): Promise<LocationApi> {
  const asked: Asked[] = []
  const places = new Map<string, Place>()
  const coming: { kind: Trouble; times: number } = { kind: 'fails', times: 0 }
  const held = new Set<ServerResponse>()

  const server: Server = createServer((request, response) => {
    const { path, place, read } = readingOf(request)
    const atMs = systemClock.monotonic()
    const traceparent = request.headers['traceparent'] as string | undefined
    if (place !== undefined) asked.push({ path, place, atMs, traceparent })
    if (place !== undefined && coming.times > 0) {
      coming.times -= 1
      if (coming.kind === 'fails') return send(response, 503, { status: 'Unavailable' })
      held.add(response)
      return
    }
    answer(places, place, read, request, response)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}`,
    asked,
    places,
    trouble: (kind, times) => Object.assign(coming, { kind, times }),
    async close() {
      server.closeAllConnections()
      server.close()
      if (server.listening) await once(server, 'close')
    },
  }
}

function readingOf(request: IncomingMessage): {
  path: string
  place: string | undefined
  read: string
} {
  const path = new URL(request.url ?? '/', 'http://here').pathname
  const found = /^\/locations\/([^/]+)(?:\/(children|path))?$/.exec(path)
  return {
    path,
    place: found === null ? undefined : decodeURIComponent(found[1]!),
    read: found?.[2] ?? 'place',
  }
}

function answer(
  places: ReadonlyMap<string, Place>,
  id: string | undefined,
  read: string,
  request: IncomingMessage,
  response: ServerResponse,
): void {
  if (id === undefined) {
    const path = new URL(request.url ?? '/', 'http://here').pathname
    return send(response, path === '/health' ? 200 : 404, { status: 'UP' })
  }
  const place = places.get(id)
  if (place === undefined) return send(response, 404, { status: 'LocationNotFound' })
  const depth = Number(new URL(request.url!, 'http://here').searchParams.get('depth') ?? Infinity)
  const headers: Record<string, string> =
    place.cacheControl === undefined ? {} : { 'cache-control': place.cacheControl }
  if (read === 'path') return send(response, 200, pathTo(places, id), headers)
  return send(response, 200, nodeOf(places, id, read === 'place' ? 1 : depth), headers)
}

function nodeOf(places: ReadonlyMap<string, Place>, id: string, depth: number): Node {
  const children = [...places].filter(([, { parent }]) => parent === id)
  return {
    id,
    roles: places.get(id)!.roles,
    children: depth <= 0 ? [] : children.map(([child]) => nodeOf(places, child, depth - 1)),
  }
}

function pathTo(places: ReadonlyMap<string, Place>, id: string): { id: string; roles: string[] }[] {
  const { parent, roles } = places.get(id)!
  const above = parent === undefined ? [] : pathTo(places, parent)
  return [...above, { id, roles }]
}

function send(
  response: ServerResponse,
  status: number,
  body: unknown,
  headers: Readonly<Record<string, string>> = {},
): void {
  response.writeHead(status, { 'content-type': 'application/json', ...headers })
  response.end(JSON.stringify(body))
}
