/**
 * A broker over a journal. It takes the fence `broker`, so that whoever was the broker before can write no more,
 * reads which queues there are, and wakes each when it is first asked for.
 */
import type { Journal } from '../journal/index.ts'
import type { Ref, System } from '../kernel/index.ts'
import {
  fault,
  freshSeed,
  random as seeded,
  silentLog,
  steadyClock,
  type Log,
  type Random,
} from '../std/index.ts'
import type {
  Broker,
  BrokerMetrics,
  Browsed,
  BrowseOptions,
  CreateOptions,
  Delivery,
  MoveTask,
  NewMessage,
  QueueFault,
  QueueInfo,
  QueueName,
  QueueStats,
  ReceiveOptions,
  RedriveOptions,
  Sent,
  Settled,
  Settlement,
} from './broker.ts'
import { Browsing, type Found } from './browsing.ts'
import { Catalog } from './catalog.ts'
import { Committing } from './committing.ts'
import { changedConfig, configOf, differences, type QueueConfig } from './config.ts'
import { metricsOf } from './looking.ts'
import { BODIES_BYTES_DEFAULT, BROKER_BATCH_MAX, QUEUES_MAX, WAIT_MS_MAX } from './limits.ts'
import { badDeadLetters, badName, badTags, handleOf, noSuchQueue, sourceOf } from './naming.ts'
import { zeroCounts } from './queue-core.ts'
import type { QueueMessage } from './queue.ts'
import { QUEUE_ANSWER_MS, Queues } from './queues.ts'
import { Redrive } from './redriving.ts'
import { Bodies, type Entry, type Shared } from './premises.ts'
import { Sweeping } from './sweeping.ts'
import { Waking } from './waking.ts'

/** A send may wait for room as long as that. */
const SEND_ANSWER_MS = WAIT_MS_MAX + QUEUE_ANSWER_MS

export type BrokerOptions = Readonly<{
  system: System
  journal: Journal
  log?: Log
  random?: Random
  /** Texts of messages that are kept in memory, in characters. */
  bodiesMax?: number
}>

export async function createBroker(options: BrokerOptions): Promise<Broker> {
  const broker = new BrokerOverJournal(options, await options.journal.takeFence('broker'))
  try {
    await broker.begin()
  } catch (error) {
    await broker.close()
    throw error
  }
  return broker
}

class BrokerOverJournal implements Broker {
  readonly #catalog: Catalog
  readonly #shared: Shared
  readonly #queues: Queues
  readonly #browsing: Browsing
  readonly #sweeping: Sweeping
  readonly #waking: Waking
  #closed: Promise<void> | undefined

