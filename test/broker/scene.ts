/** What the tests of the broker share: a broker in a world of virtual time, on a disk that can lose its power. */
import {
  createBroker,
  type Broker,
  type BrokerOptions,
  type Delivery,
  type NewMessage,
  type QueueConfig,
  type QueueFault,
  type QueueName,
  type Sent,
  type Settled,
  type Settlement,
} from '../../src/broker/index.ts'
import type { Batch, CommitResult, Journal } from '../../src/journal/index.ts'
import { Accident, fault, isFault, random } from '../../src/std/index.ts'
import {
  world,
  type SimulatedDisk,
  type World,
  type WorldOptions,
} from '../../src/testkit/index.ts'

export type SceneOptions = WorldOptions &
  Pick<BrokerOptions, 'bodiesMax' | 'log'> &
  Readonly<{
    /** How long a commit takes. */
    commitMs?: number
  }>

export function nameOf(name: string): QueueName {
  return { account: '000000000000', region: 'local', name }
}

/** Without a fault, or the test has failed. */
export function sure<T>(answer: T): Exclude<T, QueueFault> {
  if (isFault(answer)) throw new Accident(answer)
  return answer as Exclude<T, QueueFault>
}

export class Scene implements AsyncDisposable {
  readonly earth: World
  readonly disk: SimulatedDisk
  readonly #options: SceneOptions
  /** What the next commits are told instead of being made, in order; undefined for none. */
  readonly refusals: (string | undefined)[] = []
  /** While it is set, commits wait. */
  #gate: PromiseWithResolvers<void> | undefined
  /** Every batch that was to be committed. */
  readonly batches: Batch[] = []
  reads = 0
  /** What reads are told, of collections that begin like that. */
  readTrouble: string | undefined
  readTroubleOf = ''
  /** Keys of records that cannot be read, nor anything that is read with them. */
  readonly damaged: Set<string> = new Set()
  journal!: Journal
  broker!: Broker

  private constructor(options: SceneOptions) {
    this.#options = options
    this.earth = world({ stepsMax: 1_000_000, msMax: 10 ** 9, ...options })
    this.disk = this.earth.disk()
  }

  static async open(options: SceneOptions = {}): Promise<Scene> {
    const scene = new Scene(options)
    await scene.start()
    return scene
  }

  async start(): Promise<void> {
    const { bodiesMax, log } = this.#options
    const own = await this.earth.until(this.earth.journal(this.disk))
    this.journal = this.#watched(own)
    const { system } = this.earth
    const begun = createBroker({
      system,
      journal: this.journal,
      random: random(1),
      ...(bodiesMax !== undefined && { bodiesMax }),
      ...(log !== undefined && { log }),
    })
    this.broker = await this.earth.until(begun)
  }

  /** The power fails, and comes back. */
  async crash(): Promise<void> {
    this.disk.crash()
    this.release()
    await this.earth.until(this.broker.close())
    await this.start()
  }

  /** As it should be: everything that was begun ends. */
  async restart(): Promise<void> {
    await this.earth.until(this.broker.close())
    await this.earth.until(this.journal.close())
    await this.start()
  }

  /** Some of the time of this world. */
  async pass(ms: number): Promise<void> {
    const { clock } = this.earth
    if (ms > 0)
      await new Promise<void>((resolve) => clock.setTimer(clock.monotonic() + ms, resolve))
  }

  hold(): void {
    this.#gate ??= Promise.withResolvers()
  }

  release(): void {
    this.#gate?.resolve()
    this.#gate = undefined
  }

  /** A queue with that config; it is there when this settles. */
  async queue(
    name: string,
    config: Partial<QueueConfig> & Readonly<{ maxRetries?: number }> = {},
  ): Promise<QueueName> {
    const own = nameOf(name)
    sure(await this.earth.until(this.broker.create(own, config)))
    return own
  }

  send(
    to: QueueName,
    ...messages: readonly (NewMessage | string)[]
  ): Promise<readonly (Sent | QueueFault)[]> {
    const given = messages.map((each) => (typeof each === 'string' ? { body: each } : each))
    return this.earth.until(this.broker.send(to, given))
  }

  async receive(
    from: QueueName,
    max = 10,
    options: Readonly<{ waitMs?: number; visibilityMs?: number; attemptId?: string }> = {},
  ): Promise<readonly Delivery[]> {
    return sure(await this.earth.until(this.broker.receive(from, { max, waitMs: 0, ...options })))
  }

  async bodies(from: QueueName, max = 10): Promise<readonly string[]> {
    return (await this.receive(from, max)).map(({ body }) => body)
  }

  async settle(
    name: QueueName,
    ...items: readonly Settlement[]
  ): Promise<readonly (Settled | QueueFault)[]> {
    return this.earth.until(this.broker.settle(name, items))
  }

  /** Of everything that is there, the body by its state. */
  async content(name: QueueName): Promise<readonly string[]> {
    const found = sure(await this.earth.until(this.broker.browse(name, { limit: 1_000 })))
    return found.messages.map(({ state, body }) => `${state} ${body}`)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.release()
    await this.earth.until(this.broker.close())
    await this.earth.stop()
  }

  #watched(journal: Journal): Journal {
    const commit = async (batch: Batch): Promise<CommitResult> => {
      this.batches.push(batch)
      const code = this.refusals.shift()
      await this.#gate?.promise
      await this.pass(this.#options.commitMs ?? 0)
      if (code === 'unknown-but-there') {
        await journal.commit(batch)
        throw trouble('unknown-outcome')
      }
      if (code !== undefined) throw trouble(code)
      return journal.commit(batch)
    }
    const read = <T>(collection: string, work: () => Promise<T>): Promise<T> => {
      this.reads++
      const { readTrouble, readTroubleOf } = this
      if (readTrouble === undefined || !collection.startsWith(readTroubleOf)) return work()
      return Promise.reject(trouble(readTrouble))
    }
    const { damaged } = this
    return new Proxy(journal, {
      get(target, name) {
        if (name === 'commit') return commit
        const own: unknown = Reflect.get(target, name)
        if (typeof own !== 'function') return own
        if (name !== 'getRecords' && name !== 'readRecords') return own.bind(target) as unknown
        return (...args: unknown[]) => {
          const keys = name === 'getRecords' ? (args[1] as readonly string[]) : []
          if (keys.some((key) => damaged.has(key))) return Promise.reject(trouble('damaged'))
          return read(String(args[0]), () => own.apply(target, args) as Promise<unknown>)
        }
      },
    })
  }
}

function trouble(code: string): Accident {
  return new Accident({ ...fault('trouble', `the journal says ${code}`), code })
}
