/** The pages about the API say what the routes say, in both directions. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import { endpointRows, pathsWithoutCommand, rowsUnder } from '../../../test/api-pages.ts'
import { counter } from '../../../test/broker/counter.ts'
import { config } from './config-input.ts'
import { QUEUE_REFUSALS } from './refusing.ts'

const shown = await counter()
const { routes } = shown
await shown[Symbol.asyncDispose]()

const REFERENCE = 'docs/reference/queue-api.md'
const GUIDE = 'docs/guides/queues.md'

describe(REFERENCE, () => {
  test('has every route with its permission and its answers, and no other', () => {
    assert.deepEqual(rowsUnder(REFERENCE, '## Endpoints'), endpointRows(routes))
  })

  test('has every refusal with its status, and no other', () => {
    assert.deepEqual(
      rowsUnder(REFERENCE, '## Refusals'),
      Object.entries(QUEUE_REFUSALS).map(([code, { status, when }]) => [
        code,
        String(status),
        when,
      ]),
    )
  })

  test('has every setting of a queue, and no other', () => {
    const listed = rowsUnder(REFERENCE, '## Queues').flatMap(([names = '']) => names.split(', '))
    const known = Object.keys(config.schema['properties'] as object)
    assert.deepEqual([...listed, 'maxRetries'].toSorted(), known.toSorted())
  })
})

describe(GUIDE, () => {
  test('has a command for every route', () => {
    assert.deepEqual(pathsWithoutCommand(GUIDE, routes), [])
  })
})
