import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import fc from 'fast-check'

import { QueueState } from './queue-state.ts'
import { DELAYED, LEASED, LEAVING, NO_SLOT, READY, WRITING } from './slots.ts'

/** A message as a clerk would keep it: a row in a list. */
type Row = {
  slot: number
  seq: number
  level: number
  group: string
  state: 'writing' | 'ready' | 'delayed' | 'leased' | 'leaving'
  sentAt: number
  dueAt: number
  /** By a limit of its own. */
  expiresAt: number
  receives: number
  gen: number
}

const STATES = {
  writing: WRITING,
  ready: READY,
  delayed: DELAYED,
  leased: LEASED,
  leaving: LEAVING,
} as const

/** The same queue twice: as it is, and as a list that is searched from end to end. */
class Twice {
  readonly queue: QueueState
  readonly rows: Row[] = []
  readonly #isFifo: boolean
  now = 1_000
  #seq = 0

  constructor(isFifo: boolean) {
    this.#isFifo = isFifo
    this.queue = new QueueState(isFifo)
  }

  /** `age` is how long before it came here it was sent. */
  send(level: number, group: string, delayMs: number, ttlMs: number, age: number): void {
    const row: Row = {
      slot: NO_SLOT,
      seq: ++this.#seq,
      level: this.#isFifo ? 0 : level,
      group,
      state: 'writing',
      sentAt: this.now - age,
      dueAt: this.now + delayMs,
      expiresAt: this.now + ttlMs,
      receives: 0,
      gen: 0,
    }
    const { state: _state, slot: _slot, gen: _gen, ...admission } = row
    row.slot = this.queue.admit({ ...admission, bytes: 1, firstReceivedAt: 0, text: undefined })
    this.rows.push(row)
  }

  allow(retentionMs: number): void {
    this.queue.retentionMs = retentionMs
  }

