import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import { swarm, type SwarmFault } from './swarm.ts'

const ALL: readonly SwarmFault[] = [
  'small-mailboxes',
  'lost-messages',
  'repeated-messages',
  'late-messages',
  'bad-disks',
  'bad-journals',
]
const SEEDS = [...Array(1_000).keys()]

describe('swarm', () => {
  test('the same seed has the same options', () => {
    for (const seed of SEEDS.slice(0, 50)) assert.deepEqual(swarm(seed, ALL), swarm(seed, ALL))
  })

  test('every order and duration is drawn, without being asked for', () => {
    const drawn = SEEDS.map((seed) => swarm(seed, []))

    assert.deepEqual(
      new Set(drawn.map(({ order }) => order)),
      new Set(['any', 'arrival', 'newest']),
    )
    assert.deepEqual(new Set(drawn.map(({ turnMsMax }) => turnMsMax)), new Set([0, 1, 10]))
    assert.ok(drawn.every((options) => Object.keys(options).length === 2))
  })

  test('only faults that are borne strike, each in about half of the seeds', () => {
    for (const [fault, option] of [
      ['small-mailboxes', 'bound'],
      ['lost-messages', 'lossShare'],
      ['repeated-messages', 'repeatShare'],
      ['late-messages', 'delayMsMax'],
      ['bad-disks', 'diskFaults'],
      ['bad-journals', 'journalTroubles'],
    ] as const) {
      const struck = SEEDS.filter((seed) => swarm(seed, [fault])[option] !== undefined).length
      assert.ok(struck > 400 && struck < 600, `${fault}: ${struck}`)
      assert.ok(SEEDS.every((seed) => swarm(seed, [])[option] === undefined))
    }
  })

  test('faults strike in every combination, none and all included', () => {
    const combinations = new Set(
      SEEDS.map((seed) => Object.keys(swarm(seed, ALL)).toSorted().join(' ')),
    )
    assert.equal(combinations.size, 2 ** ALL.length)
  })

  test('a fault more leaves the others as they were', () => {
    for (const seed of SEEDS) {
      assert.equal(swarm(seed, ['lost-messages']).lossShare, swarm(seed, ALL).lossShare)
    }
  })
})
