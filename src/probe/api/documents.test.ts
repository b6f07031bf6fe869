/** The pages about the API say what the routes say, in both directions. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { describe, test } from 'node:test'

import { desk } from '../../../test/probe/desk.ts'
import { openapiOf, type Route } from '../../http/index.ts'
import { readDirective } from '../bundle/directive-file.ts'
import { statusSchema } from './answering.ts'
import { startBody } from './input.ts'
import { PROBE_REFUSALS, START_REFUSALS } from './refusing.ts'

const shown = await desk()
const { routes } = shown
await shown[Symbol.asyncDispose]()

const reference = readFileSync('docs/reference/test-api.md', 'utf8')
const guide = readFileSync('docs/guides/test-runs.md', 'utf8')

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

function fieldsUnder(heading: string): string[] {
  return rowsUnder(heading).flatMap(([names = '']) => names.split(', '))
}

function known(schema: Readonly<Record<string, unknown>>): string[] {
  return Object.keys(schema['properties'] as object)
}

function keysUnder(heading: string): string[] {
  const [, after = ''] = guide.split(`\n${heading}\n`)
  const [, table = ''] = after.split('| key | default | what it says |')
  return [...(table.split('\n\n')[0] ?? '').matchAll(/^\| (`[^|]+) \|/gm)].flatMap(
    ([, names = '']) => names.replaceAll('`', '').split(', '),
  )
}

describe('docs/reference/test-api.md', () => {
  test('has every route with its permission and its answers, and no other', () => {
    assert.deepEqual(rowsUnder('## Endpoints'), routes.map(rowOf))
  })

  test('has every refusal with its status and its word, and no other', () => {
    assert.deepEqual(
      rowsUnder('## Refusals'),
      Object.entries(PROBE_REFUSALS).map(([code, { status, error, when }]) => [
        code,
        String(status),
        error,
        when,
      ]),
    )
  })

  test('has every reason why a start is not accepted, and no other', () => {
    assert.deepEqual(
      rowsUnder('## Starts that are not accepted').map(([reason, status]) => [reason, status]),
      Object.entries(START_REFUSALS).map(([reason, status]) => [reason, String(status)]),
    )
  })

  test('has every field of a start and of a status, and no other', () => {
    assert.deepEqual(fieldsUnder('## Start'), known(startBody.schema))
    assert.deepEqual(fieldsUnder('## Status'), known(statusSchema))
  })
})

describe('docs/guides/test-runs.md', () => {
  test('has every key of a directive, and of a topic in it', async () => {
    const { directive } = await readDirective('topics:\n  - { topic: a, role: producer }\n')
    assert.deepEqual(keysUnder('## Bundles').toSorted(), Object.keys(directive).toSorted())
    const topic = Object.keys(directive.topics[0]!).filter((key) => key !== 'line')
    assert.deepEqual(keysUnder('## Topics').toSorted(), topic.toSorted())
  })

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
