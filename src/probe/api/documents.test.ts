/** The pages about the API say what the routes say, in both directions. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { describe, test } from 'node:test'

import { endpointRows, pathsWithoutCommand, rowsUnder } from '../../../test/api-pages.ts'
import { desk } from '../../../test/probe/desk.ts'
import { readDirective } from '../bundle/directive-file.ts'
import { statusSchema } from './answering.ts'
import { startBody } from './input.ts'
import { PROBE_REFUSALS, START_REFUSALS } from './refusing.ts'

const shown = await desk()
const { routes } = shown
await shown[Symbol.asyncDispose]()

const REFERENCE = 'docs/reference/test-api.md'
const GUIDE = 'docs/guides/test-runs.md'

function fieldsUnder(heading: string): string[] {
  return rowsUnder(REFERENCE, heading).flatMap(([names = '']) => names.split(', '))
}

function known(schema: Readonly<Record<string, unknown>>): string[] {
  return Object.keys(schema['properties'] as object)
}

function keysUnder(heading: string): string[] {
  const [, after = ''] = readFileSync(GUIDE, 'utf8').split(`\n${heading}\n`)
  const [, table = ''] = after.split('| key | default | what it says |')
  return [...(table.split('\n\n')[0] ?? '').matchAll(/^\| (`[^|]+) \|/gm)].flatMap(
    ([, names = '']) => names.replaceAll('`', '').split(', '),
  )
}

describe(REFERENCE, () => {
  test('has every route with its permission and its answers, and no other', () => {
    assert.deepEqual(rowsUnder(REFERENCE, '## Endpoints'), endpointRows(routes))
  })

  test('has every refusal with its status and its word, and no other', () => {
    assert.deepEqual(
      rowsUnder(REFERENCE, '## Refusals'),
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
      rowsUnder(REFERENCE, '## Starts that are not accepted').map(([reason, status]) => [
        reason,
        status,
      ]),
      Object.entries(START_REFUSALS).map(([reason, status]) => [reason, String(status)]),
    )
  })

  test('has every field of a start and of a status, and no other', () => {
    assert.deepEqual(fieldsUnder('## Start'), known(startBody.schema))
    assert.deepEqual(fieldsUnder('## Status'), known(statusSchema))
  })
})

describe(GUIDE, () => {
  test('has every key of a directive, and of a topic in it', async () => {
    const { directive } = await readDirective('topics:\n  - { topic: a, role: producer }\n')
    assert.deepEqual(keysUnder('## Bundles').toSorted(), Object.keys(directive).toSorted())
    const topic = Object.keys(directive.topics[0]!).filter((key) => key !== 'line')
    assert.deepEqual(keysUnder('## Topics').toSorted(), topic.toSorted())
  })

  test('has a command for every route', () => {
    assert.deepEqual(pathsWithoutCommand(GUIDE, routes), [])
  })
})
