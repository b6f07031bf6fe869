/**
 * A log that was carried over into the file of the tables says nothing that the file does not say as well.
 * So whatever becomes of it, a repair keeps every item.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'

import { TABLES_FILE } from '../../src/journal/sqlite/schema.ts'
import { random, type Random } from '../../src/std/index.ts'
import { LOG_FILE, makeBase, tablesOf, type Base } from './corruption/base.ts'
import { damage, type Damage } from './corruption/damage.ts'
import { judge } from './corruption/judge.ts'
import { flushNothing } from './corruption/unflushed.ts'

const SEED = 1_670_988_766
const JOURNALS = 6
const KINDS = ['bit flipped', 'bytes overwritten', 'sector zeroed', 'page zeroed', 'file cut']
const EACH = 3

flushNothing()

test('damage to a log that was carried over into the file costs nothing', (t) => {
  const chance = random(SEED)
  let items = 0
  for (let n = 0; n < JOURNALS; n++) {
    const base = carriedOver(SEED + n)
    for (const kind of KINDS.flatMap((one) => Array<string>(EACH).fill(one))) {
      const judgement = judge(base, logDamaged(base, kind, chance))

      assert.deepEqual(judgement.wrong, [], `${kind}, base ${base.seed}`)
      assert.equal(judgement.kept, judgement.items, `${kind}, base ${base.seed}`)
      items += judgement.items
    }
  }
  t.diagnostic(`${JOURNALS * KINDS.length * EACH} damages, ${items} items kept`)
})

function carriedOver(seed: number): Base {
  const base = makeBase(seed, 'killed')
  return { ...base, files: new Map(base.files).set(TABLES_FILE, tablesOf(base.files)) }
}

function logDamaged(base: Base, kind: string, chance: Random): Damage {
  const log = new Map([...base.files].filter(([name]) => name === LOG_FILE))
  const own = new Map([['log', [{ file: LOG_FILE, from: 0, to: log.get(LOG_FILE)!.length }]]])
  const damaged = damage({ ...base, files: log, own }, kind, chance)
  return { ...damaged, files: new Map([...base.files, ...damaged.files]) }
}
