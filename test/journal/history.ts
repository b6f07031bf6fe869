/**
 * What an observer knows of a journal in another process: what was asked, in which order, and what
 * was answered. After a crash it says whether what is found can be so.
 *
 * The rule it holds a journal to: what is found is what the first m of the batches asked for would
 * have made, for some m; every batch that was answered with `committed` is among them; and nobody was
 * told or shown anything that is not. Each batch leaves its number in what it writes, so the highest
 * number that is found is m.
 */
import assert from 'node:assert/strict'
import { isDeepStrictEqual } from 'node:util'

import type { Batch, CommitResult } from '../../src/journal/index.ts'
import { COLLECTIONS, type Dump } from './dump.ts'
import { Model } from './model.ts'

/** What the process under test says of its dealings with the journal, in this order. */
export type Saying =
  | Readonly<{ type: 'asked'; n: number; batch: Batch }>
  | Readonly<{ type: 'answered'; n: number; result: CommitResult }>
  | Readonly<{ type: 'rejected'; n: number; code: string }>
  | Readonly<{ type: 'took'; fence: string; token: number }>
  | Readonly<{ type: 'seen'; position: number; by: 'reader' | 'subscriber' }>

/** What a load has to know to go on where another was cut off. */
export type Start = Readonly<{
  next: number
  versions: Readonly<Record<string, number>>
  keys: readonly string[]
}>

export type Settled = Readonly<{ kept: number; lost: number }>

type Asked = { n: number; batch: Batch; result?: CommitResult; code?: string }

export class History {
  #model = new Model()
  #open = new Map<number, Asked>()
  #seen = 0
  #last = 0
  readonly #keys: string[] = []
  acknowledged = 0

  get model(): Model {
    return this.#model
  }

  /** Every ledger key that was ever asked for. */
  get keys(): readonly string[] {
    return this.#keys
  }

  note(saying: Saying): void {
    switch (saying.type) {
      case 'asked': {
        const { n, batch } = saying
        this.#open.set(n, { n, batch })
        this.#last = Math.max(this.#last, n)
        for (const { key } of batch.ledger ?? []) if (key === keyOf(n)) this.#keys.push(key)
        break
      }
      case 'answered': {
        const asked = this.#open.get(saying.n)
        assert.ok(asked !== undefined, `batch ${saying.n} was answered before it was asked for`)
        asked.result = saying.result
        if (saying.result.type === 'committed') this.acknowledged++
        break
      }
      case 'rejected': {
        const asked = this.#open.get(saying.n)
        assert.ok(asked !== undefined, `batch ${saying.n} was rejected before it was asked for`)
        asked.code = saying.code
        break
      }
      case 'took': {
        const before = this.#model.tokens.get(saying.fence) ?? 0
        assert.ok(saying.token > before, `the fence went from ${before} to ${saying.token}`)
        this.#model.tokens.set(saying.fence, saying.token)
        break
      }
      case 'seen':
        this.#seen = Math.max(this.#seen, saying.position)
        break
      default:
        saying satisfies never
    }
  }

  start(): Start {
    return {
      next: this.#last + 1,
      versions: Object.fromEntries(this.#model.heads().map((head) => [head.stream, head.version])),
      keys: [...this.#model.answers.keys()].slice(-100),
    }
  }

  /** Holds what is found against what is known, and takes it for the truth from here on. */
  settle(dump: Dump): Settled {
    const m = lastIn(dump)
    const model = this.#model
    const tally = { kept: 0, lost: 0 }
    for (const { n, batch, result, code } of this.#open.values()) {
      const wanted = model.judge(batch)
      if (n > m) {
        assert.notEqual(
          result?.type,
          'committed',
          `batch ${n} was acknowledged and is lost; found ${m}`,
        )
        if (result !== undefined) agree(n, result, wanted) // by nothing that is lost
        if (result === undefined) tally.lost++
        continue
      }
      if (code !== undefined && code !== 'unknown-outcome') continue // and so it left nothing behind
      if (result !== undefined) agree(n, result, wanted)
      else if (code === undefined) tally.kept++
      if (wanted.type === 'committed') model.enter(batch)
    }
    this.#open.clear()
    compare(dump, model)
    assert.ok(
      dump.position >= this.#seen,
      `somebody had seen position ${this.#seen}, the last is ${dump.position}`,
    )
    return tally
  }
}

export function keyOf(n: number): string {
  return `request-${n}`
}

/** How a batch marks what it writes. */
export function markOf(n: number): string {
  return `#${n}#`
}

function lastIn({ events, records, answers }: Dump): number {
  const texts = [
    ...events.map(({ data }) => data),
    ...Object.values(records).flatMap((all) => all.map(({ value }) => value)),
    ...answers.map(({ response }) => response),
  ]
  return texts.reduce((last, text) => Math.max(last, Number(/^#(\d+)#/.exec(text)?.[1] ?? 0)), 0)
}

function agree(n: number, result: CommitResult, wanted: CommitResult): void {
  if (isDeepStrictEqual(result, wanted)) return
  assert.fail(`batch ${n} was answered ${JSON.stringify(result)}, not ${JSON.stringify(wanted)}`)
}

function compare(dump: Dump, model: Model): void {
  same('event', dump.events, model.events)
  same('position', [dump.position], [model.events.length])
  same('stream', dump.heads, model.heads())
  for (const { stream } of dump.heads) {
    const positions = model.readStream(stream).map(({ position }) => position)
    same(`event of ${stream}`, dump.streams[stream] ?? [], positions)
    same(`snapshot of ${stream}`, dump.snapshots[stream] ?? [], model.snapshots(stream))
  }
  for (const collection of new Set([...COLLECTIONS, ...model.collections()]))
    same(`record of ${collection}`, dump.records[collection] ?? [], model.records(collection))
  const answers = dump.answers.map(({ key, fingerprint, response, position }) => ({
    key,
    fingerprint,
    response,
    position,
  }))
  const wanted = [...model.answers].map(([key, answer]) => ({ key, ...answer }))
  same('answer', answers.toSorted(byKey), wanted.toSorted(byKey))
}

function byKey(a: { key: string }, b: { key: string }): number {
  return a.key < b.key ? -1 : 1
}

function same(what: string, found: readonly unknown[], wanted: readonly unknown[]): void {
  for (let i = 0; i < Math.max(found.length, wanted.length); i++) {
    if (isDeepStrictEqual(found[i], wanted[i])) continue
    const [a, b] = [found[i], wanted[i]].map((item) => JSON.stringify(item)?.slice(0, 300))
    assert.fail(`${what} ${i + 1} of ${wanted.length}: found ${a}, not ${b}`)
  }
}
