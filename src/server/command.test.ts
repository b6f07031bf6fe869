import assert from 'node:assert/strict'
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, test } from 'node:test'

import { sqliteJournal } from '../journal/index.ts'
import { answer } from './command.ts'

const versions = { product: '1.2.3', node: 'v24.12.0' }

describe('command', () => {
  test('tells its version', async () => {
    assert.deepEqual(await answer(['--version'], versions), { text: '1.2.3', exitCode: 0 })
    assert.deepEqual(await answer(['-v'], versions), { text: '1.2.3', exitCode: 0 })
  })

  test('tells its usage when asked and when not told what to do', async () => {
    for (const args of [['--help'], ['-h'], []]) {
      const { text, exitCode } = await answer(args, versions)
      assert.match(text, /^Usage: /)
      assert.equal(exitCode, 0)
    }
  })

  test('names what it does not understand', async () => {
    for (const args of [['serve'], ['--version', 'please']]) {
      const { text, exitCode } = await answer(args, versions)
      assert.match(text, new RegExp(`^unknown arguments: ${args.join(' ')}`))
      assert.equal(exitCode, 2)
    }
  })

  test('an old Node is refused with what to do about it', async () => {
    for (const node of ['v24.12.0', 'v24.13.1', 'v25.0.0'])
      assert.equal((await answer(['--version'], { ...versions, node })).exitCode, 0)
    for (const node of ['v24.11.9', 'v20.20.2', 'v0.12.7']) {
      const { text, exitCode } = await answer(['--version'], { ...versions, node })
      assert.match(text, /needs Node 24\.12 or newer, this is v/)
      assert.match(text, /npm ci/)
      assert.equal(exitCode, 1)
    }
  })

  test('verifies and repairs the directory of a journal', async (t) => {
    const parent = mkdtempSync(join(tmpdir(), 'command-'))
    t.after(() => rmSync(parent, { recursive: true }))
    const directory = join(parent, 'journal')
    const journal = await sqliteJournal({ directory })
    await journal.commit({ records: [{ collection: 'c', key: 'k', value: 'v' }] })

    const inUse = await answer(['verify', directory], versions)
    assert.match(inUse.text, /^journal-in-use: /)
    assert.equal(inUse.exitCode, 1)

    await journal.close()
    const verified = await answer(['verify', directory], versions)
    assert.deepEqual(verified.exitCode, 0, verified.text)
    assert.equal((JSON.parse(verified.text) as { checked: { records: number } }).checked.records, 1)

    const repaired = await answer(['repair', directory, join(parent, 'repaired')], versions)
    assert.equal(repaired.exitCode, 0, repaired.text)
    assert.equal((JSON.parse(repaired.text) as { share: number }).share, 1)
    assert.deepEqual(readdirSync(parent).toSorted(), ['journal', 'repaired'])
  })
})
