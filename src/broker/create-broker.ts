/**
 * A broker over a journal. It takes the fence `broker`, so that whoever was the broker before can write no more,
 * reads which queues there are, and wakes each when it is first asked for, or at once if something in it is due.
 */
import { READ_LIMIT_MAX, type Journal } from '../journal/index.ts'
import {
  ask,
  receive,
  type Behavior,
  type Context,
  type Handle,
  type Ref,
  type System,
} from '../kernel/index.ts'
import {
  Accident,
  fault,
  freshSeed,
  random as seeded,
  silentLog,
  steadyClock,
  type Log,
  type Random,
} from '../std/index.ts'
import type {
  Browsed,
  BrowseOptions,
  Broker,
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
import { Catalog } from './catalog.ts'
import { changedConfig, configOf, differences, type QueueConfig } from './config.ts'
import { BODIES_BYTES_DEFAULT, QUEUE_NAME_CHARS_MAX, QUEUE_TAGS_MAX, QUEUES_MAX } from './limits.ts'
import { keyOf, seqOfKey, seqOfMessageId } from './message-id.ts'
import { extrasOf, messageOf } from './message-text.ts'
import { queue, type QueueMessage, type SlotReport } from './queue.ts'
import { Redrive } from './redriving.ts'
import { Bodies, dedupsOf, messagesOf, notesOf, type Entry, type Shared } from './shared.ts'

export type BrokerOptions = Readonly<{
  system: System
  journal: Journal
  log?: Log
  random?: Random
  /** Texts of messages that are kept in memory, in characters. */
  bodiesMax?: number
}>

/** How long a queue may take to answer what it should answer at once. */
const ANSWER_MS = 30_000
/** Mail that may wait at one queue. */
const QUEUE_BOUND = 100_000
/** Records that go at once when a queue is deleted. */
const SWEEP = 1_000
const NAME = /^[A-Za-z0-9_-]+(?:\.fifo)?$/

export async function createBroker(options: BrokerOptions): Promise<Broker> {
  const broker = new BrokerOverJournal(options, await options.journal.takeFence('broker'))
  await broker.begin()
  return broker
}

type Keeping = Readonly<{ id: number; replyTo: Ref<Ref<QueueMessage>> }>

class BrokerOverJournal implements Broker {
  readonly #journal: Journal
  readonly #catalog: Catalog
  readonly #shared: Shared
  readonly #refs = new Map<number, Ref<QueueMessage>>()
  readonly #keeper: Handle<Keeping>
  readonly #log: Log
  #closing: Promise<void> | undefined
  #sweeps = new Set<Promise<void>>()

  constructor({ system, journal, log, random, bodiesMax }: BrokerOptions, token: number) {
    const fence = { name: 'broker', token }
    let count = 0
    this.#journal = journal
    this.#log = log ?? silentLog
    this.#catalog = new Catalog(journal, fence)
    this.#shared = {
      journal,
      fence,
      steady: steadyClock(system.clock),
      random: random ?? seeded(freshSeed()),
      log: this.#log,
      // Of every start its own: nothing has to be remembered for a number never to be given twice.
      nextSeq: () => token * 2 ** 32 + ++count,
      bodies: new Bodies(bodiesMax ?? BODIES_BYTES_DEFAULT),
      deadLetters: (of) => this.#deadLetters(of),
      queueOf: (id) => this.#refs.get(id),
      entryOf: (id) => this.#catalog.byId(id),
    }
    this.#keeper = system.spawn('queues', keeper(this.#shared, this.#catalog), {
      bound: QUEUES_MAX,
    })
  }

  async begin(): Promise<void> {
    await this.#catalog.load()
    for (const entry of this.#catalog.all()) if (entry.isDeleting) this.#sweepLater(entry)
  }

  create(
    name: QueueName,
    given: Partial<QueueConfig> & Readonly<{ maxRetries?: number }> = {},
    { ifExists = 'same', tags = {} }: CreateOptions = {},
  ): Promise<QueueInfo | QueueFault> {
    const told = name.name.endsWith('.fifo') ? { ...given, fifo: true } : given
    const config = configOf(told)
    if ('ok' in config) return Promise.resolve(config)
    const refusal = badName(name, config) ?? badTags(tags)
    if (refusal !== undefined) return Promise.resolve(refusal)
    return this.#changing(async () => {
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
  }

  update(name: QueueName, patch: Partial<QueueConfig>): Promise<QueueInfo | QueueFault> {
    return this.#changing(async () => {
      const entry = this.#catalog.find(name)
      return entry === undefined ? noSuchQueue(name) : this.#reconfigure(entry, patch)
    })
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
    return this.#changing(async () => {
      const entry = this.#catalog.find(name)
      if (entry === undefined) return noSuchQueue(name)
      const deleting = await this.#catalog.put({ ...entry, isDeleting: true })
      this.#sweepLater(deleting)
      return { ok: true }
    })
  }

  tag(
    name: QueueName,
    { set = {}, unset = [] }: Parameters<Broker['tag']>[1],
  ): Promise<QueueInfo | QueueFault> {
    return this.#changing(async () => {
      const entry = this.#catalog.find(name)
      if (entry === undefined) return noSuchQueue(name)
      const kept = Object.entries(entry.tags).filter(([key]) => !unset.includes(key))
      const tags = { ...Object.fromEntries(kept), ...set }
      return badTags(tags) ?? this.#put({ ...entry, tags })
    })
  }

  pause(
    name: QueueName,
    what: Readonly<{ receive?: boolean; send?: boolean }>,
  ): Promise<QueueInfo | QueueFault> {
    return this.#changing(async () => {
      const entry = this.#catalog.find(name)
      if (entry === undefined) return noSuchQueue(name)
      return this.#put({ ...entry, paused: { ...entry.paused, ...what } })
    })
  }

  async purge(
    name: QueueName,
    { includeLeased = false }: Readonly<{ includeLeased?: boolean }> = {},
  ): Promise<Readonly<{ ok: true; purged: number }> | QueueFault> {
    const found = await this.#queue(name)
    if ('ok' in found) return found
    return this.#ask<Readonly<{ ok: true; purged: number }> | QueueFault>(found, (replyTo) => ({
      type: 'purge',
      includeLeased,
      replyTo,
    }))
  }

  async send(
    name: QueueName,
    messages: readonly NewMessage[],
  ): Promise<readonly (Sent | QueueFault)[]> {
    const found = this.#refOf(name) ?? (await this.#queue(name))
    if ('ok' in found) return messages.map(() => found)
    const answer = await this.#ask<readonly (Sent | QueueFault)[]>(found, (replyTo) => ({
      type: 'send',
      messages,
      replyTo,
    }))
    return 'ok' in answer ? messages.map(() => answer) : answer
  }

  async receive(
    name: QueueName,
    options: ReceiveOptions,
  ): Promise<readonly Delivery[] | QueueFault> {
    const found = this.#refOf(name) ?? (await this.#queue(name))
    if ('ok' in found) return found
    const { max, waitMs, visibilityMs, signal, attemptId } = options
    signal?.throwIfAborted()
    let stop: (() => void) | undefined
    const deadlineMs = (waitMs ?? WAIT_UNKNOWN_MS) + ANSWER_MS
    const answer = await this.#ask<readonly Delivery[] | QueueFault>(
      found,
      (replyTo) => {
        stop = () => found.tell({ type: 'stop-waiting', replyTo })
        signal?.addEventListener('abort', stop, { once: true })
        return { type: 'receive', max, waitMs, visibilityMs, signal, attemptId, replyTo }
      },
      deadlineMs,
    )
    if (stop !== undefined) signal?.removeEventListener('abort', stop)
    if (signal?.aborted !== true || 'ok' in answer) return answer
    await this.settle(
      name,
      answer.map(({ receipt }) => ({ type: 'release', receipt })),
    )
    throw signal.reason
  }

  async settle(
    name: QueueName,
    items: readonly Settlement[],
  ): Promise<readonly (Settled | QueueFault)[]> {
    const found = this.#refOf(name) ?? (await this.#queue(name))
    if ('ok' in found) return items.map(() => found)
    const answer = await this.#ask<readonly (Settled | QueueFault)[]>(found, (replyTo) => ({
      type: 'settle',
      items,
      replyTo,
    }))
    return 'ok' in answer ? items.map(() => answer) : answer
  }

  async browse(
    name: QueueName,
    options: BrowseOptions,
  ): Promise<Readonly<{ ok: true; messages: readonly Browsed[]; next?: number }> | QueueFault> {
    const entry = this.#catalog.find(name)
    const found = await this.#queue(name)
    if (entry === undefined) return noSuchQueue(name)
    if ('ok' in found) return found
    const { state, limit, search } = options
    const messages: Browsed[] = []
    let { after } = options
    for (;;) {
      const page = await this.#journal.readRecords(messagesOf(entry.id), '', {
        limit: Math.min(READ_LIMIT_MAX, Math.max(limit, BROWSE_PAGE)),
        ...(after !== undefined && { after: keyOf(after) }),
      })
      if (page.length === 0) return { ok: true, messages }
      const matching =
        search === undefined ? page : page.filter(({ value }) => value.includes(search))
      const reports = await this.#ask<readonly SlotReport[]>(found, (replyTo) => ({
        type: 'states',
        seqs: matching.map(({ key }) => seqOfKey(key)),
        replyTo,
      }))
      if ('ok' in reports) return reports
      const byKey = new Map(reports.map((report) => [keyOf(report.seq), report]))
      for (const { key, value } of matching) {
        const report = byKey.get(key)
        if (report === undefined || (state !== undefined && report.state !== state)) continue
        if (messages.length === limit) return { ok: true, messages, next: messages.at(-1)!.seq }
        messages.push(this.#browsed(value, report))
      }
      after = seqOfKey(page.at(-1)!.key)
    }
  }

  async get(name: QueueName, messageId: string): Promise<Browsed | undefined | QueueFault> {
    const entry = this.#catalog.find(name)
    if (entry === undefined) return noSuchQueue(name)
    const seq = seqOfMessageId(messageId)
    const found = await this.#queue(name)
    if ('ok' in found) return found
    if (seq === undefined) return undefined
    const [record] = await this.#journal.getRecords(messagesOf(entry.id), [keyOf(seq)])
    if (record !== undefined) {
      const reports = await this.#ask<readonly SlotReport[]>(found, (replyTo) => ({
        type: 'states',
        seqs: [seq],
        replyTo,
      }))
      if ('ok' in reports) return reports
      return reports[0] && this.#browsed(record.value, reports[0])
    }
    // A message that was moved here has another number, and its name in its text.
    const moved = await this.browse(name, { limit: 1, search: `"first":${seq}` })
    return moved.ok ? moved.messages[0] : moved
  }

  async redrive(name: QueueName, options: RedriveOptions = {}): Promise<MoveTask | QueueFault> {
    const { to, ids, search, ratePerSecond } = options
    const target = to === undefined ? undefined : this.#catalog.find(to)
    if (to !== undefined && target === undefined) return noSuchQueue(to)
    const found = await this.#queue(name)
    if ('ok' in found) return found
    for (const other of [target, ...this.#sourcesOf(name)])
      if (other !== undefined) await this.#wake(other.id)
    const upTo = this.#shared.nextSeq()
    const task: MoveTask = {
      handle: Buffer.from(JSON.stringify({ taskId: keyOf(upTo), source: name })).toString('base64'),
      source: name,
      ...(to !== undefined && { target: to }),
      ...(ratePerSecond !== undefined && { ratePerSecond }),
      state: 'running',
      startedAt: this.#shared.steady.now(),
      moved: 0,
      toMove: 0,
    }
    const redrive = new Redrive(task, {
      upTo,
      ...(target !== undefined && { target }),
      ...(ids !== undefined && { ids }),
      ...(search !== undefined && { search }),
    })
    return this.#ask<MoveTask | QueueFault>(found, (replyTo) => ({
      type: 'redrive',
      redrive,
      replyTo,
    }))
  }

  async moveTasks(name: QueueName): Promise<readonly MoveTask[] | QueueFault> {
    const found = await this.#queue(name)
    if ('ok' in found) return found
    return this.#ask(found, (replyTo) => ({ type: 'redrives', replyTo }))
  }

  async cancelMoveTask(handle: string): Promise<MoveTask | QueueFault> {
    const source = sourceOf(handle)
    if (source === undefined) return fault('no-such-task', 'there is no such task')
    const tasks = await this.moveTasks(source)
    if ('ok' in tasks) return tasks
    const task = tasks.find((one) => one.handle === handle)
    if (task?.state !== 'running')
      return fault('no-such-task', 'there is no such task, or it has ended')
    const found = await this.#queue(source)
    if ('ok' in found) return found
    return this.#ask<MoveTask | QueueFault>(found, (replyTo) => ({
      type: 'cancel-redrive',
      replyTo,
    }))
  }

  deadLetterSources(name: QueueName): readonly QueueInfo[] {
    return this.#sourcesOf(name)
  }

  async stats(name: QueueName): Promise<QueueStats | QueueFault> {
    const found = await this.#queue(name)
    if ('ok' in found) return found
    return this.#ask(found, (replyTo) => ({ type: 'stats', replyTo }))
  }

  close(): Promise<void> {
    this.#closing ??= this.#close()
    return this.#closing
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close()
  }

  async #close(): Promise<void> {
    const reason = fault('broker-closed', 'the broker is closing')
    await Promise.all([...this.#refs.values()].map((ref) => this.#end(ref, reason)))
    await Promise.allSettled(this.#sweeps)
    this.#keeper.stop()
    await this.#keeper.ended
  }

  async #end(ref: Ref<QueueMessage>, reason: QueueFault): Promise<void> {
    await this.#ask<true>(ref, (replyTo) => ({ type: 'end', reason, replyTo }))
  }

  /** Without waiting, where the queue is awake: the way of nearly every message. */
  #refOf(name: QueueName): Ref<QueueMessage> | undefined {
    const entry = this.#catalog.find(name)
    return entry === undefined || this.#closing !== undefined ? undefined : this.#refs.get(entry.id)
  }

  async #queue(name: QueueName): Promise<Ref<QueueMessage> | QueueFault> {
    if (this.#closing !== undefined) return fault('broker-closed', 'the broker is closing')
    const entry = this.#catalog.find(name)
    return entry === undefined ? noSuchQueue(name) : this.#wake(entry.id)
  }

  async #wake(id: number): Promise<Ref<QueueMessage>> {
    const awake = this.#refs.get(id)
    if (awake !== undefined) return awake
    const ref = await ask<Keeping, Ref<QueueMessage>>(this.#keeper, (replyTo) => ({ id, replyTo }))
    this.#refs.set(id, ref)
    return ref
  }

  async #ask<Reply>(
    to: Ref<QueueMessage>,
    make: (replyTo: Ref<Reply>) => QueueMessage,
    deadlineMs = ANSWER_MS,
  ): Promise<Reply | QueueFault> {
    try {
      return await ask<QueueMessage, Reply>(to, make, { deadlineMs })
    } catch (error) {
      if (!(error instanceof Accident)) throw error
      if (error.code === 'mailbox-full')
        return fault('broker-overloaded', error.message, error.detail)
      if (error.code === 'actor-stopped') return fault('broker-closed', error.message, error.detail)
      return fault('unknown-outcome', error.message, { ...error.detail, cause: error.code })
    }
  }

  /** What cannot be written is answered, not thrown. */
  async #changing<T>(work: () => Promise<T | QueueFault>): Promise<T | QueueFault> {
    if (this.#closing !== undefined) return fault('broker-closed', 'the broker is closing')
    try {
      return await this.#catalog.change(work)
    } catch (error) {
      if (!(error instanceof Accident)) throw error
      const code = error.code === 'read-only' ? 'store-read-only' : 'unknown-outcome'
      return fault(code, error.message, { ...error.detail, cause: error.code })
    }
  }

  async #reconfigure(entry: Entry, patch: Partial<QueueConfig>): Promise<QueueInfo | QueueFault> {
    const config = changedConfig(entry.config, patch)
    return 'ok' in config ? config : this.#put({ ...entry, config })
  }

  async #put(entry: Entry): Promise<Entry> {
    const put = await this.#catalog.put({ ...entry, modifiedAt: this.#shared.steady.now() })
    this.#refs.get(entry.id)?.tell({ type: 'configure', entry: put })
    return put
  }

  /** The queue for the dead letters of another, awake; made if it is not there. */
  async #deadLetters({ name, config }: Entry): Promise<Entry | undefined> {
    if (config.deadLetterQueue === undefined || config.deadLetterQueue === name.name)
      return undefined
    const target = { ...name, name: config.deadLetterQueue }
    if (this.#catalog.find(target) === undefined) {
      const made = await this.create(
        target,
        { fifo: config.fifo, maxReceives: Infinity },
        { ifExists: 'ignore' },
      )
      if ('ok' in made) this.#log.warn('the queue for dead letters cannot be made', { ...made })
    }
    const entry = this.#catalog.find(target)
    if (entry !== undefined) await this.#wake(entry.id)
    return entry
  }

  #sourcesOf({ account, region, name }: QueueName): Entry[] {
    return [...this.#catalog.all()].filter(
      ({ name: of, config, isDeleting }) =>
        !isDeleting &&
        config.deadLetterQueue === name &&
        of.account === account &&
        of.region === region,
    )
  }

  #sweepLater(entry: Entry): void {
    const sweep = this.#sweep(entry).catch((error: unknown) =>
      this.#log.warn('what a deleted queue has left could not be deleted', {
        queue: entry.name.name,
        error: String(error),
      }),
    )
    this.#sweeps.add(sweep)
    void sweep.then(() => this.#sweeps.delete(sweep))
  }

  /** Whoever waits is told; then its records go, and its entry last, so that a crash in between is made good. */
  async #sweep(entry: Entry): Promise<void> {
    const ref = this.#refs.get(entry.id)
    if (ref !== undefined) await this.#end(ref, fault('queue-deleted', 'the queue was deleted'))
    this.#refs.delete(entry.id)
    for (const collection of [messagesOf(entry.id), notesOf(entry.id), dedupsOf(entry.id)])
      for (;;) {
        const page = await this.#journal.readRecords(collection, '', { limit: SWEEP })
        if (page.length === 0) break
        const records = page.map(({ key }) => ({ collection, key, deleted: true }) as const)
        await this.#journal.commit({ records, fence: this.#shared.fence })
      }
    await this.#catalog.change(() => this.#catalog.remove(entry))
  }

  #browsed(text: string, report: SlotReport): Browsed {
    const extras = extrasOf(text)
    const died =
      extras?.deadLetterOf === undefined ? undefined : this.#catalog.byId(extras.deadLetterOf)
    return {
      ...messageOf(text, report.seq, { ...report, failures: extras?.failures ?? [] }),
      ...(died !== undefined && { deadLetterOf: died.name }),
      state: report.state,
      ...(report.state !== 'ready' && { dueAt: report.dueAt }),
    }
  }
}

