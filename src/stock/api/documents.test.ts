/** The pages about the API say what the routes say, in both directions. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { describe, test } from 'node:test'

import { shop } from '../../../test/stock/shop.ts'
import type { Route } from '../../http/index.ts'

const shown = await shop()
const routes = shown.routes
await shown[Symbol.asyncDispose]()

const reference = readFileSync('docs/reference/stock-api.md', 'utf8')
const guide = readFileSync('docs/guides/stock.md', 'utf8')

function rowsUnder(heading: string): string[][] {
  const from = reference.indexOf(`\n${heading}\n`)
  const to = reference.indexOf('\n## ', from + 1)
  return reference
    .slice(from, to)
    .split('\n')
    .filter((line) => line.startsWith('| `'))
    .map((line) =>
      line
        .split('|')
        .slice(1, -1)
        .map((cell) => cell.trim().replaceAll('`', '')),
    )
}

type Refusal = Readonly<{ code: string; status: string; detail: string }>

function refusalsOf({ answers }: Route): [number: string, refusal: Refusal][] {
  return Object.entries(answers).flatMap(([number, { schema }]) => {
    const examples = schema?.['examples'] as Partial<Refusal>[] | undefined
    return (examples ?? [])
      .filter((example): example is Refusal => typeof example.code === 'string')
      .map((refusal): [string, Refusal] => [number, refusal])
  })
}

describe('docs/reference/stock-api.md', () => {
  test('has every route with its permission and its answers, and no other', () => {
    assert.deepEqual(
      rowsUnder('## Endpoints').map((cells) => cells.slice(0, 3)),
      routes.map(({ method, path, access, answers }) => [
        `${method} ${path}`,
        access === 'open' ? 'none' : access.permission,
        Object.keys(answers).join(', '),
      ]),
    )
  })

  test('has every refusal with its status and its word, and no other', () => {
    const inCode = new Map<string, string[]>()
    for (const [number, { code, status, detail }] of routes.flatMap(refusalsOf))
      if (number !== '303') inCode.set(code, [code, number, status, detail])
    const inDocs = rowsUnder('## Refusals').map((cells): [string, string[]] => [cells[0]!, cells])
    assert.deepEqual(Object.fromEntries(inDocs), Object.fromEntries(inCode))
  })
})

describe('docs/guides/stock.md', () => {
  test('has a command for every route', () => {
    const asked = [
      ...guide.matchAll(/(?:curl (?:[^\n]|\\\n)*?)?http:\/\/127\.0\.0\.1:8470([^\s'"?;]*)/g),
    ].map(([, path = '']) => path)
    const missing = routes.filter(({ path }) => {
      const pattern = new RegExp(`^${path.replaceAll(/\{\w+\}/g, '[^/]+')}$`)
      return !asked.some((each) => pattern.test(each))
    })
    assert.deepEqual(
      missing.map(({ path }) => path),
      ['/health'],
    )
  })
})
