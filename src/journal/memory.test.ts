/** What the conformance suite does not see: the disk behind the journal. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import { Accident } from '../std/index.ts'
import {
  simulatedDisk,
  virtualClock,
  type SimulatedDisk,
  type VirtualClock,
} from '../testkit/index.ts'
import { diskFull } from './disk.ts'
import type { Batch, Journal } from './journal.ts'
import { DISK_PROBE_MS, memoryJournal } from './memory.ts'

type Gate = {
  append?: (bytes: Uint8Array) => Promise<void>
  sync?: () => Promise<void>
  truncate?: (length: number) => Promise<void>
}

type Bench = Readonly<{
  journal: Journal
  disk: SimulatedDisk
  clock: VirtualClock
  /** What stands between the journal and the disk. */
  gate: Gate
}>

async function bench(): Promise<Bench> {
  const clock = virtualClock()
  const disk = simulatedDisk({ clock })
  const gate: Gate = {}
  const mounted = disk.mount()
  const journal = await memoryJournal({
    clock,
    disk: {
      read: () => mounted.read(),
      append: (bytes) => gate.append?.(bytes) ?? mounted.append(bytes),
      sync: () => gate.sync?.() ?? mounted.sync(),
      truncate: (length) => gate.truncate?.(length) ?? mounted.truncate(length),
    },
  })
  return { journal, disk, clock, gate }
}

function batch(key: string): Batch {
  return {
    streams: [
      { stream: 's', expected: 'any', events: [{ type: 't', version: 1, at: 0, data: key }] },
    ],
    ledger: [{ key, fingerprint: '{}', response: key }],
  }
}

async function codeOf(promise: Promise<unknown>): Promise<string> {
  return promise.then(
    () => 'settled',
    (error: unknown) => (error instanceof Accident ? error.code : String(error)),
  )
}

/** Lets everything go on that waits for nothing but promises. */
async function rest(): Promise<void> {
  for (let n = 0; n < 20; n++) await Promise.resolve()
}

