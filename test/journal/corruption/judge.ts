/**
 * Whether damage was found, kept from readers, and repaired.
 *
 *   - What verify does not find has changed nothing for readers. One thing cannot be told from the files:
 *     the last groups of an intake may have been damaged, or cut short by a crash. Readers are then
 *     given exactly what was committed before them.
 *   - Where something was found, a reader is given what is right, what was right once, or a refusal: an
 *     event is right or refused, and nothing is given that was never written.
 *   - A repair keeps every item whose own bytes are as they were. What it gives out verifies.
 */
import { DatabaseSync } from 'node:sqlite'

import { Filing } from '../../../src/journal/sqlite/filing.ts'
import { inspect } from '../../../src/journal/sqlite/inspect.ts'
import type { Pages } from '../../../src/journal/sqlite/pages.ts'
import { rebuild } from '../../../src/journal/sqlite/repair.ts'
import type { VerifyReport } from '../../../src/journal/sqlite/report.ts'
import { markFree } from '../../../src/journal/sqlite/salvage.ts'
import { Tables } from '../../../src/journal/sqlite/tables.ts'
import {
  foundIn,
  groupsIn,
  inDirectory,
  pagesOf,
  placeOf,
  readDirectory,
  readFiles,
  type Base,
  type Span,
} from './base.ts'
import { contentsOf, keyOf, REFUSED, type Contents } from './contents.ts'
import type { Damage } from './damage.ts'
import { RETENTION_MS, type Files } from './scribe.ts'

export type Judgement = Readonly<{
  /** `hidden` damage has changed nothing; a `tail` is what may have been a crash. */
  outcome: 'found' | 'hidden' | 'tail'
  /** Items that were there, and those that were there after the repair. */
  items: number
  kept: number
  /** What must not be. */
  wrong: readonly string[]
}>

/** Parts that a test may weaken, to see that the judge notices. */
export type Parts = Readonly<{
  verify: (directory: string) => VerifyReport
  pages: (files: Files) => Pages
}>

/** Of a table without row numbers, whose rows are on its inner pages too. */
const INNER_PAGE = 0x02

type Looked = Readonly<{
  report: VerifyReport
  repaired: Contents | Error
  read: Contents | typeof REFUSED
}>

export const PARTS: Parts = { verify: inspect, pages: pagesOf }

export function judge(base: Base, damage: Damage, parts: Parts = PARTS): Judgement {
  const wrong: string[] = []
  const { report, repaired, read } = inDirectory(damage.files, (directory): Looked => ({
    report: parts.verify(directory),
    repaired: repair(base, damage, directory, parts),
    read: readDirectory(directory, base.names, base.positions), // writes to it, and so comes last
  }))
  const outcome = report.ok ? unfound(base, damage, read) : 'found'
  if (outcome === undefined) wrong.push(`not found: ${differences(base.truth, read).join('; ')}`)
  if (!report.ok && read !== REFUSED)
    wrong.push(...impossible(base, damage, read).map((one) => `read, ${one}`))

  if (repaired instanceof Error) wrong.push(`repair: ${repaired.message}`)
  else wrong.push(...wronglyRepaired(base, damage, repaired))
  const items = [...base.own.keys()].filter((key) => base.truth.get(key) !== undefined)
  const kept =
    repaired instanceof Error
      ? []
      : items.filter((key) => isEqual(base, damage, key, repaired.get(key)))
  return { outcome: outcome ?? 'hidden', items: items.length, kept: kept.length, wrong }
}

function unfound(
  base: Base,
  damage: Damage,
  read: Contents | typeof REFUSED,
): Judgement['outcome'] | undefined {
  if (differences(base.truth, read).length === 0) return 'hidden'
  const cut = withoutTail(base, damage)
  if (cut === undefined) return undefined
  const before = readFiles(cut, base.names, base.positions)
  return before !== REFUSED && differences(before, read).length === 0 ? 'tail' : undefined
}

/** The files as they would be without those of the last groups that are not what they were. */
function withoutTail({ files, filed }: Base, damage: Damage): Files | undefined {
  return inDirectory(files, (directory) => {
    const places = groupsIn(directory)
      .filter(({ number }) => number > filed)
      .map((group) => placeOf(files, group))
    const first = places.findIndex((place) => !isSame(files, damage.files, place))
    if (first === -1) return undefined
    const cut = new Map(files)
    for (const { file, from, to } of places.slice(first)) {
      const image = Buffer.from(cut.get(file)!)
      cut.set(file, image.fill(0, from, to))
    }
    return cut
  })
}

function isSame(one: Files, other: Files, { file, from, to }: Span): boolean {
  const bytes = other.get(file)?.subarray(from, to)
  return bytes !== undefined && one.get(file)!.subarray(from, to).equals(bytes)
}

function differences(truth: Contents, read: Contents | typeof REFUSED): string[] {
  if (read === REFUSED) return ['nothing can be read']
  return [...truth.keys()]
    .filter((key) => truth.get(key) !== read.get(key))
    .map((key) => `${key}: ${shown(read.get(key))} for ${shown(truth.get(key))}`)
}

