/**
 * Texts that are not in memory. One that is damaged takes no other with it: what cannot be read together is read
 * in halves, and what is damaged is left out. Undefined where nothing can be read at the moment.
 */
import { READ_LIMIT_MAX, type Journal, type StoredRecord } from '../journal/index.ts'
import { Accident } from '../std/index.ts'
import type { QueueCore } from './queue-core.ts'

export async function readRecords(
  journal: Journal,
  collection: string,
  keys: readonly string[],
): Promise<readonly StoredRecord[] | undefined> {
  try {
    return await readSome(journal, collection, keys)
  } catch (error) {
    if (error instanceof Accident) return undefined
    throw error
  }
}

/** By key, those of these messages that are not in memory. */
export async function textsOf(
  core: QueueCore,
  slots: readonly number[],
): Promise<ReadonlyMap<string, string>> {
  const { texts } = core.state.slots
  const keys = slots.filter((slot) => texts.get(slot) === undefined).map((slot) => core.keyOf(slot))
  const found = await readRecords(core.shared.journal, core.messages, keys)
  return new Map(found?.map(({ key, value }) => [key, value]))
}

async function readSome(
  journal: Journal,
  collection: string,
  keys: readonly string[],
): Promise<readonly StoredRecord[]> {
  if (keys.length <= READ_LIMIT_MAX)
    try {
      return keys.length === 0 ? [] : await journal.getRecords(collection, keys)
    } catch (error) {
      if (!(error instanceof Accident) || error.code !== 'damaged') throw error
      if (keys.length === 1) return []
    }
  const half = keys.length >>> 1
  return [
    ...(await readSome(journal, collection, keys.slice(0, half))),
    ...(await readSome(journal, collection, keys.slice(half))),
  ]
}
