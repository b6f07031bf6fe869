import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import { Accident, afterIo, random } from '../std/index.ts'
import { virtualClock, type VirtualClock } from '../testkit/index.ts'
import {
  ask,
  createSteppedSystem,
  createSystem,
  receive,
  restart,
  resume,
  type Handle,
  type Ref,
  type SpawnOptions,
  type SteppedSystem,
} from './index.ts'
import { ASK_DEADLINE_MS_DEFAULT, ASK_TICK_MS } from './internal/asks.ts'

/** A deadline is never early, and late by at most so much. */
const LATE_MS_MAX = 3 * ASK_TICK_MS

type Question = Readonly<{ text: string; replyTo: Ref<string> }>

type Rig = Readonly<{
  clock: VirtualClock
  system: SteppedSystem
  actor: Handle<Question>
  /** What the actor was asked and has not answered. */
  open: Question[]
  ask: (text: string, options?: Parameters<typeof ask>[2]) => Outcome
  run: () => void
  settle: () => Promise<void>
}>

/** What became of an ask so far, and when. */
type Outcome = { value?: string; error?: unknown; at?: number }

/** An actor that answers `echo` at once and keeps everything else for later. */
function rig(options: SpawnOptions<Question> = {}): Rig {
  const clock = virtualClock()
  const system = createSteppedSystem({ clock, random: random(1) })
  const open: Question[] = []
  const actor = system.spawn(
    'actor',
    receive<Question>((_ctx, question) => {
      if (question.text === 'echo') question.replyTo.tell('echo')
      else if (question.text === 'end') return 'stopped'
      else open.push(question)
      return 'same'
    }),
    options,
  )
  const run = (): void => {
    while (system.step());
  }
  return {
    clock,
    system,
    actor,
    open,
    run,
    ask(text, askOptions) {
      const outcome: Outcome = {}
      ask<Question, string>(actor, (replyTo) => ({ text, replyTo }), askOptions).then(
        (value) => Object.assign(outcome, { value, at: clock.monotonic() }),
        (error: unknown) => Object.assign(outcome, { error, at: clock.monotonic() }),
      )
      return outcome
    },
    async settle() {
      do {
        run()
        await new Promise<void>(afterIo)
      } while (system.readyDepth > 0)
    },
  }
}

function accidentOf({ error }: Outcome): Accident {
  assert.ok(error instanceof Accident, `not an accident: ${String(error)}`)
  return error
}

/** Moves time millisecond by millisecond, so that the moment of an outcome is known. */
async function pass({ clock, settle }: Rig, ms: number): Promise<void> {
  for (let n = 0; n < ms; n++) {
    clock.advance(1)
    await settle()
  }
}

describe('ask', () => {
  test('gives what is told to the reply address', async () => {
    const stage = rig()
    const outcome = stage.ask('echo')
    await stage.settle()

    assert.deepEqual(outcome, { value: 'echo', at: 0 })
    assert.equal(stage.system.metrics().asks_overdue, 0)
  })

  test('gives an answer that comes later, and different asks their own', async () => {
    const stage = rig()
    const outcomes = ['a', 'b', 'c'].map((text) => stage.ask(text))
    await stage.settle()
    for (const { text, replyTo } of stage.open.toReversed()) replyTo.tell(`${text}!`)
    await stage.settle()

    assert.deepEqual(
      outcomes.map(({ value }) => value),
      ['a!', 'b!', 'c!'],
    )
  })

  test('works from outside in a system that runs by itself', async () => {
    await using system = createSystem()
    const actor = system.spawn(
      'actor',
      receive<Ref<number>>((_ctx, replyTo) => void replyTo.tell(7)),
    )
    const answers = await Promise.all(
      [...new Array<undefined>(500).keys()].map(() =>
        ask<Ref<number>, number>(actor, (replyTo) => replyTo),
      ),
    )

    assert.ok(answers.length === 500 && answers.every((answer) => answer === 7))
  })

  test('may be answered with anything, a promise and a fault too', async () => {
    const system = createSteppedSystem({ clock: virtualClock() })
    const answers = [undefined, null, Number.NaN, new Error('no'), { ok: false, code: 'x' }]
    for (const answer of answers) {
      const actor = system.spawnAnonymous(
        receive<Ref<unknown>>((_ctx, replyTo) => void replyTo.tell(answer)),
      )
      const asked = ask<Ref<unknown>, unknown>(actor, (replyTo) => replyTo)
      while (system.step());
      assert.equal(await asked, answer)
    }
  })
})

