/**
 * The servers of the SQS suite, each in a process of its own: ours as anybody would start it, open and with a key, and
 * two that do nothing, which are unchanged copies: an endpoint of SQS for the SDK, and node:http with JSON and MD5.
 */
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { freePort, started, startOurs, type Server } from '../stock/server-process.ts'

export const KEY = { accessKeyId: 'BENCH', secretAccessKey: 'bench-secret' } as const
export const REGION = 'us-east-1'
export const ACCOUNT = '000000000000'
export const QUEUE = 'bench'
export const BODY: string = 'x'.repeat(256)

const COPIES = join(import.meta.dirname, '..', 'peers', 'brokers')
const STUB = join(COPIES, 'sqs', 'stub.mjs')
const FRONT = join(COPIES, 'front', 'server.mjs')

export function startOpen(directory: string): Promise<Server> {
  return startIn(join(directory, 'open'), { FLYTOWER_BROKER_REGION: REGION })
}

export function startKeyed(directory: string): Promise<Server> {
  return startIn(join(directory, 'keyed'), { FLYTOWER_BROKER_SQS_KEYS: JSON.stringify([KEY]) })
}

export async function startStub(): Promise<Server> {
  const port = await freePort()
  return started([STUB, String(port)], {}, port)
}

export async function startFront(): Promise<Server> {
  const port = await freePort()
  return started([FRONT, 'node:http', String(port)], {}, port)
}

export function queueUrlOf({ host, port }: Server): string {
  return `http://${host}:${port}/${ACCOUNT}/${QUEUE}`
}

function startIn(directory: string, settings: Readonly<Record<string, string>>): Promise<Server> {
  mkdirSync(directory)
  return startOurs(directory, settings)
}
