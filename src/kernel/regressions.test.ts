/** Defects that were found once, each named for what it did. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import { afterIo, lineLog } from '../std/index.ts'
import { virtualClock } from '../testkit/index.ts'
import {
  after,
  all,
  createSteppedSystem,
  createSystem,
  escalate,
  manual,
  receive,
  restart,
  retry,
  setup,
  signal,
  withContext,
  type Context,
} from './index.ts'
import { PIPES_MAX } from './internal/piping.ts'
import { RESTARTS_MAX } from './supervision.ts'

const AT_ONCE = { minMs: 0 }
const idle = receive<string>(() => undefined)
const own = (n: number): number => n
const none = (): number => -1

describe('a defect', () => {
  test('a slow turn of no time ended the process', () => {
    for (const slowTurnMs of [Number.NaN, 0, -5]) {
      assert.throws(() => createSystem({ slowTurnMs }), { code: 'bad-option' })
    }
    createSystem({ slowTurnMs: Infinity })
  })

  test('a stop with an argument that is no actor stopped nobody and said nothing', () => {
    const system = createSteppedSystem()
    const actor = system.spawn('actor', idle)

    assert.throws(() => (actor.stop as (why: string) => void)('SIGTERM'), { code: 'not-an-actor' })
  })

  test('pipes were without bound', async () => {
    const system = createSteppedSystem({ clock: virtualClock() })
    const seen: number[] = []
    const errors: unknown[] = []
    const actor = system.spawn(
      'actor',
      receive<number | 'go'>((ctx, message) => {
        if (message !== 'go') seen.push(message)
        else {
          for (let n = 0; n < PIPES_MAX; n++) ctx.pipe(Promise.resolve(n), own, none)
          try {
            ctx.pipe(Promise.resolve(0), own, none)
          } catch (error) {
            errors.push(error)
          }
        }
      }),
    )
    for (const round of [1, 2]) {
      actor.tell('go')
      while (system.step());
      await new Promise<void>(afterIo)
      while (system.step());
      assert.equal(seen.length, round * PIPES_MAX)
      assert.equal(errors.length, round)
    }
  })

  test('a restart without limit remembered every restart', () => {
    assert.throws(() => restart({ max: RESTARTS_MAX + 1 }), { code: 'bad-option' })
    restart({ max: RESTARTS_MAX })
    const system = createSteppedSystem({ clock: virtualClock() })
    let failures = 0
    const actor = system.spawn(
      'actor',
      receive<string>(() => {
        failures++
        throw new Error('again')
      }),
      { supervision: restart({ max: Infinity, backoff: AT_ONCE }) },
    )
    for (let n = 0; n < 3 * RESTARTS_MAX; n++) {
      actor.tell('work')
      while (system.step());
    }
    assert.equal(failures, 3 * RESTARTS_MAX)
    assert.equal(system.metrics().restarts, 3 * RESTARTS_MAX)
  })

  test('an address of one system reached an actor of another', () => {
    const [a, b] = [createSteppedSystem(), createSteppedSystem()]
    const ours = a.addressOf(a.spawn('actor', idle))
    b.addressOf(b.spawn('actor', idle))

    assert.equal(b.tellAt(ours, 'hello')?.code, 'stale-address')
    assert.equal(a.tellAt(ours, 'hello'), undefined)
  })

  test('an offer that had to wait lost its context', async () => {
    const system = createSteppedSystem()
    const contexts: unknown[] = []
    const actor = system.spawn(
      'actor',
      receive<string>((ctx) => void contexts.push(ctx.context)),
      { bound: 1 },
    )
    actor.tell('fills it')
    const offered = withContext('mine', () => actor.offer('waits'))
    while (system.step());
    await offered
    while (system.step());

    assert.deepEqual(contexts, [undefined, 'mine'])
  })

  test('the failure that used up the restarts was logged nowhere', () => {
    const lines: string[] = []
    const log = lineLog((line) => lines.push(line), { level: 'error' })
    const system = createSteppedSystem({ log, clock: virtualClock() })
    const actor = system.spawn(
      'actor',
      receive<string>(() => {
        throw new Error('the last straw')
      }),
      { supervision: restart({ max: 1, backoff: AT_ONCE }) },
    )
    actor.tell('one')
    actor.tell('two')
    while (system.step());

    assert.match(lines.join('\n'), /the last straw/)
  })

  test('an expiry that was being retried crossed a restart', () => {
    const clock = virtualClock()
    const system = createSteppedSystem({ clock })
    const seen: string[] = []
    let life = 0
    let child: { tell: (message: string) => unknown } | undefined
    const actor = system.spawn(
      'actor',
      setup<string>((ctx: Context<string>) => {
        const nth = ++life
        if (nth === 1) ctx.timers.after('soon', 10, 'expired')
        child = ctx.spawn(
          'child',
          receive<string>(() => {
            throw new Error('not mine to decide')
          }),
          { supervision: escalate() },
        )
        return receive((_ctx, message) => {
          seen.push(`${nth}: ${message}`)
          throw new Error('once more')
        })
      }),
      {
        supervision: retry({
          max: 1,
          backoff: { minMs: 100, jitter: 0 },
          otherwise: restart({ backoff: AT_ONCE }),
        }),
      },
    )
    while (system.step());
    clock.advance(10)
    while (system.step());
    child?.tell('fail')
    while (system.step());
    clock.advance(1_000)
    while (system.step());

    assert.deepEqual(seen, ['1: expired'])
    assert.equal(actor.path, '/actor')
  })

  test('a condition that could not be armed left those before it waiting', () => {
    const system = createSteppedSystem({ clock: virtualClock() })
    const actor = system.spawn('actor', idle)

    assert.throws(() => actor.suspend('user', all([signal('go'), after(-1)])))

    assert.equal(system.signal('go'), 0)
    assert.equal(system.metrics().suspended_now, 0)
  })

  test('a stepped system turned in a turn made its actor nobody', async () => {
    const inner = createSteppedSystem()
    const other = inner.spawn('other', idle)
    await using system = createSystem()
    const full = system.spawn('full', idle, { bound: 1, overflow: 'suspend-sender' })
    const token = full.suspend('user', manual())
    const refusals: unknown[] = []
    const sender = system.spawn(
      'sender',
      receive<string>(() => {
        other.tell('hello')
        inner.step()
        refusals.push(full.tell('one'), full.tell('two'))
      }),
      { priority: 'high' },
    )
    sender.tell('go')
    await new Promise<void>(afterIo)

    assert.deepEqual(refusals, [undefined, undefined])
    token.resume()
  })

  test('what is no behavior was spawned, and failed at its first message', () => {
    const system = createSteppedSystem()

    assert.throws(() => system.spawn('actor', {} as never), { code: 'not-a-behavior' })
  })
})
