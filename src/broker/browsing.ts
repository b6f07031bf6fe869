/**
 * Looking at messages without taking them. What they say is read from the record, page by page and without the
 * queue; the queue is only asked in which state they are. So nobody waits because somebody looks.
 */
import { READ_LIMIT_MAX, type Journal } from '../journal/index.ts'
import type { Browsed, BrowseOptions, QueueFault, QueueName } from './broker.ts'
import type { Catalog } from './catalog.ts'
import { keyOf, seqOfKey, seqOfMessageId } from './message-id.ts'
import { messageOf } from './message-text.ts'
import { noSuchQueue } from './naming.ts'
import type { SlotReport } from './looking.ts'
import type { Queues } from './queues.ts'
import { messagesOf } from './premises.ts'

/** Looked at at least, however few are wanted: most of a page may not match. */
const PAGE_MIN = 100

export type Found = Readonly<{ ok: true; messages: readonly Browsed[]; next?: number }>

export class Browsing {
  readonly #journal: Journal
  readonly #catalog: Catalog
  readonly #queues: Queues

  constructor(journal: Journal, catalog: Catalog, queues: Queues) {
    this.#journal = journal
    this.#catalog = catalog
    this.#queues = queues
  }

  async browse(name: QueueName, options: BrowseOptions): Promise<Found | QueueFault> {
    const entry = this.#catalog.find(name)
    if (entry === undefined) return noSuchQueue(name)
    const { state, limit, search } = options
    const messages: Browsed[] = []
    for (let { after } = options; ;) {
      const page = await this.#journal.readRecords(messagesOf(entry.id), '', {
        limit: Math.min(READ_LIMIT_MAX, Math.max(limit, PAGE_MIN)),
        ...(after !== undefined && { after: keyOf(after) }),
      })
      const last = page.at(-1)
      if (last === undefined) return { ok: true, messages }
      const matching =
        search === undefined ? page : page.filter(({ value }) => value.includes(search))
      const reports = await this.#statesOf(
        name,
        matching.map(({ key }) => seqOfKey(key)),
      )
      if ('ok' in reports) return reports
      for (const { key, value } of matching) {
        const report = reports.get(seqOfKey(key))
        if (report === undefined || (state !== undefined && report.state !== state)) continue
        if (messages.length === limit) return { ok: true, messages, next: messages.at(-1)!.seq }
        messages.push(this.#browsed(value, report))
      }
      after = seqOfKey(last.key)
    }
  }

  async get(name: QueueName, messageId: string): Promise<Browsed | undefined | QueueFault> {
    const entry = this.#catalog.find(name)
    if (entry === undefined) return noSuchQueue(name)
    const seq = seqOfMessageId(messageId)
    if (seq === undefined) return undefined
    const [record] = await this.#journal.getRecords(messagesOf(entry.id), [keyOf(seq)])
    if (record === undefined) {
      // A message that was moved here has another number, and its first one in its text.
      const moved = await this.browse(name, { limit: 1, search: `"first":${seq}` })
      return moved.ok ? moved.messages[0] : moved
    }
    const reports = await this.#statesOf(name, [seq])
    if ('ok' in reports) return reports
    const report = reports.get(seq)
    return report && this.#browsed(record.value, report)
  }

  async #statesOf(
    name: QueueName,
    seqs: readonly number[],
  ): Promise<ReadonlyMap<number, SlotReport> | QueueFault> {
    const found = await this.#queues.get(name)
    if ('ok' in found) return found
    const reports = await this.#queues.ask<readonly SlotReport[] | QueueFault>(
      found,
      (replyTo) => ({
        type: 'states',
        seqs,
        replyTo,
      }),
    )
    return 'ok' in reports ? reports : new Map(reports.map((report) => [report.seq, report]))
  }

  #browsed(text: string, report: SlotReport): Browsed {
    return {
      ...messageOf(text, report.seq, report, (id) => this.#catalog.byId(id)?.name),
      state: report.state,
      ...(report.state !== 'ready' && { dueAt: report.dueAt }),
    }
  }
}
