/** A disk that is filled up by somebody else and freed again, under a process that goes on. */
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { closeSync, mkdirSync, openSync, ftruncateSync, rmSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import type { TestContext } from 'node:test'

import { random, systemClock } from '../../src/std/index.ts'
import { History } from './history.ts'
import { listen } from './kills.ts'
import { freshDirectory, type Subject } from './subject.ts'

const DISK_BYTES = 48 * 2 ** 20
/** What is left by whoever fills the disk, at most. */
const LEFT_BYTES_MAX = 400_000
const ROUND = 40
/** So many rounds fill whatever the journal holds in reserve, and more. */
const ROUNDS_MAX = 2_000
const NORMAL_MS_MAX = 5_000

/** Throws where the journal breaks its word; skips the test where a disk cannot be made. */
export async function fillAndFree(t: TestContext, seed: number, cycles: number): Promise<void> {
  const disk = freshDirectory('small-disk')
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${DISK_BYTES}`, 'tmpfs', disk], {
      stdio: 'pipe',
    })
  } catch (error) {
    return t.skip(`a small disk cannot be mounted here, it takes root: ${String(error)}`)
  }
  try {
    await cycle(t, disk, seed, cycles)
  } finally {
    execFileSync('umount', ['-l', disk])
  }
}

async function cycle(t: TestContext, disk: string, seed: number, cycles: number): Promise<void> {
  const dice = random(seed)
  const directory = join(disk, 'journal')
  mkdirSync(directory)
  const history = new History()
  const codes = new Map<string, number>()
  const waits: number[] = []
  {
    await using subject = listen({ directory, faults: {} }, history, (saying) => {
      if (saying.type === 'rejected') codes.set(saying.code, (codes.get(saying.code) ?? 0) + 1)
    })
    await subject.open()
    for (let n = 0; n < cycles; n++) {
      assert.ok((await goOn(subject, history, dice.below(2 ** 32))) > 0, 'it takes writes')
      fill(join(disk, 'filler'), dice.below(LEFT_BYTES_MAX))
      const refused = codes.get('read-only') ?? 0
      for (let round = 0; (codes.get('read-only') ?? 0) === refused; round++) {
        assert.ok(round < ROUNDS_MAX, 'a full disk was never noticed')
        await goOn(subject, history, dice.below(2 ** 32))
      }
      rmSync(join(disk, 'filler'))
      const freedMs = systemClock.monotonic()
      while ((await goOn(subject, history, dice.below(2 ** 32))) === 0)
        assert.ok(systemClock.monotonic() - freedMs < NORMAL_MS_MAX, 'it takes no writes again')
      waits.push(systemClock.monotonic() - freedMs)
    }
  }
  await using subject = listen({ directory }, history)
  await subject.open()
  history.settle(await subject.dump(history.keys))
  t.diagnostic(
    `${cycles} cycles, ${history.acknowledged} batches acknowledged, refused: ${JSON.stringify([...codes])}, ` +
      `normal again after at most ${Math.max(...waits).toFixed(0)} ms`,
  )
  assert.deepEqual([...codes.keys()], ['read-only'])
}

/** A few batches and then everything read: says how many of the batches were taken. */
async function goOn(subject: Subject, history: History, seed: number): Promise<number> {
  const before = history.acknowledged
  subject.tell({ type: 'load', options: { ...history.start(), seed, batches: ROUND } })
  await subject.report('loaded')
  history.settle(await subject.dump(history.keys))
  return history.acknowledged - before
}

function fill(path: string, leftBytes: number): void {
  const fd = openSync(path, 'w')
  const piece = Buffer.alloc(65_536)
  let bytes = 0
  try {
    for (;;) bytes += writeSync(fd, piece)
  } catch (error) {
    assert.equal((error as NodeJS.ErrnoException).code, 'ENOSPC')
  }
  ftruncateSync(fd, Math.max(0, bytes - leftBytes))
  closeSync(fd)
}
