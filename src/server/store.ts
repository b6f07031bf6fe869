/** The journal that the config asks for, apart from the rest so that it can be opened first. */
import { memoryJournal, sqliteJournal, type Journal } from '../journal/index.ts'
import type { Accident, Clock } from '../std/index.ts'
import { MEMORY, type Config } from './config-keys.ts'
import { dataDirectory } from './directory.ts'

export type Backup = (directory: string) => Promise<void>

/** Where nothing is kept, nothing can be copied. */
export type Store = Readonly<{ journal: Journal; backup: Backup | undefined }>

export type StoreOptions = Readonly<{
  clock: Clock
  /** Told when nobody knows any more what is on disk: nothing is acknowledged from there on. */
  onFailed?: (why: Accident) => void
}>

export async function openStore(config: Config, options: StoreOptions): Promise<Store> {
  if (config['data.directory'] === MEMORY)
    return { journal: await memoryJournal(options), backup: undefined }
  const journal = await sqliteJournal({ ...options, directory: dataDirectory(config) })
  return { journal, backup: (target) => journal.backup(target) }
}
