/**
 * What a directory looks like from outside, in a moment and without opening it as a journal: also where it
 * is in use, damaged, or none at all.
 */
import { existsSync, readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'

import { openUnchanged } from './inspect.ts'
import { holderOf } from './lock.ts'
import { SCHEMA_VERSION, TABLES_FILE } from './schema.ts'

export type DirectoryReport = Readonly<{
  /** There is a journal in it, in whichever state. */
  isJournal: boolean
  /** The version of its tables, where it can be read, and the one that this program writes. */
  schema?: number
  schemaKnown: number
  /** Who has it open. */
  holder?: string
  /** When a file of it was last written, by the clock of that moment. */
  writtenAt?: number
  /** All that is in it. */
  bytes: number
  /** What a repair has kept of damaged files, and what interrupted work has left: it works without. */
  leftovers: readonly Readonly<{ path: string; bytes: number }>[]
}>

const KEPT_BY_REPAIR = /^damaged-\d+$/
const UNFINISHED = /\.(?:partial|repaired)$/

export function describeDirectory(directory: string): DirectoryReport {
  if (!existsSync(directory))
    return { isJournal: false, schemaKnown: SCHEMA_VERSION, bytes: 0, leftovers: [] }
  const isJournal = existsSync(join(directory, TABLES_FILE))
  const holder = holderOf(directory)
  const schema = isJournal ? schemaOf(directory) : undefined
  const files = readdirSync(directory, { withFileTypes: true }).filter((entry) => entry.isFile())
  const times = files.map(({ name }) => statSync(join(directory, name)).mtimeMs)
  // Whoever has the directory may be at work on them, and where the tables cannot be read a repair was
  // cut short and goes on from what it had put aside.
  const areLeft = holder === undefined && schema !== undefined
  const leftovers = readdirSync(directory)
    .filter((name) => areLeft && (KEPT_BY_REPAIR.test(name) || UNFINISHED.test(name)))
    .map((name) => join(directory, name))
  return {
    isJournal,
    ...(schema !== undefined && { schema }),
    schemaKnown: SCHEMA_VERSION,
    ...(holder !== undefined && { holder }),
    ...(times.length > 0 && { writtenAt: Math.max(...times) }),
    bytes: bytesOf(directory),
    leftovers: leftovers.map((path) => ({ path, bytes: bytesOf(path) })),
  }
}

function schemaOf(directory: string): number | undefined {
  try {
    const database = openUnchanged(join(directory, TABLES_FILE))
    try {
      return Number(database.prepare('pragma user_version').get()?.['user_version'])
    } finally {
      database.close()
    }
  } catch {
    return undefined // damaged, or no file of ours; whoever looks for damage tells more
  }
}

function bytesOf(path: string): number {
  const stat = statSync(path, { throwIfNoEntry: false })
  if (stat === undefined) return 0 // gone while we looked
  if (!stat.isDirectory()) return stat.size
  return readdirSync(path).reduce((sum, name) => sum + bytesOf(join(path, name)), 0)
}
