/**
 * What a projection makes of a number of events: which of its values change, and to what.
 *
 * Which values an event touches does not depend on them, so that all of them are read at once. Values are
 * compared as they are stored, and what has not changed is not written.
 */
import type { RecordWrite } from '../../journal/index.ts'
import { Accident, fault } from '../../std/index.ts'
import type { Change } from '../entities.ts'
import type { Projection, Touch } from '../projection.ts'

/** A touch, and what to call it should it throw. */
export type Touching<Value> = Readonly<{ touch: Touch<Value>; by: Change<{ type: string }> }>

export function touchesOf<Value>(
  projection: Projection<Value>,
  changes: readonly Change<{ type: string }>[],
): readonly Touching<Value>[] {
  const touches: Touching<Value>[] = []
  for (const by of changes)
    for (const touch of naming(projection, by, () => projection.on(by))) touches.push({ touch, by })
  return touches
}

/** The records that the touches change, where `before` says what is stored of those that depend on it. */
export async function writesOf<Value>(
  projection: Projection<Value>,
  collection: string,
  touches: readonly Touching<Value>[],
  before: ReadonlyMap<string, string | undefined>,
): Promise<readonly RecordWrite[]> {
  const values = new Map<string, Value | undefined>()
  for (const { touch, by } of touches) {
    const { key } = touch
    if ('value' in touch) {
      values.set(key, touch.value)
      continue
    }
    const stored = before.get(key)
    const value =
      values.has(key) || stored === undefined ? values.get(key) : valueOf(projection, stored)
    const after = naming(projection, by, () => touch.change(value))
    // What it rejects with is what the journal could not read, which has a name of its own.
    values.set(key, after instanceof Promise ? await after : after)
  }
  const writes: RecordWrite[] = []
  for (const [key, value] of values) {
    const after: string | undefined = JSON.stringify(value)
    if (before.has(key) && after === before.get(key)) continue
    writes.push(
      after === undefined ? { collection, key, deleted: true } : { collection, key, value: after },
    )
  }
  return writes
}

/** A value of the projection as it was stored. */
export function valueOf<Value>(_of: Projection<Value>, stored: string): Value {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- written by the same version of the projection
  return JSON.parse(stored) as Value
}

function naming<Value, T>(
  { name }: Projection<Value>,
  { key, stored: { seq, position } }: Change<{ type: string }>,
  work: () => T,
): T {
  try {
    return work()
  } catch (cause) {
    throw new Accident(
      fault(
        'projection-failed',
        `the projection ${name} threw at event ${seq} of ${key.type} ${key.id}`,
        {
          projection: name,
          key,
          seq,
          position,
          remedy: 'correct it and start it again: it goes on with this event',
        },
      ),
      { cause },
    )
  }
}
