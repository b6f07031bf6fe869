/**
 * A store that speaks the S3 protocol: OpenStack Swift, started for a test and ended with it. Where
 * S3_ENDPOINT is set the store behind it is used instead.
 */
import { spawn, type ChildProcess } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline/promises'

import type { S3Client } from '@aws-sdk/client-s3'

import type { S3Options } from '../../src/probe/storage/s3.ts'
import { directory } from './bundles.ts'

export type Store = AsyncDisposable &
  Readonly<{ options: Omit<S3Options, 'trying'>; client: S3Client; bucket: string }>

const PYTHON = '/usr/bin/python3'
const ACCESS_KEY = 'probe:tester'
const SECRET_KEY = 'testing-secret-key'

/** Why there is none; undefined where there is. */
export function noStore(): string | undefined {
  if (process.env['S3_ENDPOINT'] !== undefined || existsSync('/usr/bin/swift-proxy-server'))
    return undefined
  return 'Swift is not installed: run test/probe/prepare-s3.sh'
}

export async function startStore(): Promise<Store> {
  const { S3Client, CreateBucketCommand } = await import('@aws-sdk/client-s3')
  const started = process.env['S3_ENDPOINT'] === undefined ? await startSwift() : undefined
  const options = {
    region: process.env['S3_REGION'] ?? 'us-east-1',
    endpoint: process.env['S3_ENDPOINT'] ?? `http://127.0.0.1:${started?.port}`,
    forcePathStyle: true,
    credentials: {
      accessKeyId: process.env['S3_ACCESS_KEY_ID'] ?? ACCESS_KEY,
      secretAccessKey: process.env['S3_SECRET_ACCESS_KEY'] ?? SECRET_KEY,
    },
  }
  const client = new S3Client({ ...options, requestChecksumCalculation: 'WHEN_REQUIRED' })
  const bucket = process.env['S3_BUCKET'] ?? `flytower-probe-${process.pid}`
  await client.send(new CreateBucketCommand({ Bucket: bucket })).catch((error: Error) => {
    if (error.name !== 'BucketAlreadyOwnedByYou') throw error
  })
  return {
    options,
    client,
    bucket,
    async [Symbol.asyncDispose]() {
      client.destroy()
      await started?.end()
    },
  }
}

async function startSwift(): Promise<Readonly<{ port: number; end: () => Promise<void> }>> {
  const home = directory()
  const script = join(import.meta.dirname, 's3-store.py')
  const child = spawn(PYTHON, [script, home.path, ACCESS_KEY, SECRET_KEY], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  const ended = new Promise((resolve) => child.once('exit', resolve))
  return { port: await portOf(child), end }

  /** It ends when its input does, so it does not outlive a test that was killed either. */
  async function end(): Promise<void> {
    child.stdin.end()
    await ended
    home[Symbol.dispose]()
  }
}

async function portOf({ stdout }: ChildProcess): Promise<number> {
  for await (const line of createInterface({ input: stdout! })) {
    const { port }: { port: number } = JSON.parse(line)
    return port
  }
  throw new Error('the S3 store has not started')
}
