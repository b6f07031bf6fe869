import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { runInNewContext } from 'node:vm'

import { createSteppedSystem, receive, resume, type SteppedSystem } from '../kernel/index.ts'
import { virtualClock } from './virtual-clock.ts'
import { Witness } from './witness.ts'

function setting(options: { freezes?: boolean } = {}): [SteppedSystem, Witness] {
  const system = createSteppedSystem({ clock: virtualClock() })
  return [system, new Witness(system, options.freezes ?? true)]
}

function runAll(system: SteppedSystem): void {
  while (system.step());
}

describe('witness', () => {
  test('keeps what happened in one line, with what the kernel did not see', () => {
    const [system, witness] = setting()
    const actor = system.spawn(
      'a',
      receive<string>(() => undefined),
    )
    actor.tell('one')
    runAll(system)
    witness.add('/box', 'received', { message: 'two' })
    actor.tell('three')
    runAll(system)

    assert.deepEqual(
      witness.trace.map(({ seq, actor: path, type, facts }) => [seq, path, type, facts['message']]),
      [
        [0, '/a', 'spawned', undefined],
        [1, '/a', 'received', 'one'],
        [2, '/box', 'received', 'two'],
        [3, '/a', 'received', 'three'],
      ],
    )
  })

  test('keeps dead letters and failures, however often supervision resumes', () => {
    const [system, witness] = setting()
    const actor = system.spawn(
      'a',
      receive<number>((_ctx, n) => {
        throw new Error(`no ${n}`)
      }),
      { supervision: resume() },
    )
    for (let n = 0; n < 150; n++) actor.tell(n)
    runAll(system)
    actor.stop()
    runAll(system)
    for (let n = 0; n < 150; n++) actor.tell(n)

    assert.equal(witness.failures.length, 150)
    assert.deepEqual(witness.failures[7], { actor: '/a', error: new Error('no 7'), message: 7 })
    assert.equal(witness.deadLetters.length, 150)
  })

  test('freezes a message no later than it is received', () => {
    const [system, witness] = setting()
    const message = { n: 1 }
    system
      .spawn(
        'a',
        receive<{ n: number }>((_ctx, given) => void given.n++),
      )
      .tell(message)
    runAll(system)

    assert.ok(Object.isFrozen(message))
    assert.throws(() => witness.testify(), { code: 'message-mutated' })
    witness.testify() // said once
  })

  test('freezes nothing where it is told not to', () => {
    const [system, witness] = setting({ freezes: false })
    const message = { n: 1 }
    system
      .spawn(
        'a',
        receive<{ n: number }>((_ctx, given) => void given.n++),
      )
      .tell(message)
    runAll(system)

    assert.equal(message.n, 2)
    witness.testify()
  })

  test('repeats the assertions of any runner, and no other error', () => {
    const quiet = [new Error('x'), new TypeError('y'), 'AssertionError', undefined]
    const loud = [
      Object.assign(new Error('node, chai'), { name: 'AssertionError' }),
      Object.assign(new Error('ours'), { name: 'ExpectationFailure' }),
      Object.assign(new Error('jest'), { matcherResult: { pass: false } }),
      runInNewContext(`Object.assign(new Error('x'), { name: 'AssertionError' })`),
    ]
    for (const error of [...quiet, ...loud]) {
      const [system, witness] = setting()
      system
        .spawn(
          'a',
          receive<string>(() => {
            throw error
          }),
        )
        .tell('go')
      runAll(system)
      if (quiet.includes(error)) witness.testify()
      else
        assert.throws(
          () => witness.testify(),
          (thrown) => thrown === error,
        )
    }
  })

  test('lets the older half go when it has kept very much, and says what', () => {
    const [, witness] = setting()
    let forgotten = 0
    witness.onForget = (entries) => (forgotten += entries.length)

    for (let n = 0; n < 200_001; n++) witness.add('/box', 'received', {})

    assert.equal(forgotten, 100_000)
    assert.equal(witness.trace.length, 100_001)
    assert.equal(witness.trace[0]?.seq, 100_000)
  })
})
