/** The pages about the API say what the routes say, in both directions. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { describe, test } from 'node:test'

import { counter } from '../../../test/broker/counter.ts'
import { openapiOf, type Route } from '../../http/index.ts'
import { config } from './config-input.ts'
import { QUEUE_REFUSALS } from './refusing.ts'

const shown = await counter()
const { routes } = shown
await shown[Symbol.asyncDispose]()

const reference = readFileSync('docs/reference/queue-api.md', 'utf8')
const guide = readFileSync('docs/guides/queues.md', 'utf8')

function rowsUnder(heading: string): string[][] {
  const from = reference.indexOf(`\n${heading}\n`)
  const to = reference.indexOf('\n## ', from + 1)
  return reference
    .slice(from, to === -1 ? undefined : to)
    .split('\n')
    .filter((line) => line.startsWith('| `'))
    .map((line) => line.split('|').slice(1, -1))
    .map((cells) => cells.map((cell) => cell.trim().replaceAll('`', '')))
}

type Document = Readonly<{
  paths: Readonly<Record<string, Readonly<Record<string, { responses: object }>>>>
}>

function rowOf({ method, path, access, summary }: Route): string[] {
  const { paths } = openapiOf(routes, { title: '', version: '' }) as Document
  const { responses } = paths[path]![method.toLowerCase()]!
  const permission = access === 'open' ? 'none' : access.permission
  return [`${method} ${path}`, permission, Object.keys(responses).join(', '), summary]
}

describe('docs/reference/queue-api.md', () => {
  test('has every route with its permission and its answers, and no other', () => {
    assert.deepEqual(rowsUnder('## Endpoints'), routes.map(rowOf))
  })

  test('has every refusal with its status, and no other', () => {
    assert.deepEqual(
      rowsUnder('## Refusals'),
      Object.entries(QUEUE_REFUSALS).map(([code, { status, when }]) => [
        code,
        String(status),
        when,
      ]),
    )
  })

  test('has every setting of a queue, and no other', () => {
    const listed = rowsUnder('## Queues').flatMap(([names = '']) => names.split(', '))
    const known = Object.keys(config.schema['properties'] as object)
    assert.deepEqual([...listed, 'maxRetries'].toSorted(), known.toSorted())
  })
})

describe('docs/guides/queues.md', () => {
  test('has a command for every route', () => {
    const asked = [...guide.matchAll(/http:\/\/127\.0\.0\.1:8470([^\s'"?;]*)/g)].map(
      ([, path = '']) => path,
    )
    const missing = routes.filter(({ path }) => {
      const pattern = new RegExp(`^${path.replaceAll(/\{\w+\}/g, '[^/]+')}$`)
      return !asked.some((each) => pattern.test(each))
    })
    assert.deepEqual(
      missing.map(({ path }) => path),
      [],
    )
  })
})
