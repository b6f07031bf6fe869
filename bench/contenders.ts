/**
 * Who takes part. Ours is written against the product's door; limits and peers are unchanged copies
 * whose hash is printed with every run, so that nobody wins by slowing the others down.
 */
import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'

export type Contender = Readonly<{ id: string; file: string }>

const HERE = import.meta.dirname
const ACTORS = join(HERE, 'peers', 'actors')

/** Another file in our place, to try the harness itself. */
const STAND_IN = process.env['FLYTOWER_BENCH_ADAPTER']

export const OURS: Contender = {
  id: 'flytower',
  file: STAND_IN ?? join(HERE, 'adapters', 'flytower.mjs'),
}

/** The hand-written limits. A ratio is taken to the best of them. */
export const LIMITS: readonly string[] = ['limit-global', 'limit-real', 'limit-lifo']

/** The npm actor libraries that queue: the ones the second goal speaks of. */
export const QUEUEING: readonly string[] = [
  'nact',
  'comedy',
  'effect-queue',
  'effect-fork',
  'effect-entity',
]

/** Printed for orientation: synchronous libraries, hand-written idioms, further limits, the floor. */
const OTHERS: readonly string[] = [
  'xstate',
  'xstate-machine',
  'xstate6',
  'promise-chain',
  'async-loop',
  'emitter-sync',
  'emitter-tick',
  'limit',
  'limit-fair',
  'call',
]

export const PEERS: readonly string[] = [...QUEUEING, ...OTHERS]

const FROM_NPM = /^(nact|comedy|effect|xstate|lmdb|classic-level|bullmq|rabbitmq|graphile|aws-sdk)/

export function actor(id: string): Contender {
  return { id, file: join(ACTORS, 'adapters', `${id}.mjs`) }
}

export function peersHash(of: 'actors' | 'brokers' = 'actors'): string {
  return hashOf(join(HERE, 'peers', of), '**/*.{mjs,erl,go}')
}

/** What ours is made of: a run during which it changes has measured nothing. */
export function oursHash(): string {
  return hashOf(join(HERE, '..', 'src'), '**/*.ts')
}

function hashOf(folder: string, pattern: string): string {
  const hash = createHash('sha256')
  for (const file of globSync(pattern, { cwd: folder }).toSorted()) {
    hash
      .update(`${file}\0`)
      .update(readFileSync(join(folder, file)))
      .update('\0')
  }
  return hash.digest('hex')
}

/** Installs what the peers need, once. Without it they are left out, and the run says so. */
export async function installPeers(
  ids: readonly string[],
  say: (line: string) => void,
): Promise<void> {
  if (!ids.some((id) => FROM_NPM.test(id)) || installed()) return
  say('installing the peers: npm ci in bench/')
  try {
    const args = ['ci', '--ignore-scripts', '--no-audit', '--no-fund']
    await promisify(execFile)('npm', args, { cwd: HERE })
  } catch (error) {
    say(`the peers could not be installed; run npm ci in bench/ by hand: ${String(error)}`)
  }
}

function installed(): boolean {
  const { dependencies } = JSON.parse(readFileSync(join(HERE, 'package.json'), 'utf8'))
  return Object.keys(dependencies).every((name) => existsSync(join(HERE, 'node_modules', name)))
}
