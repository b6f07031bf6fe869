/** docs/reference/sqs.md and the code say the same. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { describe, test } from 'node:test'

import { sqsActions } from '../../src/broker/sqs/actions.ts'
import {
  computedAttributes,
  numberAttributes,
  settableAttributes,
} from '../../src/broker/sqs/attributes.ts'
import { sqsErrors } from '../../src/broker/sqs/errors.ts'
import { relaxedSqs, strictSqs } from '../../src/broker/sqs/limits.ts'
import { numbersIn, section, tableRows } from '../../tools/docs.ts'

const page = readFileSync('docs/reference/sqs.md', 'utf8')

function rowsOf(heading: string): Map<string, readonly string[]> {
  return tableRows(section(page, heading))
}

describe('the page of the SQS wire', () => {
  test('has every action', () => {
    assert.deepEqual([...rowsOf('## Actions').keys()].toSorted(), [...sqsActions.keys()].toSorted())
  })

  test('has every attribute, with its bounds', () => {
    const rows = rowsOf('## Attributes of queues')
    const all = [...settableAttributes, ...computedAttributes]
    assert.deepEqual([...rows.keys()].toSorted(), all.toSorted())
    for (const [name, { min, max, initial }] of Object.entries(numberAttributes))
      assert.deepEqual(rows.get(name)?.[0]?.split(', ').map(Number), [min, max, initial], name)
  })

  test('has every limit, strict and relaxed', () => {
    const rows = [...rowsOf('## Limits of a request')]
    const both = Object.entries(strictSqs).map(([name, strict]) => [name, strict] as const)
    assert.deepEqual(
      rows.map(([name, [strict = '', relaxed = '']]) => [
        name,
        numbersIn(strict),
        numbersIn(relaxed),
      ]),
      both.map(([name, strict]) => [
        name,
        [strict],
        [Object.entries(relaxedSqs).find(([one]) => one === name)?.[1]],
      ]),
    )
  })

  test('has every error, with its code, its status and its type', () => {
    const rows = [...rowsOf('## Errors')].map(([name, [code, status, type]]) => [
      name,
      code,
      Number(status),
      type === undefined || type === '' ? `com.amazonaws.sqs#${name}` : type,
    ])
    const inCode = Object.entries(sqsErrors).map(([name, { code, status, type }]) => [
      name,
      code,
      status,
      type,
    ])
    assert.deepEqual(rows, inCode)
  })
})
