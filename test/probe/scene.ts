/** A whole orchestrator in a world: virtual time, a journal on a simulated disk, made-up ports. */
import assert from 'node:assert/strict'

import type { Journal } from '../../src/journal/index.ts'
import { createProbe } from '../../src/probe/create-probe.ts'
import type { Factories } from '../../src/probe/house.ts'
import type { ProbeSettings } from '../../src/probe/options.ts'
import type { Probe } from '../../src/probe/probe.ts'
import type { ChildKind, TestStatus } from '../../src/probe/protocol.ts'
import type { RecordedState } from '../../src/probe/record.ts'
import { isFault, type Fault, type Log } from '../../src/std/index.ts'
import {
  world,
  type SimulatedDisk,
  type World,
  type WorldOptions,
} from '../../src/testkit/index.ts'
import { Fakes } from './fakes.ts'

export type SceneOptions = WorldOptions &
  Readonly<{
    settings?: Partial<ProbeSettings>
    factories?: Partial<Factories>
    probeLog?: Log
    fakes?: Fakes
    newId?: () => string
    /** Stands between the orchestrator and its journal. */
    between?: (journal: Journal) => Journal
  }>

export class Scene implements AsyncDisposable {
  readonly town: World
  readonly fakes: Fakes
  readonly disk: SimulatedDisk
  readonly #options: SceneOptions
  journal!: Journal
  probe!: Probe
  #ids = 0
  #lives = 0

  constructor(options: SceneOptions) {
    const {
      settings: _s,
      factories: _f,
      probeLog: _l,
      between: _b,
      newId: _n,
      fakes,
      ...ofWorld
    } = options
    this.#options = options
    this.town = world(ofWorld)
    this.fakes = fakes ?? new Fakes()
    this.disk = this.town.disk()
  }

  /** Starts it, on what its disk has. */
  async begin(settings: Partial<ProbeSettings> = {}): Promise<Probe> {
    const { town, fakes } = this
    const { settings: given, factories, probeLog, newId } = this.#options
    const journal = await town.until(town.journal(this.disk))
    this.journal = this.#options.between?.(journal) ?? journal
    const lives = ++this.#lives
    this.probe = await town.until(
      createProbe({
        system: town.system,
        journal: this.journal,
        ports: fakes.ports,
        settings: { ...given, ...settings },
        newId: newId ?? (() => `test-${++this.#ids}`),
        name: lives === 1 ? 'guardian' : `guardian-${lives}`,
        ...(factories !== undefined && { factories }),
        ...(probeLog !== undefined && { log: probeLog }),
      }),
    )
    return this.probe
  }

  /** As if the server was killed: nothing is said, and what is on disk is there. */
  async killAndBegin(settings: Partial<ProbeSettings> = {}): Promise<Probe> {
    this.disk.crash()
    await this.close()
    return this.begin(settings)
  }

  /** An orderly end and another start. */
  async restart(settings: Partial<ProbeSettings> = {}): Promise<Probe> {
    await this.close()
    await this.town.until(this.journal.close())
    return this.begin(settings)
  }

  async close(): Promise<void> {
    await this.town.until(this.probe.close())
  }

  async until<T>(promise: Promise<T>): Promise<Exclude<T, Fault>> {
    return granted(await this.town.until(promise))
  }

  async refused(promise: Promise<unknown>): Promise<Fault> {
    const answer = await this.town.until(promise)
    assert.ok(isFault(answer), `it was granted: ${JSON.stringify(answer)}`)
    return answer
  }

  async initialize(): Promise<string> {
    return (await this.until(this.probe.initialize())).testId
  }

  /** A test that was started; it is loaded and runs when it can. */
  async started(bucket = '/bundles/a'): Promise<string> {
    const testId = await this.initialize()
    const { accepted } = await this.until(this.probe.start(testId, { bucket }))
    assert.ok(accepted)
    return testId
  }

  /** A test that runs. */
  async running(): Promise<string> {
    const testId = await this.started()
    await this.reaches(testId, 'Testing')
    return testId
  }

  /** Ends an actor of a test from outside, as nobody should: the test's own unless a child is named. */
  kill(testId: string, child?: ChildKind): void {
    const guardian = this.#lives === 1 ? 'guardian' : `guardian-${this.#lives}`
    const own = `/${guardian}/queue-actor/test-execution-${testId}`
    granted(this.town.system.find(child === undefined ? own : `${own}/${child}-${testId}`)).stop()
  }

  status(testId: string): Promise<TestStatus> {
    return this.until(this.probe.status(testId))
  }

  /** Lets everything happen that happens without time going on. */
  async settle(): Promise<void> {
    await this.town.advance(0)
  }

  async reaches(testId: string, state: RecordedState): Promise<TestStatus> {
    await this.settle()
    const status = await this.status(testId)
    assert.equal(status.state, state)
    return status
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close()
    await this.town.stop()
  }
}

export async function scene(options: SceneOptions = {}): Promise<Scene> {
  const made = new Scene(options)
  await made.begin()
  return made
}

export function granted<T>(answer: T): Exclude<T, Fault> {
  if (isFault(answer)) assert.fail(`refused: ${answer.code}: ${answer.message}`)
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- what is left when it is no fault
  return answer as Exclude<T, Fault>
}
