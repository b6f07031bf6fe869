import assert from 'node:assert/strict'
import { cpSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, test, type TestContext } from 'node:test'

import { describeDirectory } from './describe.ts'
import { sqliteJournal, type SqliteJournal } from './engine.ts'
import { repairDirectory, restoreDirectory } from './errand.ts'
import { SCHEMA_VERSION, TABLES_FILE } from './schema.ts'

function folder(t: TestContext): string {
  const parent = mkdtempSync(join(tmpdir(), 'describe-'))
  t.after(() => rmSync(parent, { recursive: true }))
  return parent
}

async function written(directory: string): Promise<SqliteJournal> {
  const journal = await sqliteJournal({ directory })
  await journal.commit({ records: [{ collection: 'c', key: 'k', value: 'v' }] })
  return journal
}

describe('a directory from outside', () => {
  test('is no journal where there is none', (t) => {
    const parent = folder(t)
    const none = { isJournal: false, schemaKnown: SCHEMA_VERSION, bytes: 0, leftovers: [] }
    assert.deepEqual(describeDirectory(join(parent, 'none')), none)
    assert.deepEqual(describeDirectory(parent), none)
    assert.deepEqual(readdirSync(parent), [])
  })

  test('says who has it, as long as they do', async (t) => {
    const directory = join(folder(t), 'journal')
    const journal = await written(directory)
    const held = describeDirectory(directory)
    assert.equal(held.holder?.startsWith(`process ${process.pid} on `), true)
    assert.equal(held.schema, SCHEMA_VERSION)

    await journal.close()
    const free = describeDirectory(directory)
    assert.equal(free.holder, undefined)
    assert.ok(free.isJournal && free.bytes > 0 && free.writtenAt !== undefined)
  })

  test('names what a repair has kept, unless the repair was cut short', async (t) => {
    const directory = join(folder(t), 'journal')
    await (await written(directory)).close()
    const { original } = await repairDirectory(directory)
    const [left, ...more] = describeDirectory(directory).leftovers
    assert.equal(left?.path, original)
    assert.ok(left.bytes > 0)
    assert.deepEqual(more, [])

    writeFileSync(join(directory, TABLES_FILE), 'this journal is being repaired; …')
    const cutShort = describeDirectory(directory)
    assert.equal(cutShort.schema, undefined)
    assert.deepEqual(cutShort.leftovers, [])
  })
})

describe('a backup', () => {
  test('is restored to a directory that is not there, or is empty', async (t) => {
    const parent = folder(t)
    const journal = await written(join(parent, 'journal'))
    await journal.backup(join(parent, 'backup'))
    await journal.close()
    mkdirSync(join(parent, 'empty'))
    for (const name of ['none', 'empty']) {
      const report = await restoreDirectory(join(parent, 'backup'), join(parent, name))
      assert.equal(report.checked.records, 1)
      await using restored = await sqliteJournal({ directory: join(parent, name) })
      assert.deepEqual(await restored.getRecords('c', ['k']), [{ key: 'k', value: 'v' }])
    }
  })

  test('may be a copy of a directory whose process was killed', async (t) => {
    const parent = folder(t)
    const journal = await written(join(parent, 'journal'))
    cpSync(join(parent, 'journal'), join(parent, 'copy'), { recursive: true })
    await journal.close()
    await restoreDirectory(join(parent, 'copy'), join(parent, 'restored'))
    await using restored = await sqliteJournal({ directory: join(parent, 'restored') })
    assert.deepEqual(await restored.getRecords('c', ['k']), [{ key: 'k', value: 'v' }])
  })

  test('is not restored over anything, nor where it is none or damaged', async (t) => {
    const parent = folder(t)
    const journal = await written(join(parent, 'journal'))
    const backup = join(parent, 'backup')
    await journal.backup(backup)
    await journal.close()
    const target = join(parent, 'target')
    await assert.rejects(restoreDirectory(parent, target), { code: 'damaged' })
    await assert.rejects(restoreDirectory(backup, join(parent, 'journal')), {
      code: 'target-exists',
    })
    writeFileSync(join(backup, TABLES_FILE), 'no longer')
    await assert.rejects(restoreDirectory(backup, target), { code: 'damaged' })
    assert.deepEqual(readdirSync(parent).toSorted(), ['backup', 'journal'])
  })
})
