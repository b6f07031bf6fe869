/**
 * The page that finds each of the 102 older scenarios again, held to the features. It is short of
 * nothing and says nothing that is not so.
 */
import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { test } from 'node:test'

type Row = readonly string[]

const ROOT = join(import.meta.dirname, '../..')
const COUNT = 102

const page = readFileSync(join(ROOT, 'docs/reference/stock-scenarios.md'), 'utf8')

test('the page has exactly 102 rows, numbered, no two the same, each with a scenario', () => {
  const rows = rowsUnder('The 102')
  assert.deepEqual(
    rows.map(([n]) => n),
    Array.from({ length: COUNT }, (_, n) => `${n + 1}`),
  )
  assert.equal(new Set(rows.map(([, area, name]) => `${area}: ${name}`)).size, COUNT)
  for (const row of rows) assert.ok(scenariosIn(row.at(-1)!).length > 0, row.join(' | '))
})

test('every scenario that the page names exists, and every one that exists is named', () => {
  const named = new Set(
    ['The 102', 'Not among the 102', 'Ours besides']
      .flatMap(rowsUnder)
      .flatMap((row) => scenariosIn(row.at(-1)!)),
  )
  assert.deepEqual([...named].toSorted(), existing().toSorted())
})

test('no two scenarios have one name', () => {
  const all = existing()
  assert.equal(new Set(all).size, all.length)
})

function rowsUnder(heading: string): Row[] {
  const section = page.split(/^## /m).find((part) => part.startsWith(`${heading}\n`))
  assert.ok(section !== undefined, heading)
  const rows = section.split('\n').filter((line) => line.startsWith('| '))
  return rows.slice(1).map((row) => row.slice(2, -2).split(' | '))
}

function scenariosIn(cell: string): string[] {
  return [...cell.matchAll(/`([\w-]+\.feature)` "([^"]+)"/g)].map(
    ([, file, name]) => `${file}: ${name}`,
  )
}

function existing(): string[] {
  return globSync(join(import.meta.dirname, 'stock/*.feature')).flatMap((path) =>
    [...readFileSync(path, 'utf8').matchAll(/^\s*Scenario(?: Outline)?: (.*)$/gm)].map(
      ([, name]) => `${basename(path)}: ${name!.trim()}`,
    ),
  )
}
