/**
 * A stand-in for Vault that answers reads of a KV store of version 2 as its API documentation says, and
 * refuses everything else: another method, a missing header, a wrong token, mount or namespace.
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

export type VaultState = {
  token: string
  mount: string
  namespace: string | undefined
  /** By path below the mount; null is a version that was deleted. */
  secrets: Record<string, Record<string, unknown> | null>
  /** Paths that the policy of the token does not reach. */
  forbidden: string[]
  isSealed: boolean
  /** Answered instead, one after the other. */
  instead: ((response: ServerResponse) => void)[]
  requests: { url: string; headers: IncomingMessage['headers'] }[]
}

export type VaultServer = AsyncDisposable & Readonly<{ address: string; state: VaultState }>

export async function vaultServer(): Promise<VaultServer> {
  const state: VaultState = {
    token: 'hvs.root-token',
    mount: 'secret',
    namespace: undefined,
    secrets: {},
    forbidden: [],
    isSealed: false,
    instead: [],
    requests: [],
  }
  const server = createServer((request, response) => {
    state.requests.push({ url: request.url ?? '', headers: request.headers })
    const instead = state.instead.shift()
    if (instead === undefined) answer(state, request, response)
    else instead(response)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    address: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    state,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

export function send(
  response: ServerResponse,
  status: number,
  body: unknown,
  headers: Readonly<Record<string, string>> = {},
): void {
  response.writeHead(status, { 'content-type': 'application/json', ...headers })
  response.end(typeof body === 'string' ? body : JSON.stringify(body))
}

function answer(state: VaultState, request: IncomingMessage, response: ServerResponse): void {
  const { headers, method, url = '' } = request
  const errors = (status: number, ...messages: string[]): void =>
    send(response, status, { errors: messages })
  if (state.isSealed) return errors(503, 'Vault is sealed')
  if (headers['x-vault-request'] !== 'true') return errors(412, "missing 'X-Vault-Request' header")
  if (method !== 'GET') return errors(405, 'unsupported operation')
  if (headers['x-vault-namespace'] !== state.namespace) return errors(403, 'permission denied')
  if (headers['x-vault-token'] !== state.token) return errors(403, 'permission denied')
  const prefix = `/v1/${state.mount}/data/`
  if (!url.startsWith(prefix)) return errors(404, `no handler for route "${url}"`)
  const path = decodeURIComponent(url.slice(prefix.length))
  if (state.forbidden.includes(path)) return errors(403, 'permission denied')
  const stored = Object.hasOwn(state.secrets, path) ? state.secrets[path] : undefined
  if (stored === undefined) return errors(404)
  const isDeleted = stored === null
  send(response, isDeleted ? 404 : 200, {
    request_id: 'e3b1c1f0-0000-0000-0000-000000000000',
    lease_id: '',
    renewable: false,
    lease_duration: 0,
    data: {
      data: stored,
      metadata: {
        created_time: '2026-01-01T00:00:00.000000000Z',
        custom_metadata: null,
        deletion_time: isDeleted ? '2026-01-02T00:00:00.000000000Z' : '',
        destroyed: false,
        version: 3,
      },
    },
    wrap_info: null,
    warnings: null,
    auth: null,
    mount_type: 'kv',
  })
}