describe('the deadline of an ask', () => {
  test('is never early and hardly late', async () => {
    for (const deadlineMs of [1, 7, 8, 9, 100, 1_000]) {
      const stage = rig()
      stage.clock.advance(3)
      const outcome = stage.ask('wait', { deadlineMs })
      await stage.settle()
      await pass(stage, deadlineMs + LATE_MS_MAX)

      const took = (outcome.at ?? Infinity) - 3
      assert.ok(took >= deadlineMs, `${deadlineMs} ms: early by ${deadlineMs - took}`)
      assert.ok(took <= deadlineMs + LATE_MS_MAX, `${deadlineMs} ms: late by ${took - deadlineMs}`)
    }
  })

  test('is a fault that names the actor, and is counted', async () => {
    const stage = rig()
    const outcome = stage.ask('wait', { deadlineMs: 50 })
    await stage.settle()
    await pass(stage, 50 + LATE_MS_MAX)

    const { code, detail } = accidentOf(outcome)
    assert.equal(code, 'deadline-passed')
    assert.equal(detail['actor'], '/actor')
    assert.ok(detail['remedy'])
    assert.equal(stage.system.metrics().asks_overdue, 1)
  })

  test(`is ${ASK_DEADLINE_MS_DEFAULT} ms unless said otherwise`, async () => {
    const stage = rig()
    const outcome = stage.ask('wait')
    await stage.settle()
    stage.clock.advance(ASK_DEADLINE_MS_DEFAULT - 1)
    await stage.settle()
    assert.deepEqual(outcome, {})

    await pass(stage, 1 + LATE_MS_MAX)
    assert.equal(accidentOf(outcome).code, 'deadline-passed')
  })

  test('of a short ask does not wait for that of a long one', async () => {
    const stage = rig()
    const long = stage.ask('long', { deadlineMs: 60_000 })
    await stage.settle()
    await pass(stage, 100)

    const short = stage.ask('short', { deadlineMs: 20 })
    await stage.settle()
    await pass(stage, 20 + LATE_MS_MAX)

    assert.equal(accidentOf(short).code, 'deadline-passed')
    assert.deepEqual(long, {})
  })

  test('of many asks ends each at its own time', async () => {
    const stage = rig()
    const draws = random(5)
    const asked: { due: number; outcome: Outcome }[] = []
    for (let n = 0; n < 300; n++) {
      const deadlineMs = 1 + draws.below(400)
      const due = stage.clock.monotonic() + deadlineMs
      asked.push({ due, outcome: stage.ask('wait', { deadlineMs }) })
      if (draws.below(3) === 0) await pass(stage, draws.below(10))
    }
    await pass(stage, 400 + LATE_MS_MAX)

    for (const { due, outcome } of asked) {
      const late = (outcome.at ?? Infinity) - due
      assert.ok(late >= 0 && late <= LATE_MS_MAX, `late by ${late}`)
    }
    assert.equal(stage.system.metrics().asks_overdue, 300)
  })

  test('passed, turns the answer into a dead letter and nothing else', async () => {
    const stage = rig()
    const outcome = stage.ask('wait', { deadlineMs: 10 })
    await stage.settle()
    await pass(stage, 10 + LATE_MS_MAX)
    assert.equal(accidentOf(outcome).code, 'deadline-passed')

    assert.equal(stage.open[0]!.replyTo.tell('late'), undefined)
    assert.deepEqual(
      stage.system.deadLetters.map(({ path, reason, message }) => ({ path, reason, message })),
      [{ path: '/actor/reply', reason: 'late-reply', message: 'late' }],
    )
    const next = stage.ask('echo')
    await stage.settle()
    assert.equal(next.value, 'echo')
  })

  test('leaves no timer behind once everything is answered', async () => {
    const stage = rig()
    for (let n = 0; n < 200; n++) stage.ask('echo', { deadlineMs: 60_000 })
    const waiting = stage.ask('wait', { deadlineMs: 60_000 })
    await stage.settle()
    await pass(stage, 2 * ASK_TICK_MS)
    stage.open[0]!.replyTo.tell('answer')
    await stage.settle()
    assert.equal(waiting.value, 'answer')
    stage.clock.advance(60_000)

    assert.equal(stage.system.metrics().timers_pending, 0)
    assert.equal(stage.clock.next, undefined)
  })

  test('that has passed already comes with the next tick', async () => {
    for (const deadlineMs of [0, -5]) {
      const stage = rig()
      const outcome = stage.ask('wait', { deadlineMs })
      await stage.settle()
      assert.deepEqual(outcome, {})
      await pass(stage, ASK_TICK_MS)
      assert.equal(accidentOf(outcome).code, 'deadline-passed')
    }
  })

  test('that is no time is refused before anything is told', () => {
    for (const deadlineMs of [Number.NaN, Infinity, -Infinity]) {
      const { actor, system, open, run } = rig()
      assert.throws(
        () =>
          ask<Question, string>(actor, (replyTo) => ({ text: 'wait', replyTo }), { deadlineMs }),
        (error) =>
          error instanceof Accident &&
          error.code === 'bad-option' &&
          error.detail['actor'] === '/actor' &&
          error.detail['remedy'] !== undefined,
        `${deadlineMs}`,
      )
      run()
      assert.deepEqual(open, [])
      assert.equal(system.metrics().timers_pending, 0)
    }
  })
})

