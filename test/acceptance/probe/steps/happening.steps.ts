/** What happens to tests without anybody asking for it. */
import { Given, When } from '@cucumber/cucumber'

import { Accident, fault } from '../../../../src/std/index.ts'
import { FAILED } from '../../../probe/fakes.ts'
import type { ProbeWorld } from './world.ts'

Given('bundles of {string} take their time', function (this: ProbeWorld, name: string) {
  this.hold(name)
})

Given('bundles of {string} cannot be fetched', function (this: ProbeWorld, name: string) {
  this.hold(name)
  this.refuse(name)
})

When('the bundle of {string} comes', async function (this: ProbeWorld, name: string) {
  this.letGo(name)
  await this.pass(0)
})

Given('every run takes a second', async function (this: ProbeWorld) {
  const { clock } = (await this.scene()).town
  this.fakes.onRun = (run) => {
    this.mostRunning = Math.max(this.mostRunning, this.fakes.running)
    clock.setTimer(clock.monotonic() + 1_000, () => run.finish())
  }
})

When(
  /^the run of test "([^"]+)" (passes|fails|breaks|is cancelled|takes too long|loses its actor|loses its storage|cannot keep its evidence)$/,
  async function (this: ProbeWorld, name: string, end: string) {
    const testId = this.id(name)
    const run = this.fakes.runOf(testId)
    const ends: Readonly<Record<string, () => unknown>> = {
      passes: () => run.finish(),
      fails: () => run.finish(FAILED),
      breaks: () => run.fail(new Accident(fault('run-ended', 'the run has ended too early'))),
      'is cancelled': () => this.ask((probe) => probe.cancel(testId)),
      'takes too long': () => this.pass(300_000),
      'loses its actor': async () => (await this.scene()).kill(testId),
      'loses its storage': async () => (await this.scene()).kill(testId, 'block-storage'),
      'cannot keep its evidence': () => {
        this.fakes.onStore = () =>
          Promise.reject(new Accident(fault('storage-unavailable', 'the store is down')))
        run.finish()
      },
    }
    await ends[end]!()
    await this.pass(0)
  },
)

When('the actor of test {string} dies', async function (this: ProbeWorld, name: string) {
  const scene = await this.scene()
  scene.kill(this.id(name))
  await this.pass(0)
})

When('the server is killed and starts again', async function (this: ProbeWorld) {
  const scene = await this.scene()
  for (const run of this.fakes.runs) if (!run.isOver) run.fail(new Error('the server is gone'))
  await scene.killAndBegin()
  await this.pass(0)
})
