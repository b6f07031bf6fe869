import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import { afterIo, isFault, silentLog } from '../std/index.ts'
import { virtualClock } from '../testkit/index.ts'
import {
  after,
  createSteppedSystem,
  createSystem,
  receive,
  setup,
  signal,
  withContext,
  type Behavior,
  type Handle,
  type Ref,
  type System,
} from './index.ts'

/** Lets systems that run by themselves go on until it is true. */
async function until(isTrue: () => boolean): Promise<void> {
  while (!isTrue()) await new Promise<void>(afterIo)
}

function noting(notes: unknown[]): Behavior<string> {
  return receive<string>((_ctx, message) => void notes.push(message))
}

describe('two systems in one process', () => {
  test('have the same names for different actors', async () => {
    await using one = createSystem({ name: 'one' })
    await using two = createSystem({ name: 'two' })
    const notes = [one, two].map((system) => {
      const own: unknown[] = []
      system.spawn('actor', noting(own)).tell(system.name)
      return own
    })
    await until(() => notes.every((own) => own.length === 1))

    assert.deepEqual(notes, [['one'], ['two']])
    assert.notEqual(one.find('/actor'), two.find('/actor'))
    one.spawn('only', noting([]))
    assert.ok(isFault(two.find('/only')))
  })

  test('go by different clocks', async () => {
    const clocks = [virtualClock(), virtualClock()]
    const systems = clocks.map((clock) => createSystem({ clock }))
    const notes: string[][] = systems.map((system) => {
      const own: string[] = []
      const actor = system.spawn(
        'actor',
        setup<string>((ctx) => {
          ctx.timers.after('key', 100, 'timer')
          return noting(own)
        }),
      )
      actor.suspend('user', after(50))
      return own
    })
    await until(() => systems.every((system) => system.metrics().ready_depth === 0))

    clocks[0]!.advance(50)
    await until(() => systems[0]!.metrics().timers_pending === 1)
    clocks[0]!.advance(100)
    await until(() => notes[0]!.length === 1)
    assert.deepEqual(notes, [['timer'], []])
    assert.equal(systems[1]!.metrics().suspended_now, 1)
    assert.equal(systems[1]!.metrics().timers_pending, 1)

    for (const system of systems) {
      await system.stop()
      assert.equal(system.metrics().timers_pending, 0)
    }
  })

  test('share no signal, no dead letter, no trace and no figure', async () => {
    await using one = createSystem()
    await using two = createSystem()
    const heard: string[] = []
    two.trace(({ type }) => heard.push(type))
    two.onDeadLetter(() => heard.push('letter'))
    const before = two.metrics()

    const actor = one.spawn('actor', noting([]))
    actor.suspend('user', signal('go'))
    one.signal('sticky', { sticky: true })
    assert.equal(two.signal('go'), 0)
    const waiting = createSteppedSystem({ clock: virtualClock() }).spawn('waiting', noting([]))
    assert.equal(waiting.suspend('user', signal('sticky')).active, true)
    assert.equal(one.signal('go'), 1)
    actor.stop()
    await actor.ended
    actor.tell('late')

    assert.deepEqual(heard, [])
    const { thread: _threadNow, ...now } = two.metrics()
    const { thread: _threadThen, ...then } = before
    assert.deepEqual(now, then)
    assert.equal(one.metrics().dead_letters['stopped'], 1)
  })

  test('do not know the addresses of the other, and refuse its refs', async () => {
    await using one = createSystem()
    await using two = createSystem()
    const actor = one.spawn('actor', noting([]))
    const address = one.addressOf(actor)

    assert.equal(two.tellAt(address, 'hello')?.code, 'stale-address')
    assert.throws(() => two.addressOf(actor), { code: 'not-an-actor' })
  })

  test('one listened to does not slow down or change the order of the other', async () => {
    await using one = createSystem()
    await using two = createSystem()
    const notes: number[] = []
    const actor = two.spawn(
      'actor',
      receive<number>((_ctx, message) => void notes.push(message)),
    )
    let n = 0
    for (let round = 0; round < 20; round++) {
      for (let more = 0; more < 50; more++) actor.tell(n++)
      const leave = one.trace(() => undefined)
      for (let more = 0; more < 50; more++) actor.tell(n++)
      if (round % 3 === 0) await new Promise<void>(afterIo)
      leave()
    }
    await until(() => notes.length === n)

    assert.deepEqual(notes, [...new Array<undefined>(n).keys()])
  })

  test('one stopped under load takes nothing of the other with it', async () => {
    const stopping = createSystem({ name: 'stopping', log: silentLog })
    await using staying = createSystem({ name: 'staying', log: silentLog })
    const counts = { stopping: 0, staying: 0 }

    /** A ring of actors that never rest, half of them async, with a timer and a few failures. */
    const load = (system: System, name: keyof typeof counts): Handle<number>[] => {
      const ring: Handle<number>[] = []
      for (let n = 0; n < 20; n++) {
        const next = (message: number): void => {
          counts[name] += 1
          const target: Ref<number> = ring[(n + 1) % ring.length]!
          withContext(message % 5 === 0 ? name : undefined, () => target.tell(message + 1))
        }
        const behavior =
          n % 2 === 0
            ? receive<number>((_ctx, message) => next(message))
            : receive<number>(async (_ctx, message) => {
                await Promise.resolve()
                next(message)
              })
        ring.push(system.spawn(`member-${n}`, behavior))
      }
      for (const member of ring) member.tell(0)
      return ring
    }
    const [ended, living] = [load(stopping, 'stopping'), load(staying, 'staying')]
    await until(() => counts.stopping > 5_000 && counts.staying > 5_000)

    assert.deepEqual(await stopping.stop(), { overdue: [] })
    const { stopping: atStop, staying: before } = { ...counts }
    await until(() => counts.staying > before + 5_000)

    assert.equal(counts.stopping, atStop)
    for (const member of ended) assert.equal(member.tell(0)?.code, 'actor-stopped')
    for (const member of living) assert.equal(member.tell(0), undefined)
    const { stopped, failures, dead_letters } = staying.metrics()
    assert.deepEqual(
      { stopped, failures, dead_letters },
      { stopped: 0, failures: 0, dead_letters: {} },
    )
  })

  test('may tell each other, and each keeps to its own bounds and end', async () => {
    await using one = createSystem()
    const two = createSystem()
    const notes: unknown[] = []
    const target = two.spawn('target', noting(notes), { bound: 2, overflow: 'suspend-sender' })
    const sender = one.spawn(
      'sender',
      receive<string>(() => {
        for (const message of ['a', 'b', 'c', 'd']) target.tell(message)
      }),
    )
    sender.tell('go')
    await until(() => notes.length === 4)
    assert.deepEqual(notes, ['a', 'b', 'c', 'd'])

    const ends: unknown[] = []
    one.spawn(
      'watcher',
      setup<string>((ctx) => {
        ctx.watch(target, 'ended')
        return noting(ends)
      }),
    )
    await until(() => one.metrics().ready_depth === 0)
    await two.stop()
    await until(() => ends.length === 1)
    assert.deepEqual(ends, ['ended'])
    assert.equal(sender.tell('go'), undefined)
  })
})
