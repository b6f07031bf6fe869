import assert from 'node:assert/strict'
import { test } from 'node:test'

import fc from 'fast-check'

import { placeLost, type Gap, type Holes, type Lost } from './holes.ts'

type Event = Lost

/** A history of so many events on a few streams. */
const history: fc.Arbitrary<Event[]> = fc
  .array(fc.integer({ min: 1, max: 4 }), { minLength: 1, maxLength: 40 })
  .map((streams) => {
    const versions = new Map<number, number>()
    return streams.map((stream, n) => {
      const seq = (versions.get(stream) ?? 0) + 1
      versions.set(stream, seq)
      return { position: n + 1, stream, seq }
    })
  })

const damaged = history.chain((events) =>
  fc.record({
    events: fc.constant(events),
    lost: fc.subarray(events),
    ends: fc.subarray([1, 2, 3, 4]),
    witnessed: fc.subarray(events),
    false: fc.array(
      fc.record({
        position: fc.integer({ min: 1, max: 45 }),
        stream: fc.integer({ min: 1, max: 5 }),
        seq: fc.integer({ min: 1, max: 12 }),
      }),
      { maxLength: 3 },
    ),
  }),
)

/** `ends` are the streams whose version is known. */
function holesOf(
  events: readonly Event[],
  lost: readonly Event[],
  ends: readonly number[] = [],
): Holes {
  const gone = new Set(lost.map(({ position }) => position))
  const heads = new Map<number, Event>()
  const gaps: Gap[] = []
  for (const event of events.filter(({ position }) => !gone.has(position))) {
    note(event.stream, event.seq, event.position)
    heads.set(event.stream, event)
  }
  for (const stream of ends)
    note(stream, events.filter((event) => event.stream === stream).length + 1, Infinity)
  return { missing: [...gone].toSorted((a, b) => a - b), gaps, heads }

  function note(stream: number, next: number, before: number): void {
    const { seq, position } = heads.get(stream) ?? { seq: 0, position: 0 }
    if (next !== seq + 1)
      gaps.push({ stream, from: seq + 1, to: next - 1, after: position, before })
  }
}

function assertWhole(events: readonly Event[], holes: Holes, placed: readonly Lost[]): void {
  assert.deepEqual(
    placed.map(({ position }) => position),
    holes.missing,
  )
  const gone = new Set(holes.missing)
  const versions = new Map<number, number>()
  const kept = events.filter(({ position }) => !gone.has(position))
  for (const { stream, seq } of [...kept, ...placed].toSorted((a, b) => a.position - b.position)) {
    assert.equal(seq, (versions.get(stream) ?? 0) + 1, `stream ${stream}`)
    versions.set(stream, seq)
  }
}

test('every missing position is placed and no stream keeps a gap, whatever the witnesses say', () => {
  fc.assert(
    fc.property(damaged, ({ events, lost, ends, witnessed, false: lies }) => {
      const holes = holesOf(events, lost, ends)

      const placed = placeLost(holes, [...witnessed, ...lies])

      assertWhole(events, holes, placed)
    }),
    { numRuns: 2_000 },
  )
})

test('what all witnesses say is where everything goes', () => {
  fc.assert(
    fc.property(damaged, ({ events, lost }) => {
      assert.deepEqual(placeLost(holesOf(events, lost), events), lost)
    }),
  )
})

test('nothing is left to nobody where the versions of all streams are known', () => {
  fc.assert(
    fc.property(damaged, ({ events, lost, witnessed }) => {
      const placed = placeLost(holesOf(events, lost, [1, 2, 3, 4]), witnessed)

      assert.ok(placed.every(({ stream }) => stream !== 0))
    }),
  )
})

test('the end of a stream that nobody witnessed belongs to nobody', () => {
  const events = [
    { position: 1, stream: 1, seq: 1 },
    { position: 2, stream: 1, seq: 2 },
  ]

  assert.deepEqual(placeLost(holesOf(events, events.slice(1)), []), [
    { position: 2, stream: 0, seq: 1 },
  ])
})
