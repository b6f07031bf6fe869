/** What the three batches have in common: entries with ids of their own, each with an answer of its own. */
import { required, type SqsCall } from './action.ts'
import { failedEntry, SqsError } from './errors.ts'

const ID = /^[A-Za-z0-9_-]{1,80}$/

type Entry = Readonly<{ Id: string | undefined }>

/** Throws what is wrong with the batch as a whole. */
export function checkBatch<E extends Entry>(
  { limits }: SqsCall,
  entries: readonly E[] | undefined,
  entryName: string,
): readonly (E & { Id: string })[] {
  if (entries === undefined || entries.length === 0)
    throw new SqsError(
      'EmptyBatchRequest',
      `There should be at least one ${entryName} in the request.`,
    )
  if (entries.length > limits.batchEntries)
    throw new SqsError(
      'TooManyEntriesInBatchRequest',
      `Maximum number of entries per request are ${limits.batchEntries}. You have sent ${entries.length}.`,
    )
  const ids = new Set<string>()
  return entries.map((entry) => {
    const Id = entry.Id === '' ? '' : required(entry.Id, `${entryName}.1.Id`)
    if (!ID.test(Id)) throw new SqsError('InvalidBatchEntryId')
    if (ids.has(Id)) throw new SqsError('BatchEntryIdsNotDistinct', `Id ${Id} repeated.`)
    ids.add(Id)
    return { ...entry, Id }
  })
}

type Item = Readonly<Record<string, unknown>>

/** Gathers what became of each; a list that is empty is left out. */
export class BatchResult {
  readonly #successful: Item[] = []
  readonly #failed: Item[] = []

  succeed(id: string, what?: Item): void {
    this.#successful.push({ Id: id, ...what })
  }

  fail(id: string, error: SqsError): void {
    this.#failed.push(failedEntry(id, error))
  }

  /** Undefined where it threw a refusal, which is then the answer of this entry. */
  attempt<T>(id: string, work: () => T): T | undefined {
    try {
      return work()
    } catch (error) {
      if (!(error instanceof SqsError)) throw error
      this.fail(id, error)
      return undefined
    }
  }

  output(): Item {
    return {
      ...(this.#successful.length > 0 && { Successful: this.#successful }),
      ...(this.#failed.length > 0 && { Failed: this.#failed }),
    }
  }
}
