/** A disk that is filled up by somebody else and freed again, under a process that goes on. */
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { closeSync, mkdirSync, openSync, ftruncateSync, rmSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import type { TestContext } from 'node:test'

import { random, systemClock } from '../../src/std/index.ts'
import { History } from './history.ts'
import { listen } from './kills.ts'
import { FENCE } from './load.ts'
import { freshDirectory } from './subject.ts'

const DISK_BYTES = 96 * 2 ** 20
/** What is left by whoever fills the disk, at most. */
const LEFT_BYTES_MAX = 100_000
const ROUND = 20
/** Cycles with one journal, which grows. */
const CYCLES_EACH = 5
/** So many rounds fill whatever the journal holds in reserve, and more. */
const ROUNDS_MAX = 60
const NORMAL_MS_MAX = 5_000
/** It is asked so often before it is late: on a machine that stands still the time passes without. */
const ASKED_MIN = 10

type Tally = { acknowledged: number; refused: number; rounds: number; normalMsMax: number }

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
  const unmount = (): unknown => execFileSync('umount', ['-l', disk])
  process.prependListener('exit', unmount) // before the directories of this process are removed
  const tally = { acknowledged: 0, refused: 0, rounds: 0, normalMsMax: 0 }
  try {
    for (let done = 0; done < cycles; done += CYCLES_EACH) {
      rmSync(join(disk, 'journal'), { recursive: true, force: true })
      await cycle(disk, seed + done, Math.min(CYCLES_EACH, cycles - done), tally)
    }
  } finally {
    process.off('exit', unmount)
    unmount()
  }
  t.diagnostic(`${cycles} cycles: ${JSON.stringify(tally)}`)
}

async function cycle(disk: string, seed: number, cycles: number, tally: Tally): Promise<void> {
  const dice = random(seed)
  const directory = join(disk, 'journal')
  mkdirSync(directory)
  const history = new History()
  const codes = new Map<string, number>()
  {
    await using subject = listen({ directory, faults: {} }, history, (saying) => {
      if (saying.type === 'rejected') codes.set(saying.code, (codes.get(saying.code) ?? 0) + 1)
    })
    await subject.open()
    for (let n = 0; n < cycles; n++) {
      assert.equal(await refusedOf(n), 0, 'it takes writes')
      fill(join(disk, 'filler'), dice.below(LEFT_BYTES_MAX))
      for (let round = 0; (await refusedOf(n)) === 0; round++)
        assert.ok(round < ROUNDS_MAX, 'a full disk was never noticed')
      rmSync(join(disk, 'filler'))
      const freedMs = systemClock.monotonic()
      for (let asked = 1; (await refusedOf(n)) > 0; asked++) {
        const isLate = systemClock.monotonic() - freedMs >= NORMAL_MS_MAX
        assert.ok(!isLate || asked < ASKED_MIN, 'it takes no writes again')
      }
      tally.normalMsMax = Math.max(tally.normalMsMax, systemClock.monotonic() - freedMs)
    }

    /** A few batches, and then everything is read: says how many were refused. */
    async function refusedOf(n: number): Promise<number> {
      tally.rounds++
      const before = codes.get('read-only') ?? 0
      const token = history.model.tokens.get(FENCE)
      const kind = { batches: ROUND, size: 'bulky', ...(token && { token }) } as const
      const options = { ...history.start(), seed: dice.below(2 ** 32), ...kind }
      subject.tell({ type: 'load', options })
      await subject.report('loaded')
      subject.tell({ type: 'dump', keys: history.keys })
      const { dump, stats } = await subject.report('dumped')
      history.settle(dump)
      assert.ok(['open', 'read-only'].includes(stats.state), `in cycle ${n} it is ${stats.state}`)
      return (codes.get('read-only') ?? 0) - before
    }
  }
  await using subject = listen({ directory }, history)
  await subject.open()
  history.settle(await subject.dump(history.keys))
  tally.acknowledged += history.acknowledged
  tally.refused += codes.get('read-only') ?? 0
  assert.deepEqual([...codes.keys()], ['read-only'])
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