/** Looked at once at least, however few are wanted: most of a page may not match. */
const BROWSE_PAGE = 100
/** A queue may let receives wait by itself, and this is the longest. */
const WAIT_UNKNOWN_MS = 60_000

/** Has the queues as its children, each under its name. */
function keeper(shared: Shared, catalog: Catalog): Behavior<Keeping> {
  return receive((ctx: Context<Keeping>, { id, replyTo }) => {
    const name = pathOf(catalog.byId(id)!)
    const child = ctx.child<QueueMessage>(name)
    replyTo.tell(child ?? ctx.spawn(name, queue(shared, catalog.byId(id)!), { bound: QUEUE_BOUND }))
    return undefined
  })
}

/** The name alone where it is told from all others, and a name that was deleted may be there again. */
function pathOf({ id, name }: Entry): string {
  return `${name.name}@${name.region}.${name.account}.${id}`
}

function badName({ name }: QueueName, { fifo }: QueueConfig): QueueFault | undefined {
  const isRight =
    name.length <= QUEUE_NAME_CHARS_MAX && NAME.test(name) && fifo === name.endsWith('.fifo')
  if (isRight) return undefined
  return fault('bad-queue-name', `not a name for this queue: ${name.slice(0, 100)}`, {
    remedy: `use 1 to ${QUEUE_NAME_CHARS_MAX} of A-Z a-z 0-9 - _, ending in .fifo if and only if it is FIFO`,
  })
}

function badTags(tags: Readonly<Record<string, string>>): QueueFault | undefined {
  if (Object.keys(tags).length <= QUEUE_TAGS_MAX) return undefined
  return fault('bad-queue-config', `a queue has ${QUEUE_TAGS_MAX} tags at most`, {
    fields: ['tags'],
  })
}

function noSuchQueue({ name }: QueueName): QueueFault {
  return fault('no-such-queue', `there is no queue ${name.slice(0, 100)}`, {
    queue: name.slice(0, 100),
  })
}

function sourceOf(handle: string): QueueName | undefined {
  try {
    const { source } = JSON.parse(Buffer.from(handle, 'base64').toString()) as { source: QueueName }
    const isName = [source.account, source.region, source.name].every(
      (part) => typeof part === 'string',
    )
    return isName ? source : undefined
  } catch {
    return undefined // whatever it is, we have not made it
  }
}