describe('the signal of an ask', () => {
  const reason = new Error('enough')

  test('aborted before, rejects and tells nothing', async () => {
    const stage = rig()
    const outcome = stage.ask('wait', { signal: AbortSignal.abort(reason) })
    await stage.settle()

    assert.equal(outcome.error, reason)
    assert.deepEqual(stage.open, [])
    assert.equal(stage.system.metrics().timers_pending, 0)
  })

  test('aborted meanwhile, rejects with its reason; the answer is a dead letter', async () => {
    for (const afterMs of [0, 100]) {
      const stage = rig()
      const controller = new AbortController()
      const outcome = stage.ask('wait', { signal: controller.signal })
      await stage.settle()
      stage.clock.advance(afterMs)
      await stage.settle()
      assert.deepEqual(outcome, {})

      controller.abort(reason)
      await stage.settle()
      assert.equal(outcome.error, reason)
      stage.open[0]!.replyTo.tell('late')
      assert.equal(stage.system.metrics().dead_letters['late-reply'], 1)
      assert.equal(stage.system.metrics().asks_overdue, 0)
    }
  })

  test('aborted afterwards, changes nothing and is not listened to any more', async () => {
    const stage = rig()
    const controller = new AbortController()
    const { signal } = controller
    let listeners = 0
    const add = signal.addEventListener.bind(signal)
    const remove = signal.removeEventListener.bind(signal)
    signal.addEventListener = (...args: Parameters<typeof add>) => {
      listeners += 1
      add(...args)
    }
    signal.removeEventListener = (...args: Parameters<typeof remove>) => {
      listeners -= 1
      remove(...args)
    }
    const outcome = stage.ask('echo', { signal })
    await stage.settle()
    controller.abort(reason)
    await stage.settle()

    assert.equal(outcome.value, 'echo')
    assert.equal(outcome.error, undefined)
    assert.equal(listeners, 0)
  })
})

