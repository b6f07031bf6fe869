/** The schedule beside a model that looks at everything each time: the same test goes next, always. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'

import { Schedule, type Policy } from './schedule.ts'

type Step =
  | { type: 'enqueue'; priority: number; keys: readonly string[] }
  | { type: 'ready' | 'finish' | 'remove'; at: number }
  | { type: 'next' }

type Modelled = {
  id: string
  priority: number
  place: number
  keys: readonly string[]
  phase: 'line' | 'ready' | 'runs'
}

const anyStep: fc.Arbitrary<Step> = fc.oneof(
  fc.record({
    type: fc.constant('enqueue' as const),
    priority: fc.nat(2),
    keys: fc.subarray(['a', 'b', 'c']),
  }),
  fc.record({ type: fc.constantFrom('ready' as const, 'finish' as const), at: fc.nat(30) }),
  fc.record({ type: fc.constant('remove' as const), at: fc.nat(30) }),
  fc.constant({ type: 'next' as const }),
)

function before(a: Modelled, b: Modelled): number {
  return b.priority - a.priority || a.place - b.place
}

function nextOf(model: readonly Modelled[], policy: Policy, slots: number): Modelled | undefined {
  const running = model.filter(({ phase }) => phase === 'runs')
  if (running.length >= slots) return undefined
  const held = new Set(running.flatMap(({ keys }) => keys))
  const line = model.filter(({ phase }) => phase !== 'runs').toSorted(before)
  const isFree = ({ phase, keys }: Modelled): boolean =>
    phase === 'ready' && !keys.some((key) => held.has(key))
  if (policy === 'first-ready') return line.find(isFree)
  return line[0] !== undefined && isFree(line[0]) ? line[0] : undefined
}

function play(policy: Policy, slots: number, steps: readonly Step[]): void {
  const schedule = new Schedule({ slots, policy, depth: 1_000 })
  let model: Modelled[] = []
  let place = 0
  for (const step of steps) {
    switch (step.type) {
      case 'enqueue': {
        const { priority, keys } = step
        const id = `t${++place}`
        schedule.add(id)
        schedule.enqueue(id, priority)
        model.push({ id, priority, place, keys, phase: 'line' })
        break
      }
      case 'ready': {
        const one = model[step.at]
        if (one === undefined) break
        assert.equal(schedule.ready(one.id, one.keys), one.phase === 'line')
        if (one.phase === 'line') one.phase = 'ready'
        break
      }
      case 'next': {
        const expected = nextOf(model, policy, slots)
        assert.equal(schedule.next(), expected?.id)
        if (expected !== undefined) expected.phase = 'runs'
        break
      }
      case 'finish':
      case 'remove': {
        const one = model[step.at]
        if (one === undefined) break
        if (step.type === 'finish') schedule.finish(one.id, 'Completed')
        schedule.remove(one.id)
        model = model.filter((other) => other !== one)
      }
    }
    const line = model.filter(({ phase }) => phase !== 'runs').toSorted(before)
    assert.deepEqual(
      line.map(({ id }) => schedule.position(id)),
      line.map((_, at) => at + 1),
    )
    assert.equal(schedule.pending, line.length)
    assert.equal(schedule.size, model.length)
    assert.equal(
      Object.values(schedule.counts).reduce((sum, count) => sum + count, 0),
      model.length,
    )
    assert.ok(schedule.running <= slots)
  }
}

function filled(policy: Policy, slots = 1): Schedule {
  const schedule = new Schedule({ slots, policy, depth: 3 })
  for (const id of ['a', 'b', 'c']) {
    schedule.add(id)
    schedule.enqueue(id, 0)
  }
  return schedule
}

describe('a schedule', () => {
  for (const policy of ['first-ready', 'strict'] as const)
    test(`picks as one that looks at all of them, ${policy}`, () => {
      fc.assert(
        fc.property(
          fc.integer({ min: 1, max: 3 }),
          fc.array(anyStep, { maxLength: 80 }),
          (slots, steps) => play(policy, slots, steps),
        ),
        { numRuns: 1_000 },
      )
    })

  test('lets a later test go that is ready first, unless it is strict', () => {
    const loose = filled('first-ready')
    loose.ready('b', [])
    assert.equal(loose.next(), 'b')

    const strict = filled('strict')
    strict.ready('b', [])
    assert.equal(strict.next(), undefined)
    strict.ready('a', [])
    assert.equal(strict.next(), 'a')
  })

  test('lets the higher priority go first', () => {
    const schedule = filled('first-ready')
    schedule.add('urgent')
    schedule.enqueue('urgent', 9)
    for (const id of ['a', 'b', 'c', 'urgent']) schedule.ready(id, [])
    assert.equal(schedule.position('urgent'), 1)
    assert.equal(schedule.position('a'), 2)
    assert.equal(schedule.next(), 'urgent')
  })

  test('starts nothing while it is paused or drains, and goes on afterwards', () => {
    const schedule = filled('first-ready')
    schedule.ready('a', [])
    for (const mode of ['paused', 'draining'] as const) {
      schedule.mode = mode
      assert.equal(schedule.next(), undefined)
    }
    schedule.mode = 'open'
    assert.equal(schedule.next(), 'a')
  })

  test('is full at its depth and not before', () => {
    const schedule = new Schedule({ slots: 1, policy: 'first-ready', depth: 2 })
    for (const id of ['a', 'b']) {
      assert.equal(schedule.isFull, false)
      schedule.add(id)
      schedule.enqueue(id, 0)
    }
    assert.equal(schedule.isFull, true)
    schedule.remove('a')
    assert.equal(schedule.isFull, false)
  })

  test('keeps a place for one that is expected until it joins, forgoes it or leaves', () => {
    const schedule = new Schedule({ slots: 1, policy: 'first-ready', depth: 1 })
    for (const leave of [() => schedule.forgo('a'), () => schedule.remove('a')]) {
      if (!schedule.has('a')) schedule.add('a')
      schedule.expect('a')
      schedule.finish('a', 'Completed') // of the run before
      assert.deepEqual([schedule.isFull, schedule.pending], [true, 0])
      leave()
      assert.equal(schedule.isFull, false)
    }
    schedule.add('a')
    schedule.expect('a')
    schedule.enqueue('a', 0)
    assert.deepEqual([schedule.isFull, schedule.isExpected('a')], [true, false])
    schedule.remove('a')
    assert.equal(schedule.isFull, false)
  })

  test('estimates by what tests took, and says nothing as long as none has run', () => {
    const schedule = filled('first-ready')
    assert.equal(schedule.estimateMs(1), undefined)
    schedule.noteDuration(1_000)
    assert.equal(schedule.estimateMs(1), 0)
    assert.equal(schedule.estimateMs(3), 2_000)
    schedule.ready('a', [])
    schedule.next()
    assert.equal(schedule.estimateMs(1), 1_000)
    schedule.noteDuration(2_000)
    assert.equal(schedule.estimateMs(1), 1_200)
  })

  test('keeps its line over many more than stand in it at once', () => {
    const schedule = new Schedule({ slots: 1, policy: 'first-ready', depth: 1_000 })
    for (let n = 0; n < 1_000; n++) {
      schedule.add(`t${n}`)
      schedule.enqueue(`t${n}`, 0)
      if (n >= 10) schedule.remove(`t${n - 10}`)
      assert.equal(schedule.position(`t${n}`), Math.min(n + 1, 10 + (n < 10 ? 1 : 0)))
    }
  })
})
