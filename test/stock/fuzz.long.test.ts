/** Ten servers, each with a history of its own: what one request costs grows with the history of its pot. */
import { test } from 'node:test'

import { withstands } from './fuzzing.ts'

const SERVERS = 10

test('200 000 requests that chance makes: no server fails', async (t) => {
  for (let server = 0; server < SERVERS; server++) await withstands(t, 200_000 / SERVERS)
})
