import assert from 'node:assert/strict'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { describe, test } from 'node:test'

import { askServer, readServer } from './asking-server.ts'

async function serving(
  status: number,
  body: string,
): Promise<AsyncDisposable & Readonly<{ url: string }>> {
  const server: Server = createServer((_, response) => response.writeHead(status).end(body))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    [Symbol.asyncDispose]: () => new Promise((resolve) => server.close(() => resolve())),
  }
}

async function text(url: string, bytesMax: number): Promise<string> {
  const pieces: Uint8Array[] = []
  for await (const piece of readServer(url, { token: undefined, bytesMax })) pieces.push(piece)
  return Buffer.concat(pieces).toString()
}

const FACTS = {
  missing: ['test-id'],
  invalid: ['outcome'],
  expected: { 'test-id': 'a text', outcome: 'one of passed, failed' },
  remedy: 'send what is expected',
}
const LINES =
  /answers 400: no\n {2}test-id is missing: it must be a text\n {2}outcome is wrong: it must be one of passed, failed; send what is expected$/

describe('a server that refuses', () => {
  test('is told with the fields that it names, in either kind of answer', async () => {
    for (const body of [
      { detail: 'no', code: 'bad-input', ...FACTS },
      { message: 'no', code: 'bad-input', details: FACTS },
    ]) {
      await using at = await serving(400, JSON.stringify(body))
      const asked = askServer(at.url, { method: 'GET', deadlineMs: 10_000 })
      await assert.rejects(asked, { code: 'server-refused', message: LINES })
    }
  })

  test('is told without any where it names none', async () => {
    await using at = await serving(500, 'oops')
    const asked = askServer(at.url, { method: 'GET', deadlineMs: 10_000 })
    await assert.rejects(asked, { message: /answers 500: it gives no reason; see the log/ })
  })
})

test('a server that is not there is told with how to start one', async () => {
  const { url } = await serving(200, '').then(async (at) => {
    await at[Symbol.asyncDispose]()
    return at
  })
  const asked = askServer(url, { method: 'GET', deadlineMs: 10_000 })
  await assert.rejects(asked, { code: 'server-unreachable', message: /flytower serve.*--url/ })
})

test('a file has as many bytes as were said, and no more', async () => {
  await using at = await serving(200, 'abcdef')
  assert.equal(await text(at.url, 6), 'abcdef')
  await assert.rejects(text(at.url, 5), { code: 'server-refused' })
})
