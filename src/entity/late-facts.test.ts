import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import { Accident, fault } from '../std/index.ts'
import { gate, scene, type Scene } from '../../test/entity/scene.ts'
import { accept, answer, entity, type EntityDefinition } from './index.ts'

type Noted = Readonly<{ type: 'noted'; what: string; when: number }>
type Diary = EntityDefinition<
  readonly string[],
  Omit<Noted, 'type'> | 'look',
  Noted,
  readonly string[]
>

/** Lists what happened in the order in which it happened; wants to be woken for what is to come. */
const diary: Diary = entity({
  type: 'diary',
  version: 1,
  initial: () => [],
  decide: (notes, command) =>
    command === 'look' ? answer(notes) : accept([{ type: 'noted', ...command }], notes),
  evolve: (notes, { what }) => [...notes, what],
  effectiveAt: ({ when }) => when,
})

/** So many that the first of them are no longer in memory. */
async function write({ earth, entities }: Scene, count: number): Promise<void> {
  for (let n = 1; n <= count; n++)
    await earth.until(entities.ask(diary, 'd', { what: `note ${n}`, when: n * 10 }))
}

describe('a late fact', () => {
  test('finds its place, also below everything that is in memory', async () => {
    for (const when of [1_995, 15]) {
      await using stage = await scene()
      const { earth, entities } = stage
      await write(stage, 200)
      const late = await earth.until(entities.ask(diary, 'd', { what: 'late', when }))
      assert.equal(late.version, 201)
      const { reply, version } = await earth.until(entities.ask(diary, 'd', 'look'))
      assert.deepEqual([reply.indexOf('late'), version], [Math.floor(when / 10), 201])
      assert.deepEqual(reply, (await entities.read(diary, 'd')).state)
      assert.equal(entities.metrics().refolds, when === 15 ? 0 : 1)
    }
  })

  test('from below lets nobody be answered from a state that is not known', async () => {
    await using stage = await scene()
    const { earth, entities, script } = stage
    await write(stage, 200)
    const slow = gate()
    script.commit = slow.hold
    const asked = [
      entities.ask(diary, 'd', { what: 'first', when: 3_000 }),
      entities.ask(diary, 'd', { what: 'late', when: 15 }),
      entities.ask(diary, 'd', { what: 'after', when: 3_001 }),
      entities.ask(diary, 'd', 'look'),
    ]
    await earth.advance(10)
    slow.open()
    const answers = await earth.until(Promise.all(asked))
    assert.deepEqual(
      answers.map(({ version }) => version),
      [201, 202, 203, 203],
    )
    const seen = answers[3]!.reply
    assert.deepEqual([seen[1], seen.at(-2), seen.at(-1)], ['late', 'first', 'after'])
    assert.deepEqual(seen, (await entities.read(diary, 'd')).state)
  })

  test('from below that does not become history leaves everything as it was', async () => {
    await using stage = await scene()
    const { earth, entities, script } = stage
    await write(stage, 200)
    script.commit = async () => {
      delete script.commit
      throw new Accident(fault<string>('read-only', 'full'))
    }
    const late = entities.ask(diary, 'd', { what: 'late', when: 15 })
    await earth.until(assert.rejects(late, { code: 'read-only' }))
    const { reply } = await earth.until(entities.ask(diary, 'd', 'look'))
    assert.equal(reply.length, 200)
    assert.equal(entities.metrics().activations, 1)
  })

  test('that others wrote is put in its place too', async () => {
    await using stage = await scene()
    const { earth, entities, another } = stage
    const other = another()
    await write(stage, 200)
    for (const [what, when] of [
      ['a bit late', 1_995],
      ['very late', 15],
    ] as const) {
      await earth.until(other.ask(diary, 'd', { what, when }))
      await earth.until(entities.ask(diary, 'd', { what: `after ${what}`, when: 9_000 }))
      const { reply } = await earth.until(entities.ask(diary, 'd', 'look'))
      assert.deepEqual(reply, (await entities.read(diary, 'd')).state)
      assert.ok(reply.indexOf(what) < 200)
    }
  })
})
