/**
 * Load by wrk, which costs the machine less than any program in JavaScript could: 64 connections, each of which sends the
 * same request again when it has its answer. Any answer but 2xx ends the run.
 */
import { execFile } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { Server } from '../stock/server-process.ts'
import type { Sending } from './signed.ts'

const CONNECTIONS = 64

/** Requests a second, until the server has nothing left to do. */
export async function wrkRate(
  server: Server,
  { headers, body }: Sending,
  directory: string,
  ms: number,
): Promise<number> {
  const script = join(directory, `wrk-${server.port}.lua`)
  writeFileSync(script, luaOf(headers, body))
  const url = `http://${server.host}:${server.port}/`
  const seconds = Math.ceil(ms / 1_000)
  const args = ['-t1', `-c${CONNECTIONS}`, `-d${seconds}s`, '-s', script, url]
  const { stdout } = await promisify(execFile)('wrk', args)
  const endedAt = performance.timeOrigin + performance.now()
  const { requests, tookMs } = readWrk(stdout)
  const putOffMs = Math.max(0, (await server.quietSince()) - endedAt)
  return (requests * 1_000) / (tookMs + putOffMs)
}

function luaOf(headers: Readonly<Record<string, string>>, body: string): string {
  const lines = Object.entries(headers).map(
    ([name, value]) => `wrk.headers[${JSON.stringify(name)}] = ${JSON.stringify(value)}`,
  )
  return ['wrk.method = "POST"', ...lines, `wrk.body = ${JSON.stringify(body)}`, ''].join('\n')
}

/** `  28913 requests in 2.00s, 9.51MB read` */
export function readWrk(text: string): Readonly<{ requests: number; tookMs: number }> {
  const [, requests, took, unit] = /(\d+) requests in ([\d.]+)(ms|s|m),/.exec(text) ?? []
  if (requests === undefined || /Non-2xx|Socket errors/.test(text))
    throw new Error(`wrk said ${text}`)
  const unitMs = unit === 'ms' ? 1 : unit === 's' ? 1_000 : 60_000
  return { requests: Number(requests), tookMs: Number(took) * unitMs }
}
