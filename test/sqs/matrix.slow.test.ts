/**
 * Every action by every client, in both protocols, signed and not, at a server process with its data on disk.
 *
 * A cell is full when the answers were right. What an old client does not know is listed in `UNKNOWN`; any other
 * empty cell fails, and so does a full one that is listed.
 */
import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test, type TestContext } from 'node:test'

import { sqsActions } from '../../src/broker/sqs/actions.ts'
import { freshFolder, serving } from '../server/processes.ts'
import { PROTOCOLS, type Protocol } from './calls.ts'
import { clientOf, MAKERS, SIGNINGS, type Maker, type Signing } from './clients.ts'
import { holdsErrors, turnsAway } from './client-errors.ts'
import { walk } from './walk.ts'

const KEY = {
  accessKeyId: 'AKIDMATRIX',
  secretAccessKey: 'wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY',
}
const REGION = 'eu-central-1'

/** Move tasks came in the middle of 2023; Debian's boto3 is older. */
const UNKNOWN: Readonly<Record<Maker, readonly string[]>> = {
  js: [],
  boto3: ['StartMessageMoveTask', 'ListMessageMoveTasks', 'CancelMessageMoveTask'],
}

type Column = Readonly<{ maker: Maker; protocol: Protocol; signing: Signing }>

const COLUMNS: readonly Column[] = MAKERS.flatMap((maker) =>
  PROTOCOLS.flatMap((protocol) => SIGNINGS.map((signing) => ({ maker, protocol, signing }))),
)

const full = new Map<Column, ReadonlySet<string>>()
/** Who it was; a client that had to be told of the protocol has a star, here and in its cells. */
const titles = new Map<Column, string>()

/** With keys, or open to all of this machine. */
async function server(t: TestContext, signing: Signing): Promise<string> {
  const folder = freshFolder(t)
  const config = join(folder, 'flytower.yaml')
  writeFileSync(config, JSON.stringify(signing === 'signed' ? { 'broker.sqs.keys': [KEY] } : {}))
  return serving(t, '--config', config, '--data', join(folder, 'data'), '--port', '0').url()
}

function regionOf({ signing }: Column): string {
  return signing === 'signed' ? REGION : 'local'
}

describe('clients of SQS', () => {
  for (const column of COLUMNS) {
    const { maker, protocol, signing } = column
    test(`${maker}, ${protocol}, ${signing}: every action it has is answered rightly`, async (t) => {
      const endpoint = await server(t, signing)
      const wanted = { ...column, ...KEY, endpoint, region: REGION }
      await using by = await clientOf(wanted)
      t.diagnostic(by.title)
      titles.set(column, `${by.isAsInstalled ? '' : '*'}${maker} ${protocol}: ${by.title}`)
      const proven = new Set<string>()
      full.set(column, proven)
      const walked = { client: by, prefix: 'm-', endpoint, region: regionOf(column), proven }
      await walk(walked)
      await holdsErrors(walked, wanted)
      if (signing === 'signed') await turnsAway(wanted)
    })
  }

  test('fill every cell but those that are listed', (t) => {
    for (const line of table()) t.diagnostic(line)
    const empty = COLUMNS.flatMap((column) =>
      [...sqsActions.keys()]
        .filter((action) => full.get(column)?.has(action) !== true)
        .map((action) => [column.maker, column.protocol, column.signing, action].join(' ')),
    )
    const listed = COLUMNS.flatMap((column) =>
      [...sqsActions.keys()]
        .filter((action) => UNKNOWN[column.maker].includes(action))
        .map((action) => [column.maker, column.protocol, column.signing, action].join(' ')),
    )
    assert.deepEqual(empty, listed)
    assert.equal(sqsActions.size, 23)
  })
})

function table(): readonly string[] {
  const heads = COLUMNS.map(({ maker, protocol, signing }) => `${maker} ${protocol} ${signing}`)
  const rows = [...sqsActions.keys()].map((action) => {
    const cells = COLUMNS.map((column, at) => {
      const isFull = full.get(column)?.has(action) === true
      const mark = isFull
        ? titles.get(column)?.startsWith('*') === true
          ? 'yes*'
          : 'yes'
        : UNKNOWN[column.maker].includes(action)
          ? 'unknown to it'
          : 'MISSING'
      return mark.padEnd(heads[at]!.length)
    })
    return `${action.padEnd(28)} | ${cells.join(' | ')}`
  })
  return [`${''.padEnd(28)} | ${heads.join(' | ')}`, ...rows, ...new Set(titles.values())]
}