describe('a journal in memory', () => {
  test('shows nothing and answers nothing before it is on disk', async () => {
    const { journal, gate } = await bench()
    const sync = Promise.withResolvers<void>()
    gate.sync = () => sync.promise
    const committed = journal.commit(batch('a'))
    const duplicate = journal.commit(batch('a'))
    await rest()
    assert.equal(await journal.position(), 0)
    assert.equal(await journal.lookup('a'), undefined)
    assert.equal(journal.stats().pending, 2)
    sync.resolve()
    assert.equal((await committed).type, 'committed')
    assert.equal((await duplicate).type, 'duplicate')
    assert.equal(await journal.position(), 1)
  })

  test('makes one group of what is called while the one before is being written', async () => {
    const { journal, gate } = await bench()
    const sync = Promise.withResolvers<void>()
    gate.sync = () => sync.promise
    const first = journal.commit(batch('a'))
    await rest()
    const others = Array.from({ length: 10 }, (_, n) => journal.commit(batch(`b${n}`)))
    await rest()
    sync.resolve()
    await Promise.all([first, ...others])
    const { groups, flushes, groupSizeMax, commits, bytes } = journal.stats()
    assert.deepEqual(
      { groups, flushes, groupSizeMax, commits },
      {
        groups: 2,
        flushes: 2,
        groupSizeMax: 10,
        commits: 11,
      },
    )
    assert.ok(bytes > 0)
  })

  test('says how long the oldest commit has been waiting', async () => {
    const { journal, gate, clock } = await bench()
    const sync = Promise.withResolvers<void>()
    gate.sync = () => sync.promise
    const waiting = journal.commit(batch('a'))
    clock.advance(250)
    const { pending, pendingBytes, lagMs } = journal.stats()
    assert.deepEqual({ pending, lagMs }, { pending: 1, lagMs: 250 })
    assert.ok(pendingBytes > 0)
    sync.resolve()
    await waiting
    assert.equal(journal.stats().lagMs, 0)
    assert.equal(journal.stats().pendingBytes, 0)
  })

  test('acknowledges nothing any more after a sync that failed, and is not read either', async () => {
    const { journal, gate, disk, clock } = await bench()
    await journal.commit(batch('before'))
    gate.sync = () => Promise.reject(new Error('no sync'))
    const inGroup = [codeOf(journal.commit(batch('a'))), codeOf(journal.takeFence('f'))]
    await Promise.resolve()
    const behind = codeOf(journal.commit(batch('b')))
    assert.deepEqual(await Promise.all(inGroup), ['unknown-outcome', 'unknown-outcome'])
    assert.equal(await behind, 'unknown-outcome')
    delete gate.sync
    assert.equal(journal.state, 'failed')
    for (const late of [
      journal.commit(batch('c')),
      journal.takeFence('f'),
      journal.lookup('a'),
      journal.readAll(),
    ])
      assert.equal(await codeOf(late), 'journal-closed')
    assert.throws(() => journal.subscribe({ after: 0, handle: () => undefined }), {
      code: 'journal-closed',
    })
    await journal.close()
    assert.equal(journal.state, 'closed')

    const again = await memoryJournal({ clock, disk: disk.mount() })
    assert.equal((await again.lookup('before'))?.response, 'before')
    assert.equal((await again.lookup('a'))?.response, 'a', 'it was written after all')
    assert.equal(await again.lookup('b'), undefined)
  })

  test('ends its subscriptions when it fails', async () => {
    const { journal, gate } = await bench()
    const reader = journal.subscribe({ after: 0, handle: () => undefined })
    const ended = codeOf(reader.ended)
    gate.append = () => Promise.reject(new Error('no append'))
    assert.equal(await codeOf(journal.commit(batch('a'))), 'unknown-outcome')
    assert.equal(await ended, 'journal-closed')
  })

  test('goes on reading when the disk is full, and goes on writing when it is not', async () => {
    const { journal, disk, clock } = await bench()
    for (let cycle = 0; cycle < 20; cycle++) {
      await journal.commit(batch(`kept ${cycle}`))
      disk.room = 40
      const refused = [codeOf(journal.commit(batch('a'))), codeOf(journal.takeFence('f'))]
      assert.deepEqual(await Promise.all(refused), ['read-only', 'read-only'])
      assert.equal(journal.state, 'read-only')
      assert.equal(await codeOf(journal.commit(batch('b'))), 'read-only')
      assert.equal(await journal.position(), cycle + 1)
      assert.equal(await journal.lookup('a'), undefined)

      clock.advance(DISK_PROBE_MS)
      await rest()
      assert.equal(journal.state, 'read-only', 'there is no room yet')
      disk.room = Infinity
      clock.advance(DISK_PROBE_MS - 1)
      await rest()
      assert.equal(journal.state, 'read-only', 'it has not looked yet')
      clock.advance(1)
      await rest()
      assert.equal(journal.state, 'open')
    }
    assert.equal(await journal.takeFence('f'), 1)
    await journal.close()
    assert.equal(clock.next, undefined)
    const again = await memoryJournal({ clock, disk: disk.mount() })
    assert.equal(await again.position(), 20)
  })

  test('fails where it cannot take back what there was no room for', async () => {
    const { journal, gate } = await bench()
    gate.append = () => Promise.reject(diskFull())
    gate.truncate = () => Promise.reject(new Error('no cut'))
    assert.equal(await codeOf(journal.commit(batch('a'))), 'unknown-outcome')
    assert.equal(journal.state, 'failed')
  })

  test('fails where looking for room fails, and is closed while it looks', async () => {
    for (const isClosed of [true, false]) {
      const { journal, gate, disk, clock } = await bench()
      disk.room = 0
      assert.equal(await codeOf(journal.commit(batch('a'))), 'read-only')
      const probe = Promise.withResolvers<void>()
      gate.append = () => probe.promise
      clock.advance(DISK_PROBE_MS)
      const closing = isClosed ? journal.close() : undefined
      await rest()
      probe.reject(new Error('no append'))
      await rest()
      await closing
      assert.equal(journal.state, isClosed ? 'closed' : 'failed')
    }
  })

  test('looks for room no more once it is closed', async () => {
    const { journal, disk, clock } = await bench()
    disk.room = 0
    assert.equal(await codeOf(journal.commit(batch('a'))), 'read-only')
    await journal.close()
    assert.equal(clock.next, undefined)
  })

  test('keeps the times of its answers in order when the clock is put back', async () => {
    let now = 1_000_000
    const clock = { ...virtualClock(), now: () => now, monotonic: () => 0 }
    const journal = await memoryJournal({ clock, ledgerRetentionMs: 100 })
    await journal.commit(batch('a'))
    now -= 3_600_000
    await journal.commit(batch('b'))
    assert.equal((await journal.lookup('b'))?.at, 1_000_000)
    now = 1_000_101
    assert.equal(await journal.lookup('a'), undefined)
    assert.equal(await journal.lookup('b'), undefined)
  })

  test('keeps them in order over a restart as well', async () => {
    const { journal, disk, clock } = await bench()
    clock.advance(5_000)
    await journal.commit(batch('a'))
    await journal.close()
    const again = await memoryJournal({ clock: virtualClock(), disk: disk.mount() })
    await again.commit(batch('b'))
    assert.equal((await again.lookup('b'))?.at, clock.now())
  })

  test('is refused over a log that is damaged', async () => {
    const { journal, disk } = await bench()
    await journal.commit(batch('a'))
    await journal.commit(batch('b'))
    const mounted = disk.mount()
    const bytes = await mounted.read()
    bytes[20]! ^= 1
    const damaged = { ...mounted, read: () => Promise.resolve(bytes) }
    await assert.rejects(memoryJournal({ disk: damaged }), { code: 'damaged' })
  })
})
