import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import { DISK_FAULTS, simulatedDisk, type DiskFault, type SimulatedDisk } from './simulated-disk.ts'
import { virtualClock } from './virtual-clock.ts'

function bytes(length: number, value: number): Uint8Array {
  return new Uint8Array(length).fill(value)
}

async function contentOf(disk: SimulatedDisk): Promise<number[]> {
  return [...(await disk.mount().read())]
}

/** The first seed that draws exactly this fault. */
function diskWith(fault: DiskFault, clock = virtualClock()): SimulatedDisk {
  for (let seed = 0; ; seed++) {
    const disk = simulatedDisk({ seed, clock, faults: [fault] })
    if (disk.faults.length === 1) return disk
  }
}

/** What is left of an unsynced write of ones behind synced twos, with each of the seeds. */
async function remains(length: number, seeds: number): Promise<number[][]> {
  const all: number[][] = []
  for (let seed = 0; seed < seeds; seed++) {
    const disk = simulatedDisk({ seed })
    const mounted = disk.mount()
    await mounted.append(bytes(3, 2))
    await mounted.sync()
    await mounted.append(bytes(length, 1))
    disk.crash()
    all.push(await contentOf(disk))
  }
  return all
}

describe('a simulated disk', () => {
  test('reads what was appended and not cut, synced or not', async () => {
    const disk = simulatedDisk()
    const mounted = disk.mount()
    await mounted.append(bytes(3, 1))
    await mounted.append(bytes(2, 2))
    assert.deepEqual(await contentOf(disk), [1, 1, 1, 2, 2])
    await mounted.sync()
    await mounted.truncate(2)
    await mounted.append(bytes(1, 3))
    assert.deepEqual(await contentOf(disk), [1, 1, 3])
    await mounted.truncate(9)
    assert.deepEqual(await contentOf(disk), [1, 1, 3])
  })

  test('never forgets what was synced', async () => {
    for (const content of await remains(200, 500)) assert.deepEqual(content.slice(0, 3), [2, 2, 2])
  })

  test('leaves all, nothing, a torn part or any sectors of what was not synced', async () => {
    const tails = (await remains(200, 500)).map((content) => content.slice(3))
    const lengths = new Set(tails.map(({ length }) => length))
    assert.ok(tails.some((tail) => tail.length === 0))
    assert.ok(tails.some((tail) => tail.length === 200 && !tail.includes(0)))
    assert.ok(
      tails.some((tail) => tail.includes(0)),
      'a hole',
    )
    assert.ok(lengths.size > 50, `torn at ${lengths.size} places`)
  })

  test('may forget a cut and keep the write behind it', async () => {
    const ends = new Set<string>()
    for (let seed = 0; seed < 200; seed++) {
      const disk = simulatedDisk({ seed })
      const mounted = disk.mount()
      await mounted.append(bytes(4, 1))
      await mounted.sync()
      await mounted.truncate(1)
      await mounted.append(bytes(1, 2))
      disk.crash()
      ends.add((await contentOf(disk)).join(''))
    }
    assert.deepEqual([...ends].toSorted(), ['1', '1111', '12', '1211'])
  })

  test('refuses whoever mounted it before the crash, also what was under way', async () => {
    const disk = simulatedDisk()
    const mounted = disk.mount()
    const underWay = mounted.append(bytes(1, 1))
    disk.crash()
    await assert.rejects(underWay, { code: 'disk-crashed' })
    await assert.rejects(mounted.sync(), { code: 'disk-crashed' })
    assert.deepEqual(await contentOf(disk), [])
  })

  test('has no fault unless it may have it, and each in about a third of the seeds', () => {
    const clock = virtualClock()
    for (const fault of DISK_FAULTS) {
      const drawn = Array.from({ length: 600 }, (_, seed) =>
        simulatedDisk({ seed, clock, faults: [fault] }),
      ).filter(({ faults }) => faults.length > 0)
      assert.ok(drawn.length > 140 && drawn.length < 260, `${fault}: ${drawn.length}`)
    }
    for (let seed = 0; seed < 100; seed++) {
      assert.deepEqual(simulatedDisk({ seed, clock }).faults, [])
      assert.ok(!simulatedDisk({ seed, faults: DISK_FAULTS }).faults.includes('slow'))
    }
  })

  test('takes what there is room for, and says that there is none', async () => {
    const disk = simulatedDisk()
    const mounted = disk.mount()
    await mounted.append(bytes(2, 1))
    disk.room = 3
    await assert.rejects(mounted.append(bytes(4, 2)), { code: 'disk-full' })
    assert.deepEqual(await contentOf(disk), [1, 1, 2, 2, 2])
    assert.equal(disk.room, 0)
    await mounted.truncate(2)
    assert.equal(disk.room, 3)
    await mounted.append(bytes(3, 3))
    assert.deepEqual(await contentOf(disk), [1, 1, 3, 3, 3])
  })

  test('fills up and is freed again where that was drawn', async () => {
    const disk = diskWith('full')
    const mounted = disk.mount()
    let [refused, taken] = [0, 0]
    for (let n = 0; n < 200; n++) {
      try {
        await mounted.append(bytes(500, 1))
        taken++
      } catch {
        refused++
      }
    }
    assert.ok(refused > 10 && taken > 10, `${refused} refused, ${taken} taken`)
  })

  for (const [fault, act] of [
    ['broken-write', (disk: SimulatedDisk) => disk.mount().append(bytes(4, 1))],
    ['broken-sync', (disk: SimulatedDisk) => disk.mount().sync()],
    ['broken-read', (disk: SimulatedDisk) => disk.mount().read()],
  ] as const) {
    test(`has a ${fault} now and then where that was drawn`, async () => {
      const disk = diskWith(fault)
      let broken = 0
      for (let n = 0; n < 300; n++)
        await act(disk).catch((error: { code: string }) => {
          assert.equal(error.code, 'disk-broken')
          broken++
        })
      assert.ok(broken > 5 && broken < 100, `${broken} of 300`)
    })
  }

  test('that fails a sync has settled what hung in the air, this way or that', async () => {
    const disk = diskWith('broken-sync')
    const mounted = disk.mount()
    for (;;) {
      await mounted.append(bytes(100, 1))
      const isSynced = await mounted.sync().then(
        () => true,
        () => false,
      )
      if (!isSynced) break
    }
    const before = await contentOf(disk)
    disk.crash()
    assert.deepEqual(await contentOf(disk), before)
  })

  test('takes the time of its clock where it is slow', async () => {
    const clock = virtualClock()
    const disk = diskWith('slow', clock)
    let isDone = false
    void disk
      .mount()
      .append(bytes(1, 1))
      .then(() => (isDone = true))
    await Promise.resolve()
    assert.ok(!isDone && clock.next !== undefined)
    clock.advance(2_000)
    for (let n = 0; n < 5; n++) await Promise.resolve()
    assert.ok(isDone)
  })
})
