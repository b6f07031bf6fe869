/**
 * What came of looking for damage, in words and figures. Plain data: it goes from thread to thread, and
 * an operator reads it as JSON.
 */

/** Findings that a report lists; those beyond are counted only. */
export const FINDINGS_MAX = 1_000

/** What can be wrong, from the file as a whole to a single row. */
export type FindingType =
  | 'file' // SQLite itself finds the file damaged, or it is not one of ours
  | 'log' // transactions that were durable cannot be read from the log of the file
  | 'row' // a row is not what was written, or cannot be read
  | 'gap' // a row is missing, or there is one too many
  | 'link' // the history of a stream is not the one that was written
  | 'digest' // a collection does not have the content that was written last
  | 'anchor' // the tables do not end where they should
  | 'group' // a commit that waits to be filed is not what was written

/** Fields are there as far as they are known. */
export type Finding = Readonly<{
  type: FindingType
  message: string
  remedy: string
  table?: string
  stream?: string
  seq?: number
  position?: number
  key?: string
}>

export type Counts = Readonly<{
  /** Commits that wait to be filed. */
  groups: number
  streams: number
  events: number
  records: number
  answers: number
  snapshots: number
  fences: number
  collections: number
}>

export type VerifyReport = Readonly<{
  /** Nothing was found. Losses that a repair has written down are not found anew. */
  ok: boolean
  /** Rows that were looked at. */
  checked: Counts
  findings: readonly Finding[]
  /** Findings beyond `FINDINGS_MAX`. */
  unlisted: number
  /** Places that a repair has marked as lost: reading them is refused with `damaged`. */
  losses: Readonly<{ events: number; answers: number }>
  /** The last write to the log is not whole: a crash cut it short, and it was never acknowledged. */
  torn: boolean
}>

/** Something that a repair could not keep, or not prove; fields are there as far as they are known. */
export type Loss = Omit<Finding, 'type' | 'remedy'>

export type RepairReport = Readonly<{
  /** The directory with the repaired file. */
  directory: string
  /** Where the damaged file is kept. */
  original: string
  kept: Counts
  lost: Counts
  /** Which part of all rows was kept, from 0 to 1. */
  share: number
  losses: readonly Loss[]
  /** Losses beyond `FINDINGS_MAX`. */
  unlisted: number
}>

export const REPAIR_REMEDY = 'close the journal and repair its directory, or restore a backup'

export class Findings {
  readonly #listed: Finding[] = []
  #count = 0

  add(
    type: FindingType,
    message: string,
    where: Omit<Finding, 'type' | 'message' | 'remedy'> = {},
  ): void {
    this.#count += 1
    if (this.#listed.length < FINDINGS_MAX)
      this.#listed.push({ type, message, remedy: REPAIR_REMEDY, ...where })
  }

  get listed(): readonly Finding[] {
    return this.#listed
  }

  get count(): number {
    return this.#count
  }
}

export function noCounts(): { -readonly [Part in keyof Counts]: number } {
  return {
    groups: 0,
    streams: 0,
    events: 0,
    records: 0,
    answers: 0,
    snapshots: 0,
    fences: 0,
    collections: 0,
  }
}
