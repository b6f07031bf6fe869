import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { describe, test } from 'node:test'

import { afterIo } from '../std/index.ts'
import { virtualClock } from '../testkit/index.ts'
import {
  createSteppedSystem,
  createSystem,
  escalate,
  manual,
  receive,
  resume,
  setup,
  signal,
  type Behavior,
  type Ref,
  type SuspendToken,
} from './index.ts'
import { NAME_CHARS_MAX } from './internal/actor.ts'
import { DEAD_LETTERS_KEPT_MAX } from './internal/dead-letters.ts'
import { BUDGET_MS, EXPRESS_MAX } from './internal/dispatch.ts'
import { BATCH_MAX } from './internal/run-loop.ts'
import { STICKY_SIGNALS_MAX } from './internal/signals.ts'
import { SYSTEM_LANE_MAX } from './internal/system-lane.ts'
import { TOKENS_MAX } from './internal/tokens.ts'

const idle: Behavior<string> = receive<string>(() => undefined)

/** Lets systems that run by themselves go on until it is true. */
async function until(isTrue: () => boolean): Promise<void> {
  while (!isTrue()) await new Promise<void>(afterIo)
}

describe('the limits of the kernel', () => {
  test('are all tested at the limit and one past it, here or beside what they limit', () => {
    const folder = import.meta.dirname
    const texts = globSync('**/*.ts', { cwd: folder }).map((path) => ({
      isTest: path.endsWith('.test.ts'),
      text: readFileSync(`${folder}/${path}`, 'utf8'),
    }))
    const limits = texts
      .filter(({ isTest }) => !isTest)
      .flatMap(({ text }) => [...text.matchAll(/export const ([A-Z_]+_(?:MAX|DEFAULT|MS))\b/gu)])
      .map(([, name]) => name!)
    const tested = texts.filter(({ isTest }) => isTest).map(({ text }) => text)

    assert.ok(limits.length > 20)
    assert.deepEqual(
      limits.filter((name) => !tested.some((text) => text.includes(name))),
      [],
    )
  })

  test(`a name has up to ${NAME_CHARS_MAX} characters, and not one more`, () => {
    const system = createSteppedSystem({ clock: virtualClock() })
    const longest = 'n'.repeat(NAME_CHARS_MAX)

    assert.equal(system.spawn(longest, idle).path, `/${longest}`)
    assert.throws(() => system.spawn(`${longest}n`, idle), { code: 'bad-name' })
    assert.equal(system.spawn('n', idle).path, '/n')
    assert.throws(() => system.spawn('', idle), { code: 'bad-name' })
  })

  test(`${STICKY_SIGNALS_MAX} sticky signals are kept, and not one more`, () => {
    const system = createSteppedSystem({ clock: virtualClock() })
    for (let n = 0; n < STICKY_SIGNALS_MAX; n++) system.signal(`${n}`, { sticky: true })
    system.signal('0', { sticky: true }) // kept already

    assert.throws(() => system.signal('one more', { sticky: true }), { code: 'too-many-signals' })
    assert.equal(system.signal('not sticky'), 0)

    const actor = system.spawn('actor', idle)
    assert.equal(actor.suspend('user', signal('0')).active, false)
    system.signal('one more', { sticky: true })
  })

  test(`the last ${DEAD_LETTERS_KEPT_MAX} dead letters are kept, all are counted`, () => {
    const system = createSteppedSystem({ clock: virtualClock() })
    const actor = system.spawn('actor', idle)
    actor.stop()
    for (let n = 0; n < DEAD_LETTERS_KEPT_MAX; n++) actor.tell(`${n}`)
    assert.equal(system.deadLetters.length, DEAD_LETTERS_KEPT_MAX)
    assert.equal(system.deadLetters[0]?.message, '0')

    actor.tell('one more')
    assert.equal(system.deadLetters.length, DEAD_LETTERS_KEPT_MAX)
    assert.equal(system.deadLetters[0]?.message, '1')
    assert.equal(system.deadLetters.at(-1)?.message, 'one more')
    assert.equal(system.metrics().dead_letters['stopped'], DEAD_LETTERS_KEPT_MAX + 1)
  })

  test(`${TOKENS_MAX} tokens may hold an actor, and not one more`, () => {
    const system = createSteppedSystem({ clock: virtualClock() })
    let handled = 0
    const actor = system.spawn(
      'actor',
      receive<string>(() => void handled++),
    )
    const tokens: SuspendToken[] = []
    for (let n = 0; n < TOKENS_MAX; n++) tokens.push(actor.suspend('user', manual()))
    assert.throws(() => actor.suspend('user', manual()), { code: 'too-many-tokens' })
    actor.tell('hello')

    for (const token of tokens.slice(1)) token.resume()
    while (system.step());
    assert.equal(handled, 0)
    tokens[0]?.resume()
    while (system.step());
    assert.equal(handled, 1)
    assert.equal(system.metrics().resume_unbalanced, 0)
  })

  test(`${SYSTEM_LANE_MAX} failures may wait for a parent; the child of one more is stopped`, () => {
    for (const [count, stopped] of [
      [SYSTEM_LANE_MAX, 0],
      [SYSTEM_LANE_MAX + 1, 1],
    ] as const) {
      const system = createSteppedSystem({ clock: virtualClock() })
      const children: Ref<string>[] = []
      let handled = 0
      system.spawn(
        'parent',
        setup<string>((ctx) => {
          for (let n = 0; n < count; n++) {
            children.push(
              ctx.spawnAnonymous(
                receive<string>((_ctx, message) => {
                  if (message === 'fail') throw new Error('no')
                  handled += 1
                }),
                { supervision: escalate() },
              ),
            )
          }
          return idle
        }),
        { supervision: resume() },
      )
      system.step()
      for (const child of children) child.tell('fail')
      for (const child of children) child.tell('next')
      for (let n = 0; n < count; n++) system.step(() => 0)
      while (system.step());

      assert.equal(system.metrics().stopped, stopped)
      assert.equal(handled, count - stopped)
      assert.equal(system.metrics().failures, 2 * count - stopped)
    }
  })

  test(`an actor has ${EXPRESS_MAX} messages ahead of others at most, and ${BATCH_MAX} in a row`, async () => {
    await using system = createSystem()
    const order: string[] = []
    const noting = (name: string): Behavior<number> => receive<number>(() => void order.push(name))
    const first = system.spawn('first', noting('a'))
    const second = system.spawn('second', noting('b'))
    for (let n = 0; n < 1_000; n++) first.tell(n)
    second.tell(0)
    await until(() => order.length === 1_001)

    assert.ok(order.indexOf('b') >= EXPRESS_MAX)
    assert.ok(order.indexOf('b') <= EXPRESS_MAX + BATCH_MAX, `${order.indexOf('b')} came before`)
  })

  test(`a drain yields to I/O after ${BUDGET_MS} ms, however much there is to do`, async () => {
    await using system = createSystem()
    const spinning = receive<string>((ctx) => {
      const start = performance.now()
      while (performance.now() - start < BUDGET_MS / 5);
      if (!isOver) ctx.self.tell('again')
    })
    let isOver = false
    for (let n = 0; n < 100; n++) system.spawnAnonymous(spinning).tell('go')
    const before = system.metrics().thread
    for (let turn = 0; turn < 20; turn++) await new Promise<void>(afterIo)
    const { yields, messages } = system.metrics().thread
    isOver = true

    assert.ok(yields - before.yields >= 10)
    // A machine that is busy otherwise may stretch a turn, not lengthen all of them.
    const perTurn = (messages - before.messages) / (yields - before.yields)
    assert.ok(perTurn < 60, `${perTurn} messages of ${BUDGET_MS / 5} ms a turn`)
  })
})
