import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import { afterIo } from '../std/index.ts'
import { virtualClock } from '../testkit/index.ts'
import {
  createSteppedSystem,
  createSystem,
  receive,
  type Behavior,
  type Priority,
  type Ref,
} from './index.ts'

const PRIORITIES: readonly Priority[] = ['low', 'normal', 'high']

function noting(seen: string[], name: string): Behavior<string> {
  return receive<string>(() => void seen.push(name))
}

/** Lets systems that run by themselves go on until it is true. */
async function until(isTrue: () => boolean): Promise<void> {
  while (!isTrue()) await new Promise<void>(afterIo)
}

/** Tells itself over and over, and counts. */
function busy(
  counts: Record<string, number>,
  name: string,
  isOver: () => boolean,
): Behavior<string> {
  counts[name] = 0
  return receive<string>((ctx) => {
    counts[name]! += 1
    if (!isOver()) ctx.self.tell('again')
  })
}

describe('priority', () => {
  test('lets high go before normal, and normal before low', () => {
    const system = createSteppedSystem({ clock: virtualClock() })
    const seen: string[] = []
    const actors = PRIORITIES.map((priority) =>
      system.spawn(priority, noting(seen, priority), { priority }),
    )
    for (const actor of actors) actor.tell('go')
    while (system.step());

    assert.deepEqual(seen, ['high', 'normal', 'low'])
  })

  test('does not let low starve: each lane gets an eighth of the one above', () => {
    const system = createSteppedSystem({ clock: virtualClock() })
    const counts: Record<string, number> = {}
    for (const priority of PRIORITIES) {
      system
        .spawn(
          priority,
          busy(counts, priority, () => false),
          { priority },
        )
        .tell('go')
    }
    for (let turn = 0; turn < 6_400; turn++) system.step()

    assert.deepEqual(counts, { high: 5_600, normal: 700, low: 100 })
  })

  test('holds in a system that runs by itself, and low does not starve there either', async () => {
    await using system = createSystem()
    const counts: Record<string, number> = {}
    let turns = 0
    const isOver = (): boolean => ++turns > 200_000
    for (const priority of PRIORITIES) {
      system.spawn(priority, busy(counts, priority, isOver), { priority }).tell('go')
    }
    await until(() => turns > 200_000)

    assert.ok(counts['low']! > 0, JSON.stringify(counts))
    assert.ok(counts['high']! > counts['low']!, JSON.stringify(counts))
  })

  test('lets a high message in ahead of a flood of normal ones', async () => {
    await using system = createSystem()
    const seen: string[] = []
    const high = system.spawn('high', noting(seen, 'high'), { priority: 'high' })
    const flood: Ref<string>[] = []
    for (let n = 0; n < 1_000; n++) flood.push(system.spawnAnonymous(noting(seen, 'normal')))
    const first = system.spawn(
      'first',
      receive<string>(() => {
        for (const each of flood) each.tell('go')
        high.tell('go')
      }),
    )
    first.tell('go')
    await until(() => seen.length === 1_001)

    // At the latest when the fuel of a turn is used up, which is 256 messages.
    assert.ok(seen.indexOf('high') <= 256, `${seen.indexOf('high')} came before`)
  })

  test('keeps the order within an actor', async () => {
    for (const priority of PRIORITIES) {
      await using system = createSystem()
      const seen: number[] = []
      const actor = system.spawn(
        'actor',
        receive<number>((_ctx, message) => void seen.push(message)),
        { priority },
      )
      for (let n = 0; n < 500; n++) actor.tell(n)
      await until(() => seen.length === 500)
      assert.deepEqual(seen, [...new Array<undefined>(500).keys()])
    }
  })

  test('that does not exist is refused', () => {
    const system = createSteppedSystem({ clock: virtualClock() })
    assert.throws(() => system.spawn('a', noting([], 'a'), { priority: 'urgent' as 'high' }), {
      code: 'bad-option',
    })
  })
})

describe('fairness', () => {
  test('a quiet actor does not wait for a flood to end', async () => {
    await using system = createSystem()
    let flooded = 0
    let before = -1
    const flood = system.spawn(
      'flood',
      receive<number>(() => void flooded++),
      { bound: 200_000 },
    )
    const quiet = system.spawn(
      'quiet',
      receive<string>(() => {
        before = flooded
      }),
    )
    for (let n = 0; n < 100_000; n++) flood.tell(n)
    quiet.tell('hello')
    await until(() => flooded === 100_000)

    assert.ok(before >= 0 && before < 5_000, `${before} messages of the flood came before`)
  })

  test('I/O gets its turn while actors keep each other busy', async () => {
    await using system = createSystem()
    const counts: Record<string, number> = {}
    let isOver = false
    system
      .spawn(
        'busy',
        busy(counts, 'busy', () => isOver),
      )
      .tell('go')
    for (let turn = 0; turn < 20; turn++) await new Promise<void>(afterIo)
    isOver = true

    assert.ok(counts['busy']! > 20)
    assert.ok(system.metrics().thread.yields > 0)
  })
})