  constructor({ system, journal, log, random, bodiesMax }: BrokerOptions, token: number) {
    const committing = new Committing(journal, { name: 'broker', token }, system.clock)
    let count = 0
    this.#catalog = new Catalog(journal, committing)
    this.#shared = {
      journal,
      committing,
      token,
      steady: steadyClock(system.clock),
      random: random ?? seeded(freshSeed()),
      log: log ?? silentLog,
      // Of every start its own: nothing has to be remembered for a number never to be given twice.
      nextSeq: () => token * 2 ** 32 + ++count,
      bodies: new Bodies(bodiesMax ?? BODIES_BYTES_DEFAULT),
      totals: zeroCounts(),
      awake: new Map(),
      graveOf: (queue) => this.#graveOf(queue),
      makeGrave: (queue) => this.#makeGrave(queue),
      tell: (id, message) => this.#tell(id, message),
      entryOf: (id) => this.#catalog.byId(id),
    }
    this.#queues = new Queues(system, this.#shared, this.#catalog)
    this.#browsing = new Browsing(journal, this.#catalog, this.#queues)
    this.#sweeping = new Sweeping(this.#shared, this.#catalog, this.#queues)
    this.#waking = new Waking(this.#shared, this.#catalog, this.#queues)
    committing.onLost = (reason) => {
      this.#shared.log.error('the broker can write no more', { reason: reason.message })
      this.#queues.shut(reason)
    }
  }

  get secret(): string {
    return this.#catalog.secret
  }

  async begin(): Promise<void> {
    await this.#catalog.load()
    for (const entry of this.#catalog.all()) if (entry.isDeleting) this.#sweeping.add(entry)
    this.#waking.begin()
  }

  async create(
    name: QueueName,
    given: Partial<QueueConfig> & Readonly<{ maxRetries?: number }> = {},
    { ifExists = 'same', tags = {} }: CreateOptions = {},
  ): Promise<QueueInfo | QueueFault> {
    const told = name.name.endsWith('.fifo') ? { ...given, fifo: true } : given
    const config = configOf(told)
    if ('ok' in config) return config
    const refusal = badName(name, config) ?? badTags(tags) ?? badDeadLetters(name, config)
    if (refusal !== undefined) return refusal
    const answer = await this.#changing<QueueInfo>(async () => {
      const before = this.#catalog.find(name)
      if (before === undefined) {
        if (this.#catalog.size >= QUEUES_MAX)
          return fault('too-many-queues', `there are ${QUEUES_MAX} queues`)
        const now = this.#shared.steady.now()
        const paused = { receive: false, send: false }
        return this.#catalog.add({ name, config, tags, createdAt: now, modifiedAt: now, paused })
      }
      if (ifExists === 'ignore') return before
      if (ifExists === 'update') return this.#reconfigure(before, told)
      const asked = changedConfig(before.config, told)
      const fields = 'ok' in asked ? ['fifo'] : differences(before.config, asked)
      if (fields.length === 0) return before
      return fault('queue-exists', `the queue ${name.name} is there with another config`, {
        differs: fields,
        remedy: 'ask for the config it has, or change it',
      })
    })
    return ifExists === 'update' ? this.#configured(answer) : answer
  }

  async update(name: QueueName, patch: Partial<QueueConfig>): Promise<QueueInfo | QueueFault> {
    return this.#configured(
      await this.#changingOne<QueueInfo>(name, (entry) => this.#reconfigure(entry, patch)),
    )
  }

  describe(name: QueueName): QueueInfo | QueueFault {
    return this.#catalog.find(name) ?? noSuchQueue(name)
  }

  list(
    { account, region }: Readonly<{ account: string; region: string }>,
    page: Readonly<{ prefix?: string; after?: string; limit?: number }> = {},
  ): readonly QueueInfo[] {
    const { prefix = '', after, limit = Infinity } = page
    return [...this.#catalog.all()]
      .filter(
        ({ name, isDeleting }) =>
          !isDeleting &&
          name.account === account &&
          name.region === region &&
          name.name.startsWith(prefix) &&
          (after === undefined || name.name > after),
      )
      .toSorted((a, b) => (a.name.name < b.name.name ? -1 : 1))
      .slice(0, limit)
  }

  delete(name: QueueName): Promise<Readonly<{ ok: true }> | QueueFault> {
    return this.#changingOne(name, async (entry) => {
      const put = await this.#catalog.put({ ...entry, isDeleting: true })
      if ('ok' in put) return put
      this.#sweeping.add(put)
      return { ok: true } as const
    })
  }

  tag(
    name: QueueName,
    { set = {}, unset = [] }: Parameters<Broker['tag']>[1],
  ): Promise<QueueInfo | QueueFault> {
    return this.#changingOne(name, async (entry) => {
      const kept = Object.entries(entry.tags).filter(([key]) => !unset.includes(key))
      const tags = { ...Object.fromEntries(kept), ...set }
      return badTags(tags) ?? this.#put({ ...entry, tags })
    })
  }

  async pause(
    name: QueueName,
    what: Readonly<{ receive?: boolean; send?: boolean }>,
  ): Promise<QueueInfo | QueueFault> {
    return this.#configured(
      await this.#changingOne<QueueInfo>(name, (entry) =>
        this.#put({ ...entry, paused: { ...entry.paused, ...what } }),
      ),
    )
  }

  purge(
    name: QueueName,
    { includeLeased = false }: Readonly<{ includeLeased?: boolean }> = {},
  ): Promise<Readonly<{ ok: true; purged: number }> | QueueFault> {
    return this.#asking(name, (replyTo) => ({ type: 'purge', includeLeased, replyTo }))
  }

  async send(
    name: QueueName,
    messages: readonly NewMessage[],
  ): Promise<readonly (Sent | QueueFault)[]> {
    const answer = await this.#asking<readonly (Sent | QueueFault)[]>(
      name,
      (replyTo) => ({ type: 'send', messages, replyTo }),
      SEND_ANSWER_MS,
    )
    return 'ok' in answer ? messages.map(() => answer) : answer
  }

  async receive(
    name: QueueName,
    { max, waitMs, visibilityMs, signal, attemptId }: ReceiveOptions,
  ): Promise<readonly Delivery[] | QueueFault> {
    signal?.throwIfAborted()
    const found = this.#queues.find(name) ?? (await this.#queues.get(name))
    if ('ok' in found) return found
    let stop: (() => void) | undefined
    const answer = await this.#queues.ask<readonly Delivery[] | QueueFault>(
      found,
      (replyTo) => {
        stop = () => found.tell({ type: 'stop-waiting', replyTo })
        signal?.addEventListener('abort', stop, { once: true })
        return { type: 'receive', max, waitMs, visibilityMs, signal, attemptId, replyTo }
      },
      (waitMs ?? WAIT_MS_MAX) + QUEUE_ANSWER_MS,
    )
    if (stop !== undefined) signal?.removeEventListener('abort', stop)
    if (signal?.aborted !== true || 'ok' in answer) return answer
    // Handed out to somebody who has gone.
    const releases = answer.map(({ receipt }) => ({ type: 'release', receipt }) as const)
    await this.settle(name, releases)
    throw signal.reason
  }

  async settle(
    name: QueueName,
    items: readonly Settlement[],
  ): Promise<readonly (Settled | QueueFault)[]> {
    const answer = await this.#asking<readonly (Settled | QueueFault)[]>(name, (replyTo) => ({
      type: 'settle',
      items,
      replyTo,
    }))
    return 'ok' in answer ? items.map(() => answer) : answer
  }

  browse(name: QueueName, options: BrowseOptions): Promise<Found | QueueFault> {
    return this.#browsing.browse(name, options)
  }

  get(name: QueueName, messageId: string): Promise<Browsed | undefined | QueueFault> {
    return this.#browsing.get(name, messageId)
  }

  async redrive(name: QueueName, options: RedriveOptions = {}): Promise<MoveTask | QueueFault> {
    const { to, ids, search, ratePerSecond } = options
    const target = to === undefined ? undefined : this.#catalog.find(to)
    if (to !== undefined && target === undefined) return noSuchQueue(to)
    const source = this.#catalog.find(name)
    if (source === undefined) return noSuchQueue(name)
    if (target !== undefined && target.id === source.id)
      return fault('bad-message', 'messages are moved to another queue than they are in')
    if (ids !== undefined && ids.length > BROKER_BATCH_MAX)
      return fault('bad-message', `${BROKER_BATCH_MAX} messages at most are moved by their ids`)
    if (ratePerSecond !== undefined && !(ratePerSecond > 0 && ratePerSecond < Infinity))
      return fault('bad-message', 'the rate is a number of messages in a second, above 0')
    const upTo = this.#shared.nextSeq()
    const task: MoveTask = {
      handle: handleOf(upTo, name),
      source: name,
      ...(to !== undefined && { target: to }),
      ...(ratePerSecond !== undefined && { ratePerSecond }),
      state: 'running',
      startedAt: this.#shared.steady.now(),
      moved: 0,
      toMove: 0,
    }
    const order = {
      task,
      upTo,
      ...(target !== undefined && { targetId: target.id }),
      ...(ids !== undefined && { ids }),
      ...(search !== undefined && { search }),
    }
    const redrive = new Redrive(order, source.id, task.startedAt)
    return this.#asking<MoveTask>(name, (replyTo) => ({ type: 'redrive', redrive, replyTo }))
  }

  moveTasks(name: QueueName): Promise<readonly MoveTask[] | QueueFault> {
    return this.#asking<readonly MoveTask[]>(name, (replyTo) => ({ type: 'redrives', replyTo }))
  }

  async cancelMoveTask(handle: string): Promise<MoveTask | QueueFault> {
    const source = sourceOf(handle)
    if (source === undefined || this.#catalog.find(source) === undefined)
      return fault('no-such-task', 'there is no such task, or it has ended')
    return this.#asking<MoveTask>(source, (replyTo) => ({
      type: 'cancel-redrive',
      handle,
      replyTo,
    }))
  }

  deadLetterSources(name: QueueName): readonly QueueInfo[] {
    return this.#sourcesOf(name)
  }

  stats(name: QueueName): Promise<QueueStats | QueueFault> {
    return this.#asking<QueueStats>(name, (replyTo) => ({ type: 'stats', replyTo }))
  }

  metrics(): BrokerMetrics {
    return metricsOf(this.#shared, this.#catalog.size, this.#queues.awake)
  }

  close(): Promise<void> {
    this.#closed ??= this.#close()
    return this.#closed
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close()
  }

  async #close(): Promise<void> {
    await this.#queues.close()
    await this.#waking.ended
    await this.#sweeping.ended()
  }

  async #asking<Reply>(
    name: QueueName,
    make: (replyTo: Ref<Reply | QueueFault>) => QueueMessage,
    deadlineMs?: number,
  ): Promise<Reply | QueueFault> {
    const found = this.#queues.find(name) ?? (await this.#queues.get(name))
    return 'ok' in found ? found : this.#queues.ask(found, make, deadlineMs)
  }

  #changingOne<T>(
    name: QueueName,
    work: (entry: Entry) => Promise<T | QueueFault>,
  ): Promise<T | QueueFault> {
    return this.#changing(async () => {
      const entry = this.#catalog.find(name)
      return entry === undefined ? noSuchQueue(name) : work(entry)
    })
  }

  async #changing<T>(work: () => Promise<T | QueueFault>): Promise<T | QueueFault> {
    return this.#queues.isShut ?? this.#catalog.change(work)
  }

  async #reconfigure(entry: Entry, patch: Partial<QueueConfig>): Promise<QueueInfo | QueueFault> {
    const config = changedConfig(entry.config, patch)
    if ('ok' in config) return config
    return badDeadLetters(entry.name, config) ?? this.#put({ ...entry, config })
  }

  #put(entry: Entry): Promise<Entry | QueueFault> {
    return this.#catalog.put({ ...entry, modifiedAt: this.#shared.steady.now() })
  }

  /** Who was told that a queue has changed finds it so: also if it had other mail. */
  async #configured<T extends QueueInfo | QueueFault>(answer: T): Promise<T> {
    if ('ok' in answer) return answer
    const entry = this.#catalog.find(answer.name)
    const awake = entry && this.#queues.byId(entry.id)
    if (entry !== undefined && awake !== undefined)
      await this.#queues.ask<true>(awake, (replyTo) => ({ type: 'configure', entry, replyTo }))
    return answer
  }

  #graveOf({ name, config: { deadLetterQueue } }: Entry): Entry | undefined {
    if (deadLetterQueue === undefined) return undefined
    return this.#catalog.find({ ...name, name: deadLetterQueue })
  }

  async #makeGrave(queue: Entry): Promise<Entry | undefined> {
    const { deadLetterQueue, fifo } = queue.config
    if (deadLetterQueue === undefined) return undefined
    const grave = { ...queue.name, name: deadLetterQueue }
    const never = { fifo, maxReceives: Infinity }
    const made = await this.create(grave, never, { ifExists: 'ignore' })
    if ('ok' in made)
      this.#shared.log.warn('the queue for dead letters cannot be made', { ...made })
    return this.#graveOf(queue)
  }

  /** One that sleeps is woken, and finds on record what it would have been told. */
  #tell(id: number, message: QueueMessage): void {
    const awake = this.#queues.byId(id)
    if (awake !== undefined) return void awake.tell(message)
    this.#waking
      .wake(id, false)
      .catch((error: unknown) =>
        this.#shared.log.warn('a queue could not be woken', { id, error: String(error) }),
      )
  }

  #sourcesOf({ account, region, name }: QueueName): readonly Entry[] {
    return [...this.#catalog.all()].filter(
      ({ name: of, config, isDeleting }) =>
        !isDeleting &&
        config.deadLetterQueue === name &&
        of.account === account &&
        of.region === region,
    )
  }
}
