/**
 * The journal over a disk that fails, tears, fills up, is slow, and forgets what was not synced.
 *
 * Each seed is a program and a disk. Then the same with a mistake put between the journal and its disk:
 * every one of them must be found, or the seeds before have shown nothing.
 */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { crc32 } from 'node:zlib'

import type { Disk } from '../../src/journal/index.ts'
import { Accident } from '../../src/std/index.ts'
import { DISK_FAULTS, playJournal, type JournalPlay } from '../../src/testkit/index.ts'
import { onDisk } from './memory-engines.ts'

const SEEDS = 5_000
/** Seeds a planted mistake may survive. */
const BITE_SEEDS_MAX = 300

const mistakes: Readonly<Record<string, (disk: Disk) => Disk>> = {
  'acknowledges before anything is synced': (disk) => ({
    ...disk,
    sync: () => Promise.resolve(),
  }),
  'goes on after a sync that failed': (disk) => ({
    ...disk,
    sync: () => disk.sync().catch(() => undefined),
  }),
  'does not cut off what was torn': (disk) => ({ ...disk, truncate: () => Promise.resolve() }),
  'takes a frame without comparing its check number': (disk) => ({
    ...disk,
    read: async () => withRightChecks(await disk.read()),
  }),
  'takes a disk that is full for one that is not': (disk) => ({
    ...disk,
    append: (bytes) => disk.append(bytes).catch(() => undefined),
  }),
  'loses the last frame on opening': (disk) => ({
    ...disk,
    read: async () => (await disk.read()).subarray(0, -1),
  }),
}

describe('a journal in memory over a simulated disk', () => {
  test(`keeps its promises with each of ${SEEDS} seeds`, async (t) => {
    const sum: Record<string, number> = {}
    for (let seed = 0; seed < SEEDS; seed++) {
      const played = await playJournal(onDisk({ seed, faults: DISK_FAULTS }), { seed })
      for (const [name, count] of Object.entries(played)) sum[name] = (sum[name] ?? 0) + count
    }
    t.diagnostic(JSON.stringify(sum))
    // Seeds under which nothing happens would prove nothing.
    const least: JournalPlay = {
      committed: 30_000,
      turnedAway: 5_000,
      refused: 10_000,
      unknown: 5_000,
      unknownCommitted: 300,
      crashes: 5_000,
      reopened: 10_000,
    }
    for (const [name, count] of Object.entries(least))
      assert.ok(sum[name]! >= count, `${name}: ${sum[name]}`)
  })

  for (const [mistake, between] of Object.entries(mistakes)) {
    test(`is found out when it ${mistake}`, async (t) => {
      for (let seed = 0; seed < BITE_SEEDS_MAX; seed++) {
        const found = await failureOf(seed, between)
        if (found === undefined) continue
        t.diagnostic(`found by seed ${seed}: ${found.fault.message.split('\n')[0]}`)
        return
      }
      assert.fail(`no seed up to ${BITE_SEEDS_MAX} finds it`)
    })
  }
})

async function failureOf(
  seed: number,
  between: (disk: Disk) => Disk,
): Promise<Accident | undefined> {
  try {
    await playJournal(onDisk({ seed, faults: DISK_FAULTS, between }), { seed })
    return undefined
  } catch (error) {
    assert.ok(error instanceof Accident && error.code === 'journal-wrong')
    return error
  }
}

/** What a log that does not compare would see: frames that are long enough pass for whole. */
function withRightChecks(content: Uint8Array): Uint8Array {
  const bytes = Buffer.from(content)
  for (let at = 0; at + 16 <= bytes.length;) {
    const end = at + 16 + bytes.readUInt32LE(at + 8)
    if (bytes[at] !== 0xf7 || end > bytes.length) break
    bytes.writeUInt32LE(
      crc32(bytes.subarray(at + 16, end), crc32(bytes.subarray(at + 4, at + 12))),
      at + 12,
    )
    at = end
  }
  return bytes
}
