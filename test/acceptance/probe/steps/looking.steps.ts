/** What the queue answers, what it counts, and who runs. */
import assert from 'node:assert/strict'

import { Then, type DataTable } from '@cucumber/cucumber'

import { isFault } from '../../../../src/std/index.ts'
import type { Cancelled, Started } from '../../../../src/probe/index.ts'
import { workAmong } from './asking.steps.ts'
import type { ProbeWorld } from './world.ts'

Then('it is answered with {string}', function (this: ProbeWorld, message: string) {
  assert.equal(answered(this).message, message)
})

Then('it is accepted with {string}', function (this: ProbeWorld, message: string) {
  const started = answered(this)
  assert.equal(started.message, message)
  assert.equal(started.accepted, true)
})

Then('it stands at position {int}', function (this: ProbeWorld, position: number) {
  assert.equal(answered(this).position, position)
})

Then('it is not accepted because it is {string}', function (this: ProbeWorld, reason: string) {
  const started = answered(this)
  assert.equal(started.accepted, false)
  assert.equal(started.reason, reason)
})

Then('it is cancelled', function (this: ProbeWorld) {
  assert.equal(answered(this).cancelled, true)
})

Then('it is not cancelled: {string}', function (this: ProbeWorld, message: string) {
  const cancelled = answered(this)
  assert.equal(cancelled.cancelled, false)
  assert.equal(cancelled.message, message)
})

Then('it is refused as {string}', function (this: ProbeWorld, code: string) {
  const { answer } = this
  assert.ok(isFault(answer), JSON.stringify(answer))
  assert.equal(answer.code, code)
})

Then(
  'test {string} cannot be started because it is {string}',
  async function (this: ProbeWorld, name: string, reason: string) {
    await this.start(this.id(name))
    assert.equal(answered(this).reason, reason)
  },
)

Then('no further test can be begun', async function (this: ProbeWorld) {
  const refusal = await this.ask((probe) => probe.initialize())
  assert.ok(isFault(refusal))
  assert.equal(refusal.code, 'probe-draining')
})

Then('the drain is over', async function (this: ProbeWorld) {
  const { town } = await this.scene()
  assert.deepEqual(await town.until(this.drained!), { mode: 'draining', running: 0 })
})

Then('each of them has another id', function (this: ProbeWorld) {
  assert.equal(new Set(this.crowd).size, this.crowd.length)
})

Then(
  'test {string} and test {string} are the same',
  function (this: ProbeWorld, one: string, other: string) {
    assert.equal(this.id(one), this.id(other))
  },
)

Then('test {string} is in {word}', async function (this: ProbeWorld, name: string, state: string) {
  assert.equal((await this.status(this.id(name))).state, state)
})

Then(
  'test {string} is in its attempt {int}',
  async function (this: ProbeWorld, name: string, attempt: number) {
    assert.equal((await this.status(this.id(name))).attempt, attempt)
  },
)

Then(
  'test {string} has ended {word}',
  async function (this: ProbeWorld, name: string, outcome: string) {
    assert.equal((await this.status(this.id(name))).outcome, outcome)
  },
)

Then('that test has ended {word}', async function (this: ProbeWorld, outcome: string) {
  assert.equal((await this.status(this.that)).outcome, outcome)
})

Then(
  'the status of test {string} has:',
  async function (this: ProbeWorld, name: string, table: DataTable) {
    assert.partialDeepStrictEqual(await this.status(this.id(name)), table.rowsHash())
  },
)

Then('test {string} has an actor of its own', async function (this: ProbeWorld, name: string) {
  assert.ok(!isFault(await actorOf(this, name)))
})

Then('test {string} has no actor', async function (this: ProbeWorld, name: string) {
  assert.ok(isFault(await actorOf(this, name)))
})

Then('the queue counts:', async function (this: ProbeWorld, table: DataTable) {
  const { probe, town } = await this.scene()
  const status = await town.until(probe.queueStatus())
  assert.ok('totalTests' in status, JSON.stringify(status))
  const counts: Readonly<Record<string, number>> = {
    total: status.totalTests,
    setup: status.setupCount,
    loading: status.loadingCount,
    loaded: status.loadedCount,
    testing: status.testingCount,
    completed: status.completedCount,
    exception: status.exceptionCount,
    pending: status.pending,
  }
  const [wanted = {}] = table.hashes()
  const named = Object.keys(wanted).map((name) => [name, String(counts[name])])
  assert.deepEqual(Object.fromEntries(named), wanted)
  const { total, pending: _, ...states } = counts
  assert.equal(
    Object.values(states).reduce((sum, count) => sum + count, 0),
    total,
  )
})

Then('test {string} runs alone', function (this: ProbeWorld, name: string) {
  assert.deepEqual(this.running(), [name])
})

Then('tests {string} run', function (this: ProbeWorld, names: string) {
  assert.deepEqual(this.running().toSorted(), names.split(', ').toSorted())
})

Then('nobody runs', function (this: ProbeWorld) {
  assert.deepEqual(this.running(), [])
})

Then('one of them runs', function (this: ProbeWorld) {
  assert.equal(this.running().length, 1)
})

Then('no time has gone by', async function (this: ProbeWorld) {
  assert.equal(await this.passedMs(), 0)
})

Then('all of them have passed', async function (this: ProbeWorld) {
  for (const testId of this.crowd) assert.equal((await this.status(testId)).outcome, 'passed')
})

Then('never more than {int} ran at a time', function (this: ProbeWorld, most: number) {
  assert.equal(this.mostRunning, most)
})

Then('it is the same among {int}', async function (this: ProbeWorld, count: number) {
  const request = this.that
  assert.ok(
    request === 'begin' || request === 'start' || request === 'look at' || request === 'cancel',
  )
  assert.equal(await workAmong(this, request, count), this.work)
})

async function actorOf(world: ProbeWorld, name: string): Promise<unknown> {
  const { town } = await world.scene()
  return town.system.find(`/guardian/queue-actor/test-execution-${world.id(name)}`)
}

function answered({ answer }: ProbeWorld): Partial<Omit<Started & Cancelled, 'testId'>> {
  assert.ok(typeof answer === 'object' && answer !== null && !isFault(answer))
  return answer
}
