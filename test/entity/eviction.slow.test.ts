/**
 * Putting entities away under load: nobody who asks may notice, and memory stays what it is.
 *
 * Every client numbers what it sends to each entity, and every entity remembers the last number of
 * each client. A request that is lost, doubled or overtaken by a later one breaks the row.
 */
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, test } from 'node:test'

import {
  accept,
  createEntities,
  entity,
  type Entities,
  type EntityDefinition,
} from '../../src/entity/index.ts'
import { memoryJournal, sqliteJournal, type Journal } from '../../src/journal/index.ts'
import { createSystem } from '../../src/kernel/index.ts'
import { freshSeed, random, silentLog, type Clock } from '../../src/std/index.ts'
import { world } from '../../src/testkit/index.ts'

type Row = Readonly<Record<string, number>>
type Numbered = Readonly<{ type: 'number'; client: string; n: number }>
type Reply = Readonly<{ before: number; total: number }>

const rows: EntityDefinition<Row, Numbered, Numbered, Reply> = entity({
  type: 'row',
  version: 1,
  initial: (): Row => ({}),
  decide: (row, command) =>
    accept([command], {
      before: row[command.client] ?? 0,
      total: Object.values(row).reduce((sum, n) => sum + n, 1),
    }),
  evolve: (row, { client, n }) => ({ ...row, [client]: n }),
})

/** Sends to one entity after another, three at a time without waiting for the first to be answered. */
async function sendAll(
  entities: Entities,
  name: string,
  pick: () => string,
  goesOn: () => boolean,
): Promise<number> {
  const last = new Map<string, number>()
  let asked = 0
  while (goesOn()) {
    const id = pick()
    const first = (last.get(id) ?? 0) + 1
    const answers = await Promise.all(
      [first, first + 1, first + 2].map((n) =>
        entities.ask(rows, id, { type: 'number', client: name, n }),
      ),
    )
    assert.deepEqual(
      answers.map(({ reply }) => reply.before),
      [first - 1, first, first + 1],
      `${name} to ${id}`,
    )
    last.set(id, first + 2)
    asked += 3
  }
  return asked
}

describe('eviction', () => {
  test('at least 1 000 passivations under continuous load: no request fails or is reordered', async (t) => {
    const seed = freshSeed()
    t.diagnostic(`seed ${seed}`)
    const draws = random(seed)
    await using system = createSystem()
    await using journal = await memoryJournal()
    await using entities = createEntities({
      system,
      journal,
      activeMax: 20,
      sweepMs: 5,
      idleMs: 10,
    })

    const goesOn = (): boolean => entities.metrics().passivations < 2_000
    const asked = await Promise.all(
      Array.from({ length: 16 }, (_, n) =>
        sendAll(entities, `c-${n}`, () => `e-${draws.below(200)}`, goesOn),
      ),
    )

    const { passivations, activations, evictions } = entities.metrics()
    const total = asked.reduce((sum, n) => sum + n, 0)
    t.diagnostic(`${total} requests, ${passivations} passivations, ${evictions} of them evictions`)
    assert.ok(passivations >= 1_000)
    assert.ok(activations > 1_000)
    assert.equal(await journal.position(), total)
  })

  test('100 000 entities are touched, few are awake, memory stays bounded', async (t) => {
    const gc = globalThis.gc
    assert.ok(gc, 'tests run with --expose-gc')
    const [touched, activeMax, inFlight] = [100_000, 2_000, 256]
    const directory = mkdtempSync(join(tmpdir(), 'eviction-'))
    t.after(() => rmSync(directory, { recursive: true }))
    await using system = createSystem()
    await using journal = await sqliteJournal({ directory })
    await using entities = createEntities({ system, journal, activeMax })
    const command: Numbered = { type: 'number', client: 'c', n: 1 }

    let next = 0
    let activeMost = 0
    const heaps: number[] = []
    async function touch(): Promise<void> {
      while (next < touched) {
        const n = next++
        const { version } = await entities.ask(rows, `e-${n}`, command)
        assert.equal(version, 1)
        if (n % 100 === 99) activeMost = Math.max(activeMost, entities.metrics().active)
        if (n % 20_000 === 19_999) {
          gc!()
          heaps.push(process.memoryUsage().heapUsed)
        }
      }
    }
    await Promise.all(Array.from({ length: inFlight }, touch))

    const mib = heaps.map((bytes) => Math.round(bytes / 1_048_576))
    t.diagnostic(`at most ${activeMost} awake, heap after each 20 000: ${mib.join(', ')} MiB`)
    assert.ok(activeMost <= activeMax + inFlight, `${activeMost} were awake`)
    assert.ok(heaps.at(-1)! - heaps[0]! < 16 * 1_048_576, `the heap grew: ${mib.join(', ')} MiB`)
    const { version } = await entities.ask(rows, 'e-0', { ...command, n: 2 })
    assert.equal(version, 2)
  })

  test('an entity whose activation hangs delays nobody else', async () => {
    const calm = await latencies({ hangs: false })
    const disturbed = await latencies({ hangs: true })

    assert.equal(disturbed.unavailable, 'entity-unavailable')
    assert.ok(disturbed.p99 <= 2 * calm.p99, `p99 ${disturbed.p99} ms beside ${calm.p99} ms`)
  })
})

