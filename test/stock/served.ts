/**
 * A served stock with a few places, for tests that send what nobody should.
 */
import assert from 'node:assert/strict'

import { TRACKED_ROLE } from '../../src/stock/index.ts'
import { send, type Answer, type Sent } from '../acceptance/client.ts'
import { startServer, type RunningServer, type Settings } from '../acceptance/server.ts'

export interface Served extends AsyncDisposable {
  readonly server: RunningServer
  ask(method: string, path: string, body?: unknown, headers?: Sent['headers']): Promise<Answer>
  /** A place that is tracked, unless said otherwise. */
  place(id: string, parent?: string, isTracked?: boolean): Promise<void>
  /** How many events there are in the journal since the server began. */
  events(): Promise<number>
  /** Ends it as one should, and starts it again on what it has kept. */
  restart(): Promise<void>
}

export async function serve(settings: Settings = {}): Promise<Served> {
  let server = await startServer(settings)
  const ask: Served['ask'] = (method, path, body, headers) =>
    send(server.url, {
      method,
      path,
      ...(body !== undefined && { body }),
      ...(headers !== undefined && { headers }),
    })
  return {
    get server() {
      return server
    },
    ask,
    async place(id, parent, isTracked = true) {
      const roles = isTracked ? [TRACKED_ROLE] : []
      const body = { roles, ...(parent !== undefined && { parent }) }
      const answer = await ask('PUT', `/locations/${encodeURIComponent(id)}`, body)
      assert.ok(answer.status === 200 || answer.status === 201, answer.text)
    },
    async events() {
      const { text } = await ask('GET', '/metrics')
      return Number(/^flytower_journal_events_total (\d+)$/m.exec(text)?.[1])
    },
    async restart() {
      const { code } = await server.stop('SIGTERM')
      assert.equal(code, 0)
      server = await startServer(settings, server.directory)
    },
    [Symbol.asyncDispose]: () => server.remove(),
  }
}