  #isTooOld({ sentAt, expiresAt }: Row): boolean {
    return expiresAt <= this.now || sentAt + this.queue.retentionMs <= this.now
  }

  pick(state: Row['state'], n: number): Row | undefined {
    const rows = this.rows.filter((row) => row.state === state)
    return rows[n % rows.length]
  }

  publish(n: number): void {
    const row = this.pick('writing', n)
    if (row === undefined) return
    this.queue.publish(row.slot, this.now)
    row.state = row.dueAt > this.now ? 'delayed' : 'ready'
  }

  retract(n: number): void {
    const row = this.pick('writing', n)
    if (row === undefined) return
    this.queue.retract(row.slot)
    this.rows.splice(this.rows.indexOf(row), 1)
  }

  receive(max: number, visibilityMs: number, isUsual: boolean): void {
    const slots: number[] = []
    const blocked = new Set(
      this.#isFifo
        ? this.rows
            .filter(({ state }) => state === 'leased' || state === 'leaving')
            .map(({ group }) => group)
        : [],
    )
    for (let count = 0; count < max; count++) {
      const slot = this.queue.lease(this.now, this.now + visibilityMs, isUsual, 0)
      const ready = this.rows.filter(
        (row) => row.state === 'ready' && !blocked.has(row.group) && !this.#waits(row),
      )
      if (slot === NO_SLOT) {
        assert.equal(ready.length, 0, 'nothing is given although something is ready')
        break
      }
      const row = this.rows.find((one) => one.slot === slot)!
      assert.ok(ready.includes(row), 'what is given is ready, and its group is free')
      const before = ready.filter((one) => one.level === row.level && one.group === row.group)
      assert.equal(Math.min(...before.map(({ seq }) => seq)), row.seq, 'the oldest of its lane')
      assert.equal(Math.max(...ready.map(({ level }) => level)), row.level, 'the highest level')
      row.state = 'leased'
      row.dueAt = this.now + visibilityMs
      row.receives++
      row.gen = this.queue.slots.gen[slot]!
      slots.push(slot)
    }
    this.queue.endTurn(slots)
  }

  /** Nothing overtakes what was put off. */
  #waits({ group, seq }: Row): boolean {
    return (
      this.#isFifo &&
      this.rows.some((row) => row.state === 'delayed' && row.group === group && row.seq < seq)
    )
  }

  giveBack(n: number, delayMs: number): void {
    const row = this.pick('leased', n)
    if (row === undefined) return
    this.queue.giveBack(row.slot, this.now, this.now + delayMs)
    this.#back(row, this.now + delayMs)
  }

  extend(n: number, ms: number): void {
    const row = this.pick('leased', n)
    if (row === undefined) return
    this.queue.extend(row.slot, this.now + ms)
    row.dueAt = this.now + ms
  }

  leave(from: 'ready' | 'delayed' | 'leased', n: number): void {
    const row = this.pick(from, n)
    if (row === undefined) return
    this.queue.leave(row.slot)
    row.state = 'leaving'
  }

  end(n: number, isGone: boolean): void {
    const row = this.pick('leaving', n)
    if (row === undefined) return
    if (isGone) {
      this.queue.release(row.slot)
      this.rows.splice(this.rows.indexOf(row), 1)
      return
    }
    this.queue.stay(row.slot, this.now, row.dueAt)
    this.#back(row, row.dueAt)
  }

  pass(ms: number): void {
    this.now += ms
    while (
      this.queue.nextDue(this.now, (what, slot) => {
        const row = this.rows.find((one) => one.slot === slot)!
        if (what === 'became-visible') {
          assert.ok(row.state === 'delayed' && row.dueAt <= this.now)
          row.state = 'ready'
        } else if (what === 'lease-ended') {
          assert.ok(row.state === 'leased' && row.dueAt <= this.now)
          this.queue.giveBack(slot, this.now, this.now)
          this.#back(row, this.now)
        } else {
          assert.ok(row.state === 'ready' || row.state === 'delayed')
          assert.ok(this.#isTooOld(row), 'too old')
          this.#expire(row)
        }
      })
    );
    for (const row of this.rows) {
      const { state, dueAt } = row
      assert.ok((state !== 'delayed' && state !== 'leased') || dueAt > this.now, 'nothing is due')
      assert.ok((state !== 'delayed' && state !== 'ready') || !this.#isTooOld(row), 'nor too old')
    }
  }

  check(): void {
    const { queue } = this
    const count = (state: Row['state']): number =>
      this.rows.filter((row) => row.state === state).length
    assert.equal(queue.size, this.rows.length)
    assert.equal(queue.bytes, this.rows.length)
    assert.deepEqual(
      [queue.writing, queue.ready.size, queue.delayed, queue.leased, queue.leaving],
      [count('writing'), count('ready'), count('delayed'), count('leased'), count('leaving')],
    )
    for (const row of this.rows) {
      assert.equal(queue.slots.state[row.slot], STATES[row.state])
      assert.equal(queue.slots.receives[row.slot], row.receives)
      if (row.state === 'leased') assert.ok(queue.isHeld(row.slot, row.gen))
      else assert.ok(!queue.isHeld(row.slot, row.gen))
    }
    const seqs: number[] = []
    const { slots } = queue
    for (let slot = slots.oldest; slot !== NO_SLOT; slot = slots.newer[slot]!)
      seqs.push(slots.seq[slot]!)
    assert.deepEqual(
      seqs,
      this.rows.map(({ seq }) => seq).toSorted((a, b) => a - b),
    )
    const due = this.rows
      .filter(({ state }) => state === 'delayed' || state === 'leased')
      .map(({ dueAt }) => dueAt)
    assert.ok(queue.nextDueAt() <= Math.min(Infinity, ...due), 'the timer is not late')
  }

  /** Whoever gives a message back looks at its age: nobody else will. */
  #back(row: Row, dueAt: number): void {
    row.dueAt = dueAt
    row.state = dueAt > this.now ? 'delayed' : 'ready'
    const isTooOld = this.#isTooOld(row)
    assert.equal(this.queue.isTooOld(row.slot, this.now), isTooOld)
    if (isTooOld) this.#expire(row)
  }

  #expire(row: Row): void {
    this.queue.leave(row.slot)
    this.queue.release(row.slot)
    this.rows.splice(this.rows.indexOf(row), 1)
  }
}