/** How long asks take in virtual time while entities keep being brought back from a slow journal. */
async function latencies(
  options: Readonly<{ hangs: boolean }>,
): Promise<{ p99: number; unavailable: string | undefined }> {
  await using earth = world({ seed: 7, stepsMax: 1_000_000 })
  const journal = slow(await memoryJournal({ clock: earth.clock }), earth.clock, 'row/hanging')
  const entities = createEntities({
    system: earth.system,
    journal,
    activeMax: 20,
    random: random(7),
    log: silentLog,
  })
  const took: number[] = []
  let unavailable: string | undefined
  const asks = Array.from({ length: 8 }, async (_, c) => {
    for (let n = 1; n <= 200; n++) {
      const since = earth.clock.monotonic()
      const id = `e-${earth.random.below(100)}`
      await entities.ask(rows, id, { type: 'number', client: `c-${c}`, n })
      took.push(earth.clock.monotonic() - since)
    }
  })
  if (options.hangs)
    entities.ask(rows, 'hanging', { type: 'number', client: 'c', n: 1 }).catch((error: unknown) => {
      unavailable = (error as { code: string }).code
    })
  await earth.until(Promise.all(asks))
  if (options.hangs) await earth.until(() => unavailable !== undefined)
  await earth.until(entities.drain())
  took.sort((a, b) => a - b)
  return { p99: took[Math.floor(took.length * 0.99)]!, unavailable }
}

/** Every read of history takes 2 ms; what is read of one stream never comes. */
function slow(journal: Journal, clock: Clock, hanging: string): Journal {
  const pause = (stream: string): Promise<void> =>
    new Promise((resolve) => {
      if (stream !== hanging) clock.setTimer(clock.monotonic() + 2, resolve)
    })
  return {
    state: 'open',
    commit: (batch) => journal.commit(batch),
    readStream: async (stream, page) => {
      await pause(stream)
      return journal.readStream(stream, page)
    },
    readAll: (page) => journal.readAll(page),
    position: () => journal.position(),
    version: (stream) => journal.version(stream),
    streams: (prefix, page) => journal.streams(prefix, page),
    readRecords: (collection, prefix, page) => journal.readRecords(collection, prefix, page),
    getRecords: (collection, keys) => journal.getRecords(collection, keys),
    lookup: (key) => journal.lookup(key),
    snapshots: async (stream, fold) => {
      await pause(stream)
      return journal.snapshots(stream, fold)
    },
    subscribe: (options) => journal.subscribe(options),
    takeFence: (name) => journal.takeFence(name),
    stats: () => journal.stats(),
    close: () => journal.close(),
    [Symbol.asyncDispose]: () => journal.close(),
  }
}
