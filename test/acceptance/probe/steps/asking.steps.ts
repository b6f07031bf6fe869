/** What clients of the queue do. */
import assert from 'node:assert/strict'

import { Given, When, type DataTable } from '@cucumber/cucumber'

import type { Probe, RecordedState } from '../../../../src/probe/index.ts'
import { BUNDLE, type ProbeWorld } from './world.ts'

type Request = 'begin' | 'start' | 'look at' | 'cancel' | 'extend' | 'retry'

Given('an orchestrator with:', function (this: ProbeWorld, table: DataTable) {
  for (const [name, value] of Object.entries(table.rowsHash()))
    this.settings[name] = /^\d+$/.test(value) ? Number(value) : value
})

When('test {string} is begun', async function (this: ProbeWorld, name: string) {
  await this.begin(name)
})

When(
  'test {string} is begun by request {string}',
  async function (this: ProbeWorld, name: string, request: string) {
    await this.begin(name, request)
  },
)

When('{int} tests are begun at once', async function (this: ProbeWorld, count: number) {
  const begun = await this.ask((probe) =>
    Promise.all(Array.from({ length: count }, () => probe.initialize())),
  )
  this.crowd = begun.map((one) => ('testId' in one ? one.testId : assert.fail(one.message)))
})

When('all of them are started at once', async function (this: ProbeWorld) {
  const answers = await this.ask((probe) =>
    Promise.all(this.crowd.map((testId) => probe.start(testId, { bucket: BUNDLE }))),
  )
  for (const answer of answers) assert.ok('accepted' in answer && answer.accepted)
})

When(
  'test {string} is started with bundle {string}',
  async function (this: ProbeWorld, name: string, bucket: string) {
    await this.start(this.id(name), { bucket })
  },
)

When(
  'test {string} is started with bundle {string} as {string}',
  async function (this: ProbeWorld, name: string, bucket: string, testType: string) {
    await this.start(this.id(name), { bucket, testType })
  },
)

When(/^tests? "([^"]+)" (?:is|are) started$/, async function (this: ProbeWorld, names: string) {
  for (const name of names.split(', ')) await this.started(name)
})

Given(
  'test {string} is started with priority {int}',
  async function (this: ProbeWorld, name: string, priority: number) {
    await this.started(name, { priority })
  },
)

Given(
  'test {string} is started holding {string} alone',
  async function (this: ProbeWorld, name: string, key: string) {
    await this.started(name, { exclusive: [key] })
  },
)

Given('tests {string} wait for their bundles', async function (this: ProbeWorld, names: string) {
  for (const name of names.split(', ')) {
    this.hold(name)
    await this.started(name)
  }
})

Given('test {string} has passed', async function (this: ProbeWorld, name: string) {
  const testId = await this.started(name)
  this.fakes.runOf(testId).finish()
  await this.pass(0)
})

When('a test is brought to {word}', async function (this: ProbeWorld, state: RecordedState) {
  await this.bring(state)
})

Given(
  /^(\d+) tests are in (Setup|Loading)$/,
  async function (this: ProbeWorld, count: string, state: RecordedState) {
    for (let n = 0; n < Number(count); n++) await this.bring(state)
  },
)

Given(
  '{int} tests are started and stand ready behind it',
  async function (this: ProbeWorld, count: number) {
    for (let n = 0; n < count; n++) await this.started(`behind-${n}`)
  },
)

When('test {string} is cancelled', async function (this: ProbeWorld, name: string) {
  await this.ask((probe) => probe.cancel(this.id(name)))
})

When('that test is cancelled', async function (this: ProbeWorld) {
  await this.ask((probe) => probe.cancel(this.that))
})

When('test {string} is to be run again', async function (this: ProbeWorld, name: string) {
  await this.ask((probe) => probe.retry(this.id(name)))
})

When('the queue is asked for its status', async function (this: ProbeWorld) {
  await this.ask((probe) => probe.queueStatus())
})

When('the queue is paused', async function (this: ProbeWorld) {
  await this.ask((probe) => probe.pause())
})

When('the queue is opened', async function (this: ProbeWorld) {
  await this.ask((probe) => probe.resume())
})

When('the queue is drained', async function (this: ProbeWorld) {
  this.drained = (await this.probe()).drain()
  await this.pass(0)
})

When(
  /^somebody wants to (start|look at|cancel|extend|retry) a test that is not there$/,
  async function (this: ProbeWorld, request: Request) {
    await this.ask((probe) => requested(probe, request, 'nobody'))
  },
)

Given(
  /^the work to (begin|start|look at|cancel) one test among (\d+) is known$/,
  async function (this: ProbeWorld, request: Request, count: string) {
    this.that = request
    this.work = await workAmong(this, request, Number(count))
  },
)

When('{int} seconds go by', async function (this: ProbeWorld, seconds: number) {
  await this.pass(seconds * 1_000)
})

/** Of one request, when so many tests are there and those that can be are in line. */
export async function workAmong(
  world: ProbeWorld,
  request: Request,
  count: number,
): Promise<number> {
  const begun = await world.ask((probe) =>
    Promise.all(Array.from({ length: count }, () => probe.initialize())),
  )
  const ids = begun.map((one) => ('testId' in one ? one.testId : assert.fail(one.message)))
  const [subject, ...others] = ids
  await world.ask((probe) =>
    Promise.all(others.map((testId) => probe.start(testId, { bucket: BUNDLE }))),
  )
  const before = await world.worked()
  await world.ask((probe) => requested(probe, request, subject!))
  return (await world.worked()) - before
}

function requested(probe: Probe, request: Request, testId: string): Promise<unknown> {
  switch (request) {
    case 'begin':
      return probe.initialize()
    case 'start':
      return probe.start(testId, { bucket: BUNDLE })
    case 'look at':
      return probe.status(testId)
    case 'cancel':
      return probe.cancel(testId)
    case 'extend':
      return probe.extend(testId, 1_000)
    case 'retry':
      return probe.retry(testId)
  }
}