const n = fc.nat({ max: 20 })
const ms = fc.constantFrom(0, 1, 5, 10, 50)
const step = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({
      type: fc.constant('send' as const),
      level: fc.constantFrom(0, 0, 1, 255),
      group: fc.constantFrom('', 'a', 'b'),
      delay: fc.constantFrom(0, 0, 0, 5, 20),
      ttl: fc.constantFrom(Infinity, Infinity, 30, 40, 10),
      age: fc.constantFrom(0, 0, 0, 15),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      type: fc.constant('allow' as const),
      retention: fc.constantFrom(Infinity, 10, 25, 60),
    }),
  },
  { weight: 5, arbitrary: fc.record({ type: fc.constant('publish' as const), n }) },
  { weight: 1, arbitrary: fc.record({ type: fc.constant('retract' as const), n }) },
  {
    weight: 4,
    arbitrary: fc.record({
      type: fc.constant('receive' as const),
      max: fc.integer({ min: 1, max: 4 }),
      ms: fc.constantFrom(10, 10, 5, 30),
    }),
  },
  { weight: 4, arbitrary: fc.record({ type: fc.constant('give-back' as const), n, ms }) },
  {
    weight: 1,
    arbitrary: fc.record({ type: fc.constant('extend' as const), n, ms: fc.constantFrom(1, 30) }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      type: fc.constant('leave' as const),
      from: fc.constantFrom('ready' as const, 'delayed' as const, 'leased' as const),
      n,
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({ type: fc.constant('end' as const), n, isGone: fc.boolean() }),
  },
  { weight: 2, arbitrary: fc.record({ type: fc.constant('pass' as const), ms }) },
)

const PLAIN = {
  level: 0,
  group: '',
  sentAt: 0,
  dueAt: 0,
  expiresAt: Infinity,
  bytes: 1,
  receives: 0,
  firstReceivedAt: 0,
  text: undefined,
} as const

describe('the state of a queue', () => {
  for (const isFifo of [false, true])
    test(`is what a clerk’s list says, ${isFifo ? 'FIFO' : 'standard'}`, () => {
      fc.assert(
        fc.property(fc.array(step, { maxLength: 80, size: 'max' }), (steps) => {
          const twice = new Twice(isFifo)
          for (const one of steps) {
            take(twice, one)
            twice.check()
          }
        }),
        { numRuns: 1_000 },
      )
    })

  test('lanes of one level take turns', () => {
    const queue = new QueueState(false)
    const admit = (seq: number, group: string): void =>
      queue.publish(
        queue.admit({
          ...PLAIN,
          seq,
          group,
        }),
        0,
      )
    for (let seq = 1; seq <= 100; seq++) admit(seq, 'loud')
    admit(101, 'quiet')

    const first = [0, 1].map(() => queue.slots.seq[queue.lease(0, 10, true, 0)])

    assert.deepEqual(first, [1, 101])
  })

  test('waiting long enough is worth a level', () => {
    const queue = new QueueState(false)
    for (const [seq, level, sentAt] of [
      [1, 0, 0],
      [2, 3, 1_000],
    ] as const)
      queue.publish(
        queue.admit({
          ...PLAIN,
          seq,
          level,
          sentAt,
          dueAt: sentAt,
        }),
        1_000,
      )

    assert.equal(queue.slots.seq[queue.ready.first(1_000, 500)], 2)
    assert.equal(queue.slots.seq[queue.ready.first(1_000, 200)], 1)
    assert.equal(queue.slots.seq[queue.ready.first(1_000, 0)], 2)
  })
})

function take(
  twice: Twice,
  one: typeof step extends fc.Arbitrary<infer Step> ? Step : never,
): void {
  switch (one.type) {
    case 'send':
      return twice.send(one.level, one.group, one.delay, one.ttl, one.age)
    case 'allow':
      return twice.allow(one.retention)
    case 'publish':
      return twice.publish(one.n)
    case 'retract':
      return twice.retract(one.n)
    case 'receive':
      return twice.receive(one.max, one.ms, one.ms === 10)
    case 'give-back':
      return twice.giveBack(one.n, one.ms)
    case 'extend':
      return twice.extend(one.n, one.ms)
    case 'leave':
      return twice.leave(one.from, one.n)
    case 'end':
      return twice.end(one.n, one.isGone)
    case 'pass':
      return twice.pass(one.ms)
  }
}
