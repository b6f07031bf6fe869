/**
 * What one scenario knows: an orchestrator of its own with the real actors, on virtual time, over a
 * journal on a simulated disk; the ids behind the names it uses, and what was answered last.
 *
 * The orchestrator begins with the first step that needs it, so that a scenario can say before what it
 * is like. Whatever can happen without time going by has happened when a step is over.
 */
import assert from 'node:assert/strict'

import { After, setDefaultTimeout, setWorldConstructor, World } from '@cucumber/cucumber'

import type { Journal } from '../../../../src/journal/index.ts'
import { Accident, fault } from '../../../../src/std/index.ts'
import type {
  Probe,
  RecordedState,
  StartTestOptions,
  TestStatus,
} from '../../../../src/probe/index.ts'
import { Fakes, type FakeRun } from '../../../probe/fakes.ts'
import { scene, type Scene } from '../../../probe/scene.ts'

/** Real time, of a step that turns the world some hundred thousand times. */
const STEP_MS_MAX = 150_000

export const BUNDLE = '/bundles/a'

export class ProbeWorld extends World {
  readonly settings: Record<string, unknown> = {}
  readonly fakes: Fakes = new Fakes()
  /** Of what was begun at once, in order. */
  crowd: readonly string[] = []
  /** The one that the scenario calls `that test`. */
  that = ''
  answer: unknown
  drained: Promise<unknown> | undefined
  mostRunning = 0
  work = 0
  readonly #ids = new Map<string, string>()
  readonly #held = new Map<string, PromiseWithResolvers<void>>()
  #scene: Scene | undefined
  #began = 0
  #calls = 0

  async scene(): Promise<Scene> {
    if (this.#scene === undefined) {
      this.fakes.onFetch = (bucket) => this.#held.get(bucket)?.promise ?? Promise.resolve()
      this.#scene = await scene({
        settings: this.settings,
        fakes: this.fakes,
        between: (journal) => this.#counted(journal),
      })
      this.#began = this.#scene.town.clock.monotonic()
    }
    return this.#scene
  }

  async probe(): Promise<Probe> {
    return (await this.scene()).probe
  }

  /** What is answered, which may be a refusal, when all that follows from it has happened. */
  async ask<T>(what: (probe: Probe) => Promise<T>): Promise<T> {
    const { town, probe } = await this.scene()
    const answer = await town.until(what(probe))
    await town.advance(0)
    this.answer = answer
    return answer
  }

  async pass(ms: number): Promise<void> {
    await (await this.scene()).town.advance(ms)
  }

  async passedMs(): Promise<number> {
    return (await this.scene()).town.clock.monotonic() - this.#began
  }

  /** Turns of actors and calls of the journal so far. */
  async worked(): Promise<number> {
    return (await this.scene()).town.steps + this.#calls
  }

  id(name: string): string {
    const testId = this.#ids.get(name)
    assert.ok(testId !== undefined, `there is no test "${name}"`)
    return testId
  }

  async begin(name: string, requestId?: string): Promise<string> {
    const options = requestId === undefined ? {} : { requestId }
    const begun = await this.ask((probe) => probe.initialize(options))
    assert.ok('testId' in begun, JSON.stringify(begun))
    this.#ids.set(name, begun.testId)
    this.that = begun.testId
    return begun.testId
  }

  async start(testId: string, options: Partial<StartTestOptions> = {}): Promise<void> {
    await this.ask((probe) => probe.start(testId, { bucket: BUNDLE, ...options }))
  }

  async started(name: string, options: Partial<StartTestOptions> = {}): Promise<string> {
    const testId = await this.begin(name)
    await this.start(testId, { bucket: this.bucketOf(name), ...options })
    return testId
  }

  /** A bundle that is held has a place of its own. */
  bucketOf(name: string): string {
    return this.#held.has(`/bundles/${name}`) ? `/bundles/${name}` : BUNDLE
  }

  hold(name: string): void {
    const held = Promise.withResolvers<void>()
    held.promise.catch(() => undefined)
    this.#held.set(`/bundles/${name}`, held)
  }

  letGo(name: string): void {
    this.#held.get(`/bundles/${name}`)!.resolve()
  }

  refuse(name: string): void {
    this.#held
      .get(`/bundles/${name}`)!
      .reject(new Accident(fault('storage-unavailable', 'the store is down')))
  }

  async status(testId: string): Promise<TestStatus> {
    const { probe, town } = await this.scene()
    const status = await town.until(probe.status(testId))
    assert.ok('testId' in status, JSON.stringify(status))
    return status
  }

  /** A test for the scenario to look at, in that state. */
  async bring(state: RecordedState): Promise<void> {
    const name = `${state}-${this.#ids.size}`
    switch (state) {
      case 'Setup':
        await this.begin(name)
        break
      case 'Loading':
        this.hold(name)
        await this.started(name)
        break
      case 'Loaded': {
        await this.ask((probe) => probe.pause())
        await this.started(name)
        break
      }
      case 'Testing':
        await this.started(name)
        break
      case 'Completed':
        this.fakes.runOf(await this.started(name)).finish()
        break
      case 'Exception':
        this.hold(name)
        await this.started(name)
        this.refuse(name)
        break
    }
    await this.pass(0)
    assert.equal((await this.status(this.that)).state, state)
  }

  /** Who runs, as the names of the scenario. */
  running(): readonly string[] {
    const runs = new Set(this.fakes.runs.filter(({ isOver }) => !isOver))
    const ids = Array.from(runs, ({ job }: FakeRun) => job.testId)
    const names = new Map(Array.from(this.#ids, ([name, testId]) => [testId, name]))
    return ids.map((testId) => names.get(testId) ?? testId)
  }

  async end(): Promise<void> {
    for (const held of this.#held.values()) held.resolve()
    await this.#scene?.[Symbol.asyncDispose]()
  }

  #counted(journal: Journal): Journal {
    return new Proxy(journal, {
      get: (target, name) => {
        const value: unknown = Reflect.get(target, name, target)
        if (typeof value !== 'function') return value
        return (...args: unknown[]): unknown => {
          this.#calls += 1
          return Reflect.apply(value, target, args)
        }
      },
    })
  }
}

setWorldConstructor(ProbeWorld)
setDefaultTimeout(STEP_MS_MAX)

After(async function (this: ProbeWorld) {
  await this.end()
})
