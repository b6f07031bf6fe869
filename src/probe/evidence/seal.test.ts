import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { appendFileSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test, describe } from 'node:test'

import { Scratch } from '../../../test/probe/running.ts'
import { sealEvidence, verifyEvidence, writeFacts, type RunFacts } from './seal.ts'

const FACTS: RunFacts = {
  testId: 't',
  startedAt: '2026-01-01T00:00:00.000Z',
  endedAt: '2026-01-01T00:00:01.000Z',
  isolation: 'process',
  tags: '',
  isDryRun: false,
  versions: {},
  bundle: { sha256: '', files: [] },
}

async function sealed(): Promise<Scratch & { at: (name: string) => string }> {
  const scratch = new Scratch()
  const at = (name: string): string => join(scratch.path, name)
  writeFileSync(at('run.log'), 'a log\n')
  writeFileSync(at('junit.xml'), '<testsuite/>\n')
  await writeFacts(scratch.path, FACTS)
  return Object.assign(scratch, { at })
}

describe('sealed evidence', () => {
  test('has the hash of every file, and nothing is found in it', async () => {
    using evidence = await sealed()
    const files = await sealEvidence(evidence.path)
    assert.deepEqual(
      files.map(({ name, bytes }) => [name, bytes > 0]),
      [
        ['junit.xml', true],
        ['metadata.json', true],
        ['run.log', true],
      ],
    )
    const metadata = JSON.parse(readFileSync(evidence.at('metadata.json'), 'utf8'))
    assert.deepEqual(metadata.run, FACTS)
    const log = createHash('sha256').update('a log\n').digest('hex')
    assert.equal(files.find(({ name }) => name === 'run.log')?.sha256, log)
    assert.deepEqual(
      metadata.files,
      files.filter(({ name }) => name !== 'metadata.json'),
    )
    assert.deepEqual(await verifyEvidence(evidence.path, files), [])
  })

  test('is sealed again to the same bytes', async () => {
    using evidence = await sealed()
    assert.deepEqual(await sealEvidence(evidence.path), await sealEvidence(evidence.path))
  })

  test('shows a file that was changed, taken away, added or given another name', async () => {
    using evidence = await sealed()
    await sealEvidence(evidence.path)
    appendFileSync(evidence.at('run.log'), 'more\n')
    assert.deepEqual(await verifyEvidence(evidence.path), [{ file: 'run.log', is: 'changed' }])
    rmSync(evidence.at('run.log'))
    assert.deepEqual(await verifyEvidence(evidence.path), [{ file: 'run.log', is: 'missing' }])
    renameSync(evidence.at('junit.xml'), evidence.at('other.xml'))
    assert.deepEqual(await verifyEvidence(evidence.path), [
      { file: 'junit.xml', is: 'missing' },
      { file: 'run.log', is: 'missing' },
      { file: 'other.xml', is: 'added' },
    ])
  })

  test('shows facts that were changed, and hashes that were changed with their files', async () => {
    using evidence = await sealed()
    const files = await sealEvidence(evidence.path)
    const metadata = JSON.parse(readFileSync(evidence.at('metadata.json'), 'utf8'))
    const changed = { ...metadata, run: { ...metadata.run, testId: 'another' } }
    writeFileSync(evidence.at('metadata.json'), JSON.stringify(changed))
    assert.deepEqual(await verifyEvidence(evidence.path), [
      { file: 'metadata.json', is: 'unsealed' },
    ])
    writeFileSync(evidence.at('run.log'), 'forged\n')
    await sealEvidence(evidence.path) // by somebody who knows how
    assert.deepEqual(await verifyEvidence(evidence.path), [])
    assert.deepEqual(await verifyEvidence(evidence.path, files), [
      { file: 'metadata.json', is: 'changed' },
      { file: 'run.log', is: 'changed' },
    ])
  })

  test('was never sealed where there are no facts, or none that can be read', async () => {
    using evidence = await sealed()
    writeFileSync(evidence.at('metadata.json'), '{')
    const found = await verifyEvidence(evidence.path)
    assert.ok(found.some(({ is }) => is === 'unsealed'))
    rmSync(evidence.at('metadata.json'))
    await sealEvidence(evidence.path) // a test that never came to run has evidence too
    assert.deepEqual(await verifyEvidence(evidence.path), [])
  })
})