describe('an ask that nobody answers', () => {
  test('ends with the actor, at once, young or old', async () => {
    for (const afterMs of [0, 1_000]) {
      const stage = rig()
      const outcomes = ['a', 'b'].map((text) => stage.ask(text))
      await stage.settle()
      await pass(stage, afterMs)
      const waiting = stage.ask('queued')
      stage.actor.stop()
      await stage.settle()

      for (const outcome of [...outcomes, waiting]) {
        const { code, detail } = accidentOf(outcome)
        assert.equal(code, 'actor-stopped')
        assert.equal(detail['actor'], '/actor')
        assert.ok(detail['remedy'])
        assert.equal(outcome.at, afterMs)
      }
    }
  })

  test('ends when the actor ends in answer to it', async () => {
    const stage = rig()
    const outcome = stage.ask('end')
    await stage.settle()

    assert.equal(accidentOf(outcome).code, 'actor-stopped')
  })

  test('ends when the whole system does', async () => {
    const stage = rig()
    const outcome = stage.ask('wait')
    await stage.settle()
    const stopped = stage.system.stop()
    await stage.settle()
    await stopped

    assert.equal(accidentOf(outcome).code, 'actor-stopped')
  })

  test('is not ended by a failure that the actor survives', async () => {
    for (const supervision of [resume(), restart({ backoff: { minMs: 0, jitter: 0 } })]) {
      const clock = virtualClock()
      const system = createSteppedSystem({ clock })
      const actor = system.spawn(
        'actor',
        receive<Ref<string>>(() => {
          throw new Error('no')
        }),
        { supervision },
      )
      let settled = false
      const asked = ask<Ref<string>, string>(actor, (replyTo) => replyTo, { deadlineMs: 50 })
      asked.then(
        () => (settled = true),
        () => (settled = true),
      )
      while (system.step());
      await new Promise<void>(afterIo)
      assert.equal(settled, false)
      for (let n = 0; n < 50 + LATE_MS_MAX; n++) clock.advance(1)
      await assert.rejects(asked, { code: 'deadline-passed' })
    }
  })

  test('is refused by a stopped actor and a full mailbox', async () => {
    const stage = rig({ bound: 1 })
    const [first, second] = [stage.ask('echo'), stage.ask('echo')]
    await stage.settle()
    assert.equal(first.value, 'echo')
    assert.equal(accidentOf(second).code, 'mailbox-full')
    assert.equal(accidentOf(second).detail['actor'], '/actor')

    stage.actor.stop()
    await stage.settle()
    const third = stage.ask('echo')
    await stage.settle()
    assert.equal(accidentOf(third).code, 'actor-stopped')
  })

  test('is refused by whoever is no actor', () => {
    const wall = { path: '/wall', tell: () => undefined }
    assert.throws(() => ask<Ref<string>, string>(wall, (replyTo) => replyTo), {
      code: 'not-an-actor',
    })
  })
})

describe('a second answer', () => {
  test('is a dead letter', async () => {
    const stage = rig()
    const outcome = stage.ask('wait')
    await stage.settle()
    const { replyTo } = stage.open[0]!
    for (const answer of ['first', 'second']) replyTo.tell(answer)
    await stage.settle()

    assert.equal(outcome.value, 'first')
    assert.deepEqual(
      stage.system.deadLetters.map(({ reason, message }) => [reason, message]),
      [['late-reply', 'second']],
    )
  })
})

describe('an ask within an ask', () => {
  test('does not take the place of the outer one, even if that is refused', async () => {
    const stage = rig({ bound: 1 })
    const other = stage.system.spawn(
      'other',
      receive<Ref<string>>((_ctx, replyTo) => void replyTo.tell('inner')),
    )
    let inner: Promise<string> | undefined
    stage.ask('fills')
    const outer = ask<Question, string>(stage.actor, (replyTo) => {
      inner = ask<Ref<string>, string>(other, (to) => to)
      return { text: 'outer', replyTo }
    })
    const refused = assert.rejects(outer, { code: 'mailbox-full' })
    await stage.settle()

    await refused
    assert.equal(await inner, 'inner')
  })

  test('whose maker throws, throws, and leaves nothing behind', async () => {
    const stage = rig()
    assert.throws(
      () =>
        ask(stage.actor, () => {
          throw new Error('no')
        }),
      /no/u,
    )
    await stage.settle()

    assert.equal(stage.system.metrics().timers_pending, 0)
    const next = stage.ask('echo')
    await stage.settle()
    assert.equal(next.value, 'echo')
  })
})
