import assert from 'node:assert/strict'
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { describe, test } from 'node:test'
import { openDirectory } from './opening.ts'
import { TABLES_FILE } from './schema.ts'

const RETENTION_MS = 1_000

function openAndClose(directory: string): void {
  const { database, lock } = openDirectory(directory, RETENTION_MS)
  database.close()
  lock.release()
}

describe('the intake of an earlier opening', () => {
  test('goes when the tables have it, and not while their log cannot be emptied', (t) => {
    const directory = mkdtempSync(join(tmpdir(), 'journal-'))
    t.after(() => rmSync(directory, { recursive: true }))
    openAndClose(directory)
    const intake = join(directory, `intake-1-${'0'.repeat(16)}-a.sealed`)
    writeFileSync(intake, '')
    const reader = new DatabaseSync(join(directory, TABLES_FILE), { readOnly: true })
    reader.exec('begin; select * from anchor')

    openAndClose(directory)

    assert.equal(existsSync(intake), true)
    reader.close()
    openAndClose(directory)
    assert.equal(existsSync(intake), false)
  })
})
