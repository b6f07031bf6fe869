/**
 * Which queues there are. All of them are in memory, by id and by name; each is a record, written before
 * whoever asked for it is answered. Changes are made one after another, so that two who create the same queue
 * at once agree on it.
 */
import { READ_LIMIT_MAX, type Journal, type RecordWrite } from '../journal/index.ts'
import { Accident, freshId } from '../std/index.ts'
import type { QueueFault, QueueInfo, QueueName } from './broker.ts'
import type { Committing } from './committing.ts'
import { decodeConfig, encodeConfig } from './config.ts'
import type { Entry } from './premises.ts'
import { Turns } from './turns.ts'

const QUEUES = 'broker-queues'
/** Their keys sort before every id. */
const META = '!'
const SECRET = '!secret'

type Meta = { nextId: number }

export class Catalog {
  readonly #journal: Journal
  readonly #committing: Committing
  readonly #byName = new Map<string, Entry>()
  readonly #byId = new Map<number, Entry>()
  #meta: Meta = { nextId: 1 }
  /** Nobody outside of the store has ever seen it. */
  secret = ''
  readonly #turns = new Turns()

  constructor(journal: Journal, committing: Committing) {
    this.#journal = journal
    this.#committing = committing
  }

  async load(): Promise<void> {
    for (let after: string | undefined; ;) {
      const page = await this.#journal.readRecords(QUEUES, '', {
        limit: READ_LIMIT_MAX,
        ...(after !== undefined && { after }),
      })
      const last = page.at(-1)
      if (last === undefined) break
      for (const { key, value } of page) {
        // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- what `recordOf` wrote
        if (key === META) this.#meta = JSON.parse(value) as Meta
        else if (key === SECRET) this.secret = value
        else this.#keep(decodeEntry(value))
      }
      after = last.key
    }
    if (this.secret !== '') return
    const secret = `${freshId()}${freshId()}`
    const record = { collection: QUEUES, key: SECRET, value: secret }
    const refusal = await this.#committing.commit([record])
    if (refusal !== undefined) throw new Accident(refusal)
    this.secret = secret
  }

  get size(): number {
    return this.#byId.size
  }

  find(name: QueueName): Entry | undefined {
    const entry = this.#byName.get(textOf(name))
    return entry?.isDeleting === true ? undefined : entry
  }

  byId(id: number): Entry | undefined {
    return this.#byId.get(id)
  }

  all(): Iterable<Entry> {
    return this.#byId.values()
  }

  /** One change at a time, and each sees what the one before has done. */
  change<T>(work: () => Promise<T>): Promise<T> {
    return this.#turns.take(work)
  }

  /** Within `change`. */
  async add(info: QueueInfo): Promise<Entry | QueueFault> {
    const entry: Entry = { ...info, id: this.#meta.nextId, isDeleting: false }
    const meta = { nextId: entry.id + 1 }
    const refusal = await this.#committing.commit([
      recordOf(entry),
      { collection: QUEUES, key: META, value: JSON.stringify(meta) },
    ])
    if (refusal !== undefined) return refusal
    this.#meta = meta
    this.#keep(entry)
    return entry
  }

  /** Within `change`. */
  async put(entry: Entry): Promise<Entry | QueueFault> {
    const refusal = await this.#committing.commit([recordOf(entry)])
    if (refusal !== undefined) return refusal
    this.#keep(entry)
    return entry
  }

  /** Within `change`, once nothing is left of it. */
  async remove({ id, name }: Entry): Promise<QueueFault | undefined> {
    const refusal = await this.#committing.commit([
      { collection: QUEUES, key: keyOf(id), deleted: true },
    ])
    if (refusal !== undefined) return refusal
    this.#byId.delete(id)
    if (this.#byName.get(textOf(name))?.id === id) this.#byName.delete(textOf(name))
    return undefined
  }

  #keep(entry: Entry): void {
    this.#byId.set(entry.id, entry)
    const name = textOf(entry.name)
    const other = this.#byName.get(name)
    if (entry.isDeleting && other !== undefined && other.id !== entry.id) return // the name has been taken again
    this.#byName.set(name, entry)
  }
}

function textOf({ account, region, name }: QueueName): string {
  return `${account}/${region}/${name}`
}

function keyOf(id: number): string {
  return id.toString(36).padStart(8, '0')
}

function recordOf(entry: Entry): RecordWrite {
  const value = JSON.stringify({ ...entry, config: encodeConfig(entry.config) })
  return { collection: QUEUES, key: keyOf(entry.id), value }
}

function decodeEntry(value: string): Entry {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- what `recordOf` wrote
  const stored = JSON.parse(value) as Entry & { config: Record<string, unknown> }
  return { ...stored, config: decodeConfig(stored.config) }
}
