/** The server as a process: how it begins, and all the ways in which it ends. */
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { createServer, type AddressInfo } from 'node:net'
import { join } from 'node:path'
import { describe, test, type TestContext } from 'node:test'

import { command, freshFolder, MAIN, Serving, serving } from './processes.ts'

const TRACKED = { roles: ['TrackedInventoryLocation'] }

async function send(url: string, method: string, body: unknown): Promise<number> {
  const answer = await fetch(url, {
    method,
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
  await answer.arrayBuffer()
  return answer.status
}

function delivery(n: number): object {
  return {
    requestId: `r-${n}`,
    supplierId: 's',
    supplierRef: 'r',
    deliveredAt: '2026-01-01T00:00:00Z',
    products: [{ productId: 'p', quantity: 1 }],
  }
}

async function levelAt(url: string): Promise<number> {
  const answer = await fetch(`${url}/locations/A/products/p`)
  const body = (await answer.json()) as { quantity: number }
  assert.equal(answer.status, 200, JSON.stringify(body))
  return body.quantity
}

/** Somebody who takes every call and answers none. */
async function silent(t: TestContext): Promise<Readonly<{ url: string; called: Promise<void> }>> {
  const called = Promise.withResolvers<void>()
  const server = createServer(() => called.resolve())
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening))
  t.after(() => server.close())
  const { port } = server.address() as AddressInfo
  return { url: `http://127.0.0.1:${port}`, called: called.promise }
}

