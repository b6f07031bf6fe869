import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'

import { accept, createEntities, entity, type EntityDefinition } from '../../src/entity/index.ts'
import { sqliteJournal } from '../../src/journal/index.ts'
import { createSystem } from '../../src/kernel/index.ts'
import { silentLog } from '../../src/std/index.ts'

type Page = Readonly<{ type: 'written'; text: string }>

/** Counts its pages, and is never folded but from the first. */
const book: EntityDefinition<number, Page, Page, number> = entity({
  type: 'book',
  version: 1,
  initial: () => 0,
  decide: (pages, page) => accept([page], pages + 1),
  evolve: (pages) => pages + 1,
  snapshots: { every: Infinity },
})

const PAGES = 1_100
const page: Page = { type: 'written', text: 'x'.repeat(70_000) } // 77 MB in all

test('an entity comes back from more history than one read gives', async (t) => {
  const directory = mkdtempSync(join(tmpdir(), 'book-'))
  t.after(() => rmSync(directory, { recursive: true }))
  await using journal = await sqliteJournal({ directory })
  await using system = createSystem({ log: silentLog })
  await using entities = createEntities({ system, journal })

  for (let n = 0; n < PAGES; n += 100)
    await Promise.all(Array.from({ length: 100 }, () => entities.ask(book, 'long', page)))
  await entities.passivate({ type: 'book', id: 'long' })

  assert.equal((await entities.ask(book, 'long', page)).reply, PAGES + 1)
  assert.deepEqual(await entities.read(book, 'long'), { state: PAGES + 1, version: PAGES + 1 })
})
