import assert from 'node:assert/strict'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { describe, test } from 'node:test'

import { random, systemClock } from '../../src/std/index.ts'
import { httpTransport, remoteLocations, TRACKED_ROLE } from '../../src/stock/index.ts'
import { LOCATION_BODY_BYTES_MAX } from '../../src/stock/locations/transport.ts'

type Served = AsyncDisposable & Readonly<{ url: string; connections: () => number }>

async function serving(listener: RequestListener): Promise<Served> {
  const server = createServer(listener)
  let connections = 0
  server.on('connection', () => connections++)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- it listens on a port
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}`,
    connections: () => connections,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

const TIMES = { headers: {}, connectMs: 1_000, requestMs: 2_000 }

describe('the transport to a location service', () => {
  test('carries headers there and back, over one connection', async () => {
    await using served = await serving(({ headers, url }, response) => {
      response.setHeader('Cache-Control', 'max-age=60')
      response.end(JSON.stringify({ trace: headers['traceparent'], url }))
    })
    const { get, close } = httpTransport(systemClock)
    for (let n = 0; n < 3; n++) {
      const headers = { traceparent: `t-${n}` }
      const response = await get({ ...TIMES, headers, url: `${served.url}/locations/a%2Fb` })
      assert.equal(response.status, 200)
      assert.equal(response.headers['cache-control'], 'max-age=60')
      assert.deepEqual(JSON.parse(response.body), { trace: `t-${n}`, url: '/locations/a%2Fb' })
    }
    assert.equal(served.connections(), 1)
    close()
  })

  test('gives up on whoever does not answer in time, or does not finish', async () => {
    await using silent = await serving(() => undefined)
    await using slow = await serving((_, response) => void response.write('['))
    const { get, close } = httpTransport(systemClock)
    for (const { url } of [silent, slow])
      await assert.rejects(get({ ...TIMES, url, requestMs: 50 }), /no answer within 50 ms|aborted/)
    close()
  })

  test('gives up on whoever is not there, and on an answer without end', async () => {
    const gone = await serving(() => undefined)
    await gone[Symbol.asyncDispose]()
    await using endless = await serving((_, response) => {
      response.end(Buffer.alloc(LOCATION_BODY_BYTES_MAX + 1, ' '))
    })
    await using long = await serving((_, response) => {
      response.end(Buffer.alloc(LOCATION_BODY_BYTES_MAX, ' '))
    })
    const { get, close } = httpTransport(systemClock)
    await assert.rejects(get({ ...TIMES, url: gone.url }), { code: 'ECONNREFUSED' })
    await assert.rejects(get({ ...TIMES, url: endless.url }), { code: 'upstream-unavailable' })
    const { body } = await get({ ...TIMES, url: long.url })
    assert.equal(body.length, LOCATION_BODY_BYTES_MAX)
    close()
  })

  test('is what places are found over', async () => {
    await using served = await serving(({ url }, response) => {
      const id = decodeURIComponent(url!.split('/')[2]!)
      response.statusCode = id === 'none' ? 404 : 200
      response.end(JSON.stringify({ id, roles: [TRACKED_ROLE] }))
    })
    const { get, close } = httpTransport(systemClock)
    const remote = remoteLocations({
      baseUrl: served.url,
      transport: get,
      clock: systemClock,
      random: random(1),
    })
    assert.deepEqual(await remote.find('a/b'), { id: 'a/b', roles: [TRACKED_ROLE], children: [] })
    assert.equal(await remote.find('none'), undefined)
    close()
  })
})
