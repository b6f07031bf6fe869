/**
 * A server in a process of its own, as the suites see it: where it listens, when it has become idle,
 * and that it is gone afterwards.
 */
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { request } from 'node:http'
import { connect, createServer } from 'node:net'
import { join } from 'node:path'

const MAIN = join(import.meta.dirname, '..', '..', 'src', 'server', 'main.ts')
const BARE = join(import.meta.dirname, 'bare.ts')
const METER = join(import.meta.dirname, 'meter.ts')
const HOST = '127.0.0.1'
const READY_MS_MAX = 10_000
const POLL_MS = 2

export type Server = Readonly<{
  host: string
  port: number
  /** Settles with when the whole process became idle, in milliseconds since the epoch. */
  quietSince: () => Promise<number>
  stop: () => Promise<void>
}>

/** Our server as anybody would start it, on a directory of its own, with these settings. */
export async function startOurs(
  directory: string,
  settings: Readonly<Record<string, string>>,
): Promise<Server> {
  const port = await freePort()
  const env = {
    FLYTOWER_LISTEN_HOST: HOST,
    FLYTOWER_LISTEN_PORT: String(port),
    FLYTOWER_DATA_DIRECTORY: join(directory, 'data'),
    ...settings,
  }
  return started([MAIN, 'serve'], env, port, '/readyz')
}

/** The limit; `headerBytes` are those that ours has more in the head of an answer. */
export async function startBare(headerBytes: number): Promise<Server> {
  const port = await freePort()
  return started([BARE, String(port), String(headerBytes)], {}, port, '/')
}

/** It is there once it answers at that path; without a path, once it listens. */
export async function started(
  args: readonly string[],
  env: Readonly<Record<string, string>>,
  port: number,
  path?: string,
): Promise<Server> {
  const child = spawn(process.execPath, ['--import', METER, ...args], {
    stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
    env: { ...process.env, ...env },
  })
  const errors: Buffer[] = []
  child.stderr!.on('data', (text: Buffer) => errors.push(text))
  await answering(child, port, path).catch((error: unknown) => {
    child.kill('SIGKILL')
    throw new Error(`${args.join(' ')} does not serve: ${Buffer.concat(errors).toString()}`, {
      cause: error,
    })
  })
  return { host: HOST, port, quietSince: () => quietSince(child), stop: () => stopped(child) }
}

/** Settles with the first answer of that status, or of any; without a path, when somebody listens. */
export async function answering(
  child: ChildProcess,
  port: number,
  path: string | undefined,
  wanted?: number,
): Promise<void> {
  const deadline = performance.now() + READY_MS_MAX
  for (;;) {
    const status = path === undefined ? await listens(port) : await statusOf(port, path)
    if (status !== undefined && (wanted === undefined || status === wanted)) return
    if (child.exitCode !== null) throw new Error(`ended with ${child.exitCode}`)
    if (performance.now() > deadline) throw new Error(`no answer in ${READY_MS_MAX} ms`)
    await new Promise((resolve) => setTimeout(resolve, POLL_MS))
  }
}

/** The status of an answer; undefined while nobody listens. */
function statusOf(port: number, path: string): Promise<number | undefined> {
  return new Promise((resolve) => {
    const asked = request({ host: HOST, port, path, agent: false }, (answer) => {
      answer.resume()
      resolve(answer.statusCode)
    })
    asked.on('error', () => resolve(undefined))
    asked.end()
  })
}

/** Undefined while nobody listens. */
function listens(port: number): Promise<0 | undefined> {
  return new Promise((resolve) => {
    const socket = connect({ host: HOST, port }, () => {
      socket.destroy()
      resolve(0)
    })
    socket.on('error', () => resolve(undefined))
  })
}

export async function freePort(): Promise<number> {
  const server = createServer().listen(0, HOST)
  await once(server, 'listening')
  const address = server.address()
  server.close()
  await once(server, 'close')
  if (address === null || typeof address === 'string') throw new Error('there is no port')
  return address.port
}

type Quiet = Readonly<{ quietSince?: number; error?: string }>

async function quietSince(child: ChildProcess): Promise<number> {
  const heard = once(child, 'message')
  child.send('quiet?')
  const [answer]: Quiet[] = await heard
  if (answer?.quietSince === undefined) throw new Error(answer?.error ?? 'no answer')
  return answer.quietSince
}

export async function stopped(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  child.kill('SIGKILL')
  await once(child, 'exit')
}
