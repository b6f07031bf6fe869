import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, test, type TestContext } from 'node:test'
import { Grants } from './grants.ts'
import { openTables } from './opening.ts'

function grantsFor(t: TestContext): Grants {
  const directory = mkdtempSync(join(tmpdir(), 'journal-'))
  openTables(directory).close()
  const grants = new Grants(directory, 1_000)
  t.after(() => {
    grants.close()
    rmSync(directory, { recursive: true })
  })
  return grants
}

function append(stream: string): Parameters<Grants['grant']>[0] {
  const events = [{ type: 'Happened', version: 1, at: 1, data: '' }]
  return { streams: [{ stream, expected: 'any', events }] }
}

function heapUsed(): number {
  assert.ok(globalThis.gc, 'tests run with --expose-gc')
  for (let n = 0; n < 3; n++) globalThis.gc()
  return process.memoryUsage().heapUsed
}

describe('what a batch is judged by', () => {
  test('is not remembered for all that was only looked at', (t) => {
    const grants = grantsFor(t)
    const before = heapUsed()
    grants.begin(1, 1)

    for (let n = 0; n < 100_000; n++) grants.version(`${n}`.padEnd(300, 'x'))

    const kept = heapUsed() - before
    assert.ok(kept < 25_000_000, `${kept} bytes are kept`)
  })

  test('is remembered while the tables do not have it, however much is looked at', (t) => {
    const grants = grantsFor(t)
    grants.begin(1, 1)
    grants.grant(append('a'), 1, 1)
    grants.judged()
    grants.keep()
    grants.begin(2, 1)
    grants.grant(append('b'), 2, 1)
    assert.equal(grants.takeFence('f'), 1)

    for (let n = 0; n < 70_000; n++) grants.version(`${n}`)

    assert.deepEqual([grants.version('a'), grants.version('b'), grants.token('f')], [1, 1, 1])
    grants.undo()
    assert.deepEqual([grants.version('a'), grants.version('b'), grants.token('f')], [1, 0, 0])
  })
})
