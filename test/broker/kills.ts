/**
 * A broker whose process is ended again and again, and an observer from outside who believes only what it was told:
 * nothing that was acknowledged is lost, nothing that was deleted comes back, nothing is there twice.
 */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import type { Readable } from 'node:stream'

import { random, systemClock } from '../../src/std/index.ts'

const PROGRAM = join(import.meta.dirname, 'child.ts')
/** What no life takes that is not stuck. */
const LIFE_MS_MAX = 240_000
/** Lines that are heard before the process is ended, at most. */
const LINES_MAX = 250

export type Tally = { ends: number; sent: number; deleted: number; dead: number; slowestMs: number }

type Fate = 'open' | 'sent' | 'ending' | 'gone'

export async function endAgainAndAgain(
  times: number,
  seed: number,
  signal: 'SIGKILL' | 'SIGTERM',
): Promise<Tally> {
  const place = mkdtempSync(join(tmpdir(), 'broker-kill-'))
  const dice = random(seed)
  const fates = new Map<string, Fate>()
  const tally: Tally = { ends: 0, sent: 0, deleted: 0, dead: 0, slowestMs: 0 }
  try {
    // Who is killed does not get to keep what it compiled; who ends in order does, for all that follow.
    await live(place, 0, fates, tally, { signal: 'SIGTERM', lines: 1 })
    while (tally.ends < times) {
      await live(place, dice.below(2 ** 31), fates, tally, {
        signal,
        lines: 2 + dice.below(LINES_MAX),
      })
      tally.ends++
    }
    await live(place, 1, fates, tally, { signal: 'SIGKILL', lines: 1 })
    return tally
  } finally {
    rmSync(place, { recursive: true, force: true })
  }
}

async function live(
  place: string,
  seed: number,
  fates: Map<string, Fate>,
  tally: Tally,
  end: Readonly<{ signal: 'SIGKILL' | 'SIGTERM'; lines: number }>,
): Promise<void> {
  const args = [PROGRAM, join(place, 'data'), `${seed}`, `${fates.size}`]
  const child = spawn(process.execPath, args, {
    stdio: ['pipe', 'inherit', 'pipe', 'pipe'],
    timeout: LIFE_MS_MAX,
    killSignal: 'SIGKILL',
    env: { ...process.env, NODE_COMPILE_CACHE: join(place, 'compiled') },
  })
  let [heard, stderr, endedAt] = [0, '', Infinity]
  child.stderr!.on('data', (text) => (stderr += String(text)))
  const lines = createInterface({ input: child.stdio[3] as Readable })
  lines.on('line', (line) => {
    if (line.startsWith('content ')) check(line, fates, tally)
    else note(line, fates, tally)
    if (++heard !== end.lines) return
    endedAt = systemClock.monotonic()
    child.kill(end.signal)
  })
  const closed = once(lines, 'close')
  const [code, signal] = (await once(child, 'exit')) as [number | null, string | null]
  await closed
  tally.slowestMs = Math.max(tally.slowestMs, systemClock.monotonic() - endedAt)
  if (end.signal === 'SIGKILL')
    assert.equal(signal, 'SIGKILL', `it ended by itself (${code})\n${stderr}`)
  else assert.equal(code, 0, `it did not end in order (${signal})\n${stderr}`)
}

/** A line that was cut off by the end is one that was not said. */
function note(line: string, fates: Map<string, Fate>, tally: Tally): void {
  const [what, ...tags] = line.split(' ')
  for (const tag of tags) {
    if (tag === '') continue
    const fate = fates.get(tag)
    if (what === 's') fates.set(tag, 'open')
    else if (what === 'S') {
      tally.sent++
      if (fate === 'open') fates.set(tag, 'sent')
    } else if (what === 'd') fates.set(tag, 'ending')
    else if (what === 'D') {
      tally.deleted++
      fates.set(tag, 'gone')
    } else if (what === 'r') assert.notEqual(fate, 'gone', `${tag} was handed out after its end`)
  }
}

/** What is there at a start, against what was acknowledged in all lives before. */
function check(line: string, fates: ReadonlyMap<string, Fate>, tally: Tally): void {
  const [main = '', dead = ''] = line.slice('content '.length).split('|')
  const tags = [...main.split(' '), ...dead.split(' ')].filter((tag) => tag !== '')
  tally.dead = dead.split(' ').filter((tag) => tag !== '').length
  const there = new Set(tags)
  assert.equal(there.size, tags.length, 'something is there twice')
  for (const tag of there) {
    assert.ok(fates.has(tag), `${tag} was never sent`)
    assert.notEqual(fates.get(tag), 'gone', `${tag} was deleted, and is there`)
  }
  for (const [tag, fate] of fates)
    if (fate === 'sent') assert.ok(there.has(tag), `${tag} was acknowledged, and is lost`)
}
