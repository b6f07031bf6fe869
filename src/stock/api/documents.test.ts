/** The pages about the API say what the routes say, in both directions. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import { pathsWithoutCommand, rowsUnder } from '../../../test/api-pages.ts'
import { shop } from '../../../test/stock/shop.ts'
import type { Route } from '../../http/index.ts'

const shown = await shop()
const routes = shown.routes
await shown[Symbol.asyncDispose]()

const REFERENCE = 'docs/reference/stock-api.md'
const GUIDE = 'docs/guides/stock.md'

type Refusal = Readonly<{ code: string; status: string; detail: string }>

function refusalsOf({ answers }: Route): [number: string, refusal: Refusal][] {
  return Object.entries(answers).flatMap(([number, { schema }]) => {
    const examples = schema?.['examples'] as Partial<Refusal>[] | undefined
    return (examples ?? [])
      .filter((example): example is Refusal => typeof example.code === 'string')
      .map((refusal): [string, Refusal] => [number, refusal])
  })
}

describe(REFERENCE, () => {
  test('has every route with its permission and its answers, and no other', () => {
    assert.deepEqual(
      rowsUnder(REFERENCE, '## Endpoints').map((cells) => cells.slice(0, 3)),
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
    const inDocs = rowsUnder(REFERENCE, '## Refusals').map((cells): [string, string[]] => [
      cells[0]!,
      cells,
    ])
    assert.deepEqual(Object.fromEntries(inDocs), Object.fromEntries(inCode))
  })
})

describe(GUIDE, () => {
  test('has a command for every route', () => {
    assert.deepEqual(pathsWithoutCommand(GUIDE, routes), ['/health'])
  })
})