describe('a server', () => {
  test('says where it is, where its data is and where its documents are', async (t) => {
    const data = join(freshFolder(t), 'data')
    const server = serving(t, '--data', data, '--port', '0')
    const url = await server.url()
    await server.says(new RegExp(`"data":"${data}"`))
    await server.says(new RegExp(`"docs":"${url}/docs"`))
    assert.equal((await fetch(`${url}/readyz`)).status, 200)
    assert.equal((await fetch(`${url}/docs`)).status, 200)
    server.child.kill('SIGINT')
    assert.equal(await server.ended, 0)
    assert.ok(!existsSync(join(data, 'server.json')))
  })

  test('that is told to end answers what it owes, loses nothing of it, and ends with 0', async (t) => {
    const data = join(freshFolder(t), 'data')
    const server = serving(t, '--data', data, '--port', '0')
    const url = await server.url()
    assert.equal(await send(`${url}/locations/A`, 'PUT', TRACKED), 201)

    let granted = 0
    const statuses = Array.from({ length: 300 }, async (_, n) => {
      try {
        const status = await send(`${url}/locations/A/deliveries`, 'POST', delivery(n))
        if (status === 201 && ++granted === 20) server.child.kill('SIGTERM')
        return status
      } catch {
        return 'unanswered' // it came when nobody listened any more
      }
    })
    const answered = await Promise.all(statuses)
    assert.equal(await server.ended, 0, server.lines.join('\n'))
    assert.deepEqual(
      [...new Set(answered)].filter((status) => ![201, 503, 'unanswered'].includes(status)),
      [],
    )

    const again = serving(t, '--data', data, '--port', '0')
    const level = await levelAt(await again.url())
    assert.ok(level >= granted, `${level} of ${granted}`)
    assert.ok(level <= answered.filter((status) => status !== 503).length)
    again.child.kill('SIGTERM')
    assert.equal(await again.ended, 0)
  })

  test('that is told so twice ends at once, and says what was left', async (t) => {
    const places = await silent(t)
    const set = [
      'shutdown.drain=9s',
      'shutdown.total=9s',
      'stock.locations.source=remote',
      `stock.locations.url=${places.url}`,
      'stock.locations.timeout=1h',
    ]
    const server = serving(t, '--memory', '--port', '0', '--set', ...set)
    void fetch(`${await server.url()}/locations/A`).catch(() => undefined)
    await places.called // somebody is owed an answer
    server.child.kill('SIGTERM')
    await server.says(/"msg":"stopping"/)
    server.child.kill('SIGINT')
    assert.equal(await server.ended, 130)
    await server.says(/"msg":"ended at once by a second signal".*/)
  })

  test('that meets an error nobody expected says so, and ends with 1', async (t) => {
    const bug = `process.on('SIGUSR2', () => setImmediate(() => { throw new Error('a bug') }))`
    const server = new Serving(t, [
      '--import',
      `data:text/javascript,${encodeURIComponent(bug)}`,
      MAIN,
      'serve',
      '--memory',
      '--port=0',
    ])
    await server.url()
    server.child.kill('SIGUSR2')
    assert.equal(await server.ended, 1)
    await server.says(/"level":"error".*a bug/)
    await server.says(/"msg":"stopped"/)
  })

  test('does not begin where somebody else listens, or where somebody else has the data', async (t) => {
    const { port } = new URL((await silent(t)).url)
    const taken = await command(['serve', '--memory', '--port', port])
    assert.equal(taken.code, 1)
    assert.match(taken.err, /^address-unavailable: .*\nwhat to do: /)

    const data = join(freshFolder(t), 'data')
    const first = serving(t, '--data', data, '--port', '0')
    await first.url()
    const second = await command(['serve', '--data', data, '--port', '0'])
    assert.equal(second.code, 1)
    assert.match(second.err, new RegExp(`^journal-in-use: .* process ${first.child.pid} on `))
  })

  test('listens beyond its machine only if callers have to say who they are', async (t) => {
    const refused = await command(['serve', '--memory', '--port', '0', '--host', '0.0.0.0'])
    assert.equal(refused.code, 2)
    assert.match(refused.err, /^open-to-all: .*\nwhat to do: set auth\.tokens/)

    const sha256 = createHash('sha256').update('secret').digest('hex')
    const tokens = JSON.stringify([{ name: 'ann', sha256, roles: ['viewer'] }])
    const set = ['--set', `auth.tokens=${tokens}`]
    const server = serving(t, '--memory', '--port', '0', '--host', '0.0.0.0', ...set)
    const url = (await server.url()).replace('0.0.0.0', '127.0.0.1')
    assert.equal((await fetch(`${url}/metrics`)).status, 401)
    const headers = { authorization: 'Bearer secret' }
    assert.equal((await fetch(`${url}/metrics`, { headers })).status, 200)
    assert.doesNotMatch(server.lines.join('\n'), /secret|[0-9a-f]{64}/)
  })

  test('whose disk fails acknowledges nothing more, and ends with 70', async (t) => {
    const data = join(freshFolder(t), 'data')
    const faults = ['strace', '-D', '-f', '-qq', '-o', '/dev/null', '-e', 'trace=fdatasync']
    // A few flushes are for what a server begins with.
    const inject = ['-e', 'inject=fdatasync:error=EIO:when=20+']
    const server = new Serving(
      t,
      [MAIN, 'serve', '--data', data, '--port', '0'],
      [...faults, ...inject],
    )
    const url = await server.url()
    const statuses: (number | string)[] = []
    for (let n = 0; n < 50; n++) {
      const put = send(`${url}/locations/L${n}`, 'PUT', TRACKED)
      statuses.push(await put.catch(() => 'unanswered'))
      if (statuses.at(-1) !== 201) break
    }
    assert.equal(await server.ended, 70, server.lines.join('\n'))
    await server.says(/the disk has failed/)

    const granted = statuses.filter((status) => status === 201).length
    const again = serving(t, '--data', data, '--port', '0')
    const found = await Promise.all(
      Array.from({ length: granted }, async (_, n) => {
        const answer = await fetch(`${await again.url()}/locations/L${n}`)
        return answer.status
      }),
    )
    assert.deepEqual(
      found.filter((status) => status !== 200),
      [],
    )
  })
})

describe('development', () => {
  test('needs no directory, and its log is for people', async (t) => {
    const server = new Serving(t, [MAIN, 'dev', '--port', '0'])
    const [, url] = await server.says(/INFO +server: flytower serves at (http:\S+)/)
    await server.says(/data=memory, nothing is kept/)
    await server.says(/node --watch/)
    assert.equal((await fetch(`${url}/readyz`)).status, 200)
    server.child.kill('SIGTERM')
    assert.equal(await server.ended, 0)
  })
})
