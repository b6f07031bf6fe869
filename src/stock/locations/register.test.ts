import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import fc from 'fast-check'

import { isFault } from '../../std/index.ts'
import { given } from '../../testkit/index.ts'
import { locationRegister, placesOf, type RegisterCommand, type RegisterEvent } from './register.ts'
import { LOCATION_DEPTH_MAX, LOCATIONS_MAX } from './tree.ts'

const created = (id: string, parent: string | null = null): RegisterEvent => ({
  type: 'created',
  id,
  parent,
  roles: [],
})

/** The code of the refusal, or `accept`. */
function outcome(events: readonly RegisterEvent[], command: RegisterCommand): string {
  const { decision } = given(locationRegister, events).when(command)
  if (decision.type !== 'answer') return decision.type
  return isFault(decision.reply) ? decision.reply.code : 'answer'
}

const chain = (length: number, name = 'p'): RegisterEvent[] =>
  Array.from({ length }, (_, n) => created(`${name}${n}`, n === 0 ? null : `${name}${n - 1}`))

describe('the register of locations', () => {
  test('creates, moves and changes roles', () => {
    const place = { id: 'b', parent: 'a', roles: ['x'] }
    given(locationRegister, [created('a'), created('c')])
      .when({ type: 'create', ...place })
      .expect([{ type: 'created', ...place }], { ok: true, place })
      .when({ type: 'move', id: 'b', parent: 'c' })
      .expect([{ type: 'moved', ...place, parent: 'c' }], {
        ok: true,
        place: { ...place, parent: 'c' },
      })
      .when({ type: 'set-roles', id: 'b', roles: [] })
      .expect([{ type: 'roles-set', id: 'b', parent: 'c', roles: [] }], {
        ok: true,
        place: { id: 'b', parent: 'c', roles: [] },
      })
  })

  test('refuses what is there, what is not, and circles', () => {
    const history = chain(3)
    const roles: readonly string[] = []
    assert.equal(
      outcome(history, { type: 'create', id: 'p1', parent: null, roles }),
      'location-exists',
    )
    assert.equal(
      outcome(history, { type: 'create', id: 'q', parent: 'none', roles }),
      'location-not-found',
    )
    assert.equal(outcome(history, { type: 'move', id: 'none', parent: null }), 'location-not-found')
    assert.equal(outcome(history, { type: 'move', id: 'p1', parent: 'none' }), 'location-not-found')
    assert.equal(outcome(history, { type: 'set-roles', id: 'q', roles }), 'location-not-found')
    for (const parent of ['p0', 'p1', 'p2'])
      assert.equal(outcome(history, { type: 'move', id: 'p0', parent }), 'location-cycle')
    assert.equal(outcome(history, { type: 'move', id: 'p2', parent: null }), 'accept')
  })

  test('nests so deep and no deeper, also by moving what has something inside', () => {
    const deep = chain(LOCATION_DEPTH_MAX - 1)
    const last = `p${LOCATION_DEPTH_MAX - 2}`
    const roles: readonly string[] = []
    assert.equal(outcome(deep, { type: 'create', id: 'q', parent: last, roles }), 'accept')
    const full = [...deep, created('q', last)]
    assert.equal(outcome(full, { type: 'create', id: 'r', parent: 'q', roles }), 'too-deep')
    const pair = [...deep, ...chain(2, 'q')]
    assert.equal(outcome(pair, { type: 'move', id: 'q0', parent: 'p61' }), 'accept')
    assert.equal(outcome(pair, { type: 'move', id: 'q0', parent: last }), 'too-deep')
  })

  test('holds so many places and no more', () => {
    const { decide, evolve, initial } = locationRegister
    let register = initial('all')
    for (let n = 0; n < LOCATIONS_MAX - 1; n++) register = evolve(register, created(`p${n}`))
    const create: RegisterCommand = { type: 'create', id: 'last', parent: null, roles: [] }
    assert.equal(decide(register, create, 0).type, 'accept')
    register = evolve(register, created('last'))
    assert.equal(register.size, LOCATIONS_MAX)
    const refused = decide(register, { ...create, id: 'more' }, 0)
    assert.ok(refused.type === 'answer' && isFault(refused.reply))
    assert.equal(refused.reply.code, 'too-many-locations')
    register = evolve(register, { ...created('last'), type: 'roles-set' })
    assert.equal(register.size, LOCATIONS_MAX)
  })

  test('finds names that every object has', () => {
    const history = ['__proto__', 'constructor', 'toString'].map((id) => created(id))
    const state = given(locationRegister, history).state
    assert.deepEqual(
      placesOf(state)
        .map(({ id }) => id)
        .toSorted(),
      ['__proto__', 'constructor', 'toString'],
    )
    assert.equal(
      outcome([], { type: 'set-roles', id: '__proto__', roles: [] }),
      'location-not-found',
    )
  })

  test('stays a forest, whatever is asked of it', () => {
    const ids = fc.constantFrom('a', 'b', 'c', 'd', 'e')
    const parents = fc.option(ids)
    const commands: fc.Arbitrary<RegisterCommand> = fc.oneof(
      fc.record({
        type: fc.constant('create' as const),
        id: ids,
        parent: parents,
        roles: fc.constant([]),
      }),
      fc.record({ type: fc.constant('move' as const), id: ids, parent: parents }),
    )
    fc.assert(
      fc.property(fc.array(commands, { maxLength: 30 }), (all) => {
        let register = locationRegister.initial('all')
        for (const command of all) {
          const decision = locationRegister.decide(register, command, 0)
          if (decision.type === 'accept')
            register = decision.events.reduce(locationRegister.evolve, register)
        }
        const places = new Map(placesOf(register).map((place) => [place.id, place]))
        assert.equal(places.size, register.size)
        for (const place of places.values()) {
          let steps = 0
          for (let at = place; at.parent !== null; at = places.get(at.parent)!) {
            assert.ok(places.has(at.parent))
            assert.ok(++steps < 5, 'a place is inside itself')
          }
        }
      }),
    )
  })
})
