import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import { afterIo, lineLog } from '../std/index.ts'
import { virtualClock, type VirtualClock } from '../testkit/index.ts'
import {
  createSteppedSystem,
  receive,
  restart,
  type Handle,
  type SpawnOptions,
  type SteppedSystem,
} from './index.ts'
import { SLOW_TURN_MS_DEFAULT } from './internal/slow-turns.ts'

/** How much longer than the limit a turn may take before it is named for sure. */
const MARGIN = 1.25

type Rig = Readonly<{
  clock: VirtualClock
  system: SteppedSystem
  /** Who was named: in the log, in the trace. */
  logged: string[]
  traced: string[]
  run: () => void
  settle: () => Promise<void>
}>

function rig(slowTurnMs?: number): Rig {
  const clock = virtualClock()
  const logged: string[] = []
  const traced: string[] = []
  const log = lineLog(
    (line) => {
      const { level, message, actor } = JSON.parse(line) as Record<string, unknown>
      if (message === 'a turn takes long') logged.push(`${String(level)} ${String(actor)}`)
    },
    { clock },
  )
  const system = createSteppedSystem({
    clock,
    log,
    ...(slowTurnMs !== undefined && { slowTurnMs }),
  })
  system.trace(({ type, actor, facts }) => {
    if (type === 'slow-turn') traced.push(`${actor} ${String(facts['kind'])}`)
  })
  const run = (): void => {
    while (system.step());
  }
  return {
    clock,
    system,
    logged,
    traced,
    run,
    async settle() {
      do {
        run()
        await new Promise<void>(afterIo)
      } while (system.readyDepth > 0)
    },
  }
}

type Slow = Readonly<{ actor: Handle<string>; finish: () => void }>

/** An actor whose handler awaits until it is told to finish. */
function slow({ system }: Rig, name = 'slow', options: SpawnOptions<string> = {}): Slow {
  const pending: (() => void)[] = []
  const actor = system.spawn(
    name,
    receive<string>(() => new Promise<void>((resolve) => pending.push(resolve))),
    options,
  )
  return { actor, finish: () => pending.shift()?.() }
}

describe('an async handler that takes long', () => {
  test('is named once, in the log, the trace and the figures', async () => {
    const stage = rig(500)
    const { actor, finish } = slow(stage)
    actor.tell('wait')
    await stage.settle()
    stage.clock.advance(499)
    assert.deepEqual([stage.logged, stage.traced], [[], []])

    stage.clock.advance(500 * MARGIN)
    assert.deepEqual(stage.logged, ['warn /slow'])
    assert.deepEqual(stage.traced, ['/slow async'])
    assert.equal(stage.system.metrics().slow_turns, 1)

    stage.clock.advance(60_000)
    assert.equal(stage.system.metrics().slow_turns, 1)
    finish()
    await stage.settle()
  })

  test(`is one of more than ${SLOW_TURN_MS_DEFAULT} ms unless said otherwise`, async () => {
    const stage = rig()
    const { actor } = slow(stage)
    actor.tell('wait')
    await stage.settle()

    stage.clock.advance(SLOW_TURN_MS_DEFAULT - 1)
    assert.equal(stage.system.metrics().slow_turns, 0)
    stage.clock.advance(1 + SLOW_TURN_MS_DEFAULT * (MARGIN - 1))
    assert.equal(stage.system.metrics().slow_turns, 1)
  })

  test('is named again for another message, wherever that begins', async () => {
    for (const betweenMs of [0, 1, 333, 777]) {
      const stage = rig(1_000)
      const { actor, finish } = slow(stage)
      for (let n = 1; n <= 3; n++) {
        actor.tell('wait')
        await stage.settle()
        stage.clock.advance(1_000 * MARGIN)
        assert.equal(stage.system.metrics().slow_turns, n, `after ${betweenMs} ms`)
        finish()
        await stage.settle()
        stage.clock.advance(betweenMs)
      }
    }
  })

  test('is not one of many short ones, nor one that began a moment ago', async () => {
    const stage = rig(1_000)
    const busy = slow(stage, 'busy')
    const long = slow(stage, 'long')
    long.actor.tell('wait')
    await stage.settle()
    for (let n = 0; n < 99; n++) {
      busy.actor.tell('wait')
      await stage.settle()
      stage.clock.advance(10)
      busy.finish()
      await stage.settle()
    }
    const late = slow(stage, 'late')
    late.actor.tell('wait')
    await stage.settle()
    stage.clock.advance(260)

    assert.deepEqual(stage.traced, ['/long async'])
  })

  test('costs no timer once nobody waits', async () => {
    const stage = rig(1_000)
    const { actor, finish } = slow(stage)
    actor.tell('wait')
    await stage.settle()
    finish()
    await stage.settle()
    stage.clock.advance(1_000)

    assert.equal(stage.system.metrics().timers_pending, 0)
    assert.equal(stage.clock.next, undefined)
  })

  test('is not looked for where no limit is wanted', async () => {
    const stage = rig(Infinity)
    const { actor } = slow(stage)
    actor.tell('wait')
    await stage.settle()

    assert.equal(stage.system.metrics().timers_pending, 0)
  })

  test('is forgotten with its actor, and with the life it belonged to', async () => {
    const stage = rig(1_000)
    const ends = slow(stage, 'ends')
    const restarts = slow(stage, 'restarts', {
      handlerMs: 500,
      supervision: restart({ backoff: { minMs: 0, jitter: 0 } }),
    })
    for (const { actor } of [ends, restarts]) actor.tell('wait')
    await stage.settle()
    stage.clock.advance(500)
    ends.actor.stop()
    await stage.settle()
    stage.clock.advance(5_000)

    assert.equal(stage.system.metrics().slow_turns, 0)
    assert.equal(stage.system.metrics().restarts, 1)
  })
})
