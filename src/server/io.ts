/** What a command has of the process that runs it, so that a test can be one. */
import type { Clock } from '../std/index.ts'

export type Io = Readonly<{
  /** Standard output: what was asked for. */
  out: (text: string) => void
  /** Standard error: what went wrong, and how far long work has come. */
  err: (text: string) => void
  /** Somebody is looking at standard error. */
  isWatched: boolean
  environment: Readonly<Record<string, string | undefined>>
  directory: string
  clock: Clock
  /** How somebody would call this program again, as a shell takes it. */
  self: string
  versions: Readonly<{ product: string; node: string }>
}>

/**
 * What a process of ours ends with. `failed` is that of a journal that does not know what is on its disk;
 * who is ended by a signal, and not in order after it, ends with 128 and its number.
 */
export const EXIT = {
  fine: 0,
  trouble: 1,
  usage: 2,
  failed: 70,
  interrupted: 130,
  ended: 143,
} as const

/** A word as a shell reads it back. */
export function quoted(word: string): string {
  return /^[\w./:@%+=-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`
}