type Item = string | typeof REFUSED | undefined

/** Items that nobody has ever written so. */
function impossible(base: Base, damage: Damage, read: Contents): string[] {
  return [...read].flatMap(([key, value]) => {
    const was = base.truth.get(key)
    if (value === undefined || value === REFUSED || isEqual(base, damage, key, value)) return []
    if (/^(?:records|snapshots|stream|head|heads|events)\b/.test(key)) return [] // made of others
    if (base.ever.get(key)?.has(value)) return []
    if (key.startsWith('fence ') && value === '0') return [] // there is none
    return [`never written: ${key}: ${shown(value)} for ${shown(was)}`]
  })
}

/**
 * What the files cannot tell any more does not count against an event that was kept: the name of its
 * stream where the row of the stream is damaged, with it the version where the stream begins anew, and
 * the version of an event that waited in the intake where those before it are lost.
 */
function isEqual(base: Base, damage: Damage, key: string, value: Item): boolean {
  const was = base.truth.get(key)
  if (was === value) return true
  if (!key.startsWith('event ') || typeof value !== 'string' || typeof was !== 'string')
    return false
  const stream = String(fieldOf(was, 'stream'))
  if (!isIntact(base, damage, keyOf.name(stream)))
    return without(value, 'stream', 'seq') === without(was, 'stream', 'seq')
  const waited = base.own.get(key)?.some(({ file }) => file.startsWith('intake')) ?? false
  return (
    waited &&
    without(value, 'seq') === without(was, 'seq') &&
    hasLostBefore(base, damage, stream, Number(fieldOf(was, 'position')))
  )
}

function hasLostBefore(base: Base, damage: Damage, stream: string, position: number): boolean {
  for (let n = 1; n < position; n++) {
    const key = keyOf.event(n)
    const event = base.truth.get(key)
    const isOfStream = typeof event === 'string' && fieldOf(event, 'stream') === stream
    if (isOfStream && !isIntact(base, damage, key)) return true
  }
  return false
}

function fieldOf(event: string, field: string): unknown {
  const value: Readonly<Record<string, unknown>> = JSON.parse(event)
  return value[field]
}

function without(event: string, ...fields: readonly string[]): string {
  return JSON.stringify(JSON.parse(event), (key, value) =>
    fields.includes(key) ? undefined : value,
  )
}

function repair(base: Base, { files }: Damage, directory: string, parts: Parts): Contents | Error {
  const database = new DatabaseSync(':memory:')
  try {
    rebuild(directory, parts.pages(files), database)
    const { reading } = new Filing(database, RETENTION_MS)
    const sources = { reading, tables: new Tables(database) }
    return contentsOf(sources, base.names, base.positions)
  } catch (error) {
    return error instanceof Error ? error : new Error(String(error))
  } finally {
    database.close()
  }
}

function wronglyRepaired(base: Base, damage: Damage, repaired: Contents): string[] {
  const wrong = impossible(base, damage, repaired).map((one) => `repaired, ${one}`)
  for (const key of base.own.keys()) {
    const was = base.truth.get(key)
    const is = repaired.get(key)
    if (was === undefined || isEqual(base, damage, key, is)) continue
    if (isIntact(base, damage, key) && !isLostOtherwise(base, damage, key))
      wrong.push(`not kept: ${key}: ${shown(is)} for ${shown(was)}`)
  }
  return wrong
}

/** Its own bytes are as they were. */
function isIntact(base: Base, { files, touched }: Damage, key: string): boolean {
  if (touched !== undefined) return !touched.has(key)
  return (base.own.get(key) ?? []).every((span) => isSame(base.files, files, span))
}

/**
 * A record can be intact and the name of its collection lost, and a snapshot that of its stream. Where
 * neither the way to a page nor the list of free pages can be read, nobody knows whether what is on it
 * was the last version; nor where an old page that leads to others has an old version of it itself.
 */
function isLostOtherwise(base: Base, damage: Damage, key: string): boolean {
  const collection = /^record ([^/]*)\//.exec(key)?.[1]
  if (collection !== undefined && !isIntact(base, damage, keyOf.collection(collection))) return true
  const stream = /^snapshot ([^/]*)\//.exec(key)?.[1]
  if (stream !== undefined && !isIntact(base, damage, keyOf.name(stream))) return true
  if (!/^(?:record|snapshot) /.test(key)) return false
  const pages = pagesOf(damage.files)
  if (!isFreeKnown(pages) || (pages.log.type === 'torn' && !isFreeKnown(pages.withTorn())))
    return true
  const before = pagesOf(base.files)
  return [...foundIn(pages)].some(([item, number = 0]) => {
    const page = pages.page(number)
    return item === key && page?.[0] === INNER_PAGE && before.page(number)?.equals(page) !== true
  })
}

function isFreeKnown(pages: Pages): boolean {
  return markFree(pages, new Uint8Array(pages.count + 1))
}

function shown(value: Item): string {
  return value === REFUSED ? 'refused' : value === undefined ? 'nothing' : value.slice(0, 120)
}
