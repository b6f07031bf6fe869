/** The guardian: one queue, made once, made anew when it is gone. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import { createSteppedSystem, receive, setup, type Behavior, type Ref } from '../kernel/index.ts'
import { isFault, silentLog } from '../std/index.ts'
import { inbox, stage, virtualClock, type Stage } from '../testkit/index.ts'
import { guardian } from './guardian.ts'
import { QUEUE_RECREATE_MS, QUEUE_RESTARTS_MAX } from './limits.ts'
import type { GuardianMessage, ProbeFault, QueueMessage } from './protocol.ts'

type Answer = Ref<QueueMessage> | ProbeFault

class Rig {
  readonly subject: Stage<GuardianMessage>
  made = 0
  lives = 0
  /** Thrown instead of making a queue. */
  trouble: Error | undefined

  constructor() {
    this.subject = stage(
      guardian(() => this.#make(), silentLog),
      { name: 'guardian' },
    )
  }

  ask(type: 'initialize' | 'get-queue'): Answer {
    const client = inbox<Answer>('client', { freeze: false })
    this.subject.tell({ type, replyTo: client })
    return client.take()
  }

  queue(): Ref<QueueMessage> {
    const answer = this.ask('initialize')
    assert.ok(!isFault(answer))
    return answer
  }

  /** The queue fails at what it is told. */
  fail(): void {
    this.queue().tell({ type: 'recover' })
    this.subject.run()
  }

  #make(): Behavior<QueueMessage> {
    if (this.trouble !== undefined) throw this.trouble
    this.made++
    return setup(() => {
      this.lives++
      return receive(() => {
        throw new Error('the queue fails')
      })
    })
  }
}

describe('the guardian', () => {
  test('makes one queue, by its name, and gives the same one each time', () => {
    const at = new Rig()
    const queue = at.queue()
    assert.equal(queue.path, '/guardian/queue-actor')
    assert.equal(at.queue(), queue)
    assert.equal(at.ask('get-queue'), queue)
    assert.equal(at.made, 1)
  })

  test('refuses the queue before it was initialized', () => {
    const at = new Rig()
    const answer = at.ask('get-queue')
    assert.ok(isFault(answer))
    assert.equal(answer.code, 'probe-unavailable')
    assert.equal(at.made, 0)
  })

  test('says that a queue could not be made, and makes it when asked again', () => {
    const at = new Rig()
    at.trouble = new Error('no room')
    const answer = at.ask('initialize')
    assert.ok(isFault(answer))
    assert.match(answer.message, /no room/)
    at.trouble = undefined
    assert.ok(!isFault(at.ask('initialize')))
  })

  test('answers without time going on', () => {
    const at = new Rig()
    at.queue()
    assert.equal(at.subject.clock.monotonic(), 0)
  })

  test('restarts a queue that fails, at the same address, up to so many times in a window', () => {
    const at = new Rig()
    const queue = at.queue()
    for (let n = 0; n < QUEUE_RESTARTS_MAX; n++) {
      at.fail()
      at.subject.advance(Math.min(100 * 2 ** n, 10_000)) // the pause before it is there again
    }
    assert.equal(at.queue(), queue)
    assert.deepEqual([at.made, at.lives], [1, QUEUE_RESTARTS_MAX + 1])
  })

  test('makes another after one that failed too often, when it is wanted or after a while', () => {
    const at = new Rig()
    const first = at.queue()
    exhaust(at)
    assert.ok(isFault(at.ask('get-queue')))
    const second = at.queue()
    assert.notEqual(second, first)
    assert.equal(at.made, 2)

    exhaust(at)
    at.subject.advance(QUEUE_RECREATE_MS)
    assert.ok(!isFault(at.ask('get-queue')))
    assert.equal(at.made, 3)
  })

  test('takes the queue with it when it stops', async () => {
    const system = createSteppedSystem({ clock: virtualClock() })
    const handle = system.spawn(
      'guardian',
      guardian(() => receive(() => undefined), silentLog),
    )
    const client = inbox<Answer>('client', { freeze: false })
    handle.tell({ type: 'initialize', replyTo: client })
    while (system.step());
    assert.ok(!isFault(system.find('/guardian/queue-actor')))
    handle.stop()
    while (system.step());
    assert.equal((await handle.ended).cause, 'stopped')
    assert.ok(isFault(system.find('/guardian/queue-actor')))
  })
})

/** Fails as often as it may and once more, within one window. */
function exhaust(at: Rig): void {
  const { made } = at
  const queue = at.queue()
  for (let n = 0; n <= QUEUE_RESTARTS_MAX; n++) queue.tell({ type: 'recover' })
  at.subject.advance(QUEUE_RECREATE_MS - 1)
  assert.equal(at.made, made)
}
