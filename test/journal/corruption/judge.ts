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
import { readIntake } from '../../../src/journal/sqlite/intake.ts'
import type { Pages } from '../../../src/journal/sqlite/pages.ts'
import { rebuild } from '../../../src/journal/sqlite/repair.ts'
import type { VerifyReport } from '../../../src/journal/sqlite/report.ts'
import type { Restored } from '../../../src/journal/sqlite/restore.ts'
import { Tables } from '../../../src/journal/sqlite/tables.ts'
import { inDirectory, pagesOf, placeOf, readFiles, type Base } from './base.ts'
import { contentsOf, REFUSED, type Contents } from './contents.ts'
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

export const PARTS: Parts = { verify: inspect, pages: pagesOf }

export function judge(base: Base, damage: Damage, parts: Parts = PARTS): Judgement {
  const wrong: string[] = []
  const report = inDirectory(damage.files, parts.verify)
  const read = readFiles(damage.files, base.names, base.positions)
  const outcome = report.ok ? unfound(base, damage, read) : 'found'
  if (outcome === undefined) wrong.push(`not found: ${differences(base.truth, read).join('; ')}`)
  if (!report.ok && read !== REFUSED) wrong.push(...impossible(base, read, 'read'))

  const repaired = repair(base, damage, parts)
  if (repaired instanceof Error) wrong.push(`repair: ${repaired.message}`)
  else
    wrong.push(
      ...impossible(base, repaired.contents, 'repaired'),
      ...unkept(base, damage, repaired),
    )
  const items = [...base.own.keys()].filter((key) => base.truth.get(key) !== undefined)
  const kept = repaired instanceof Error ? [] : items.filter((key) => isKept(base, repaired, key))
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
function withoutTail({ files, kind }: Base, damage: Damage): Files | undefined {
  if (kind === 'closed') return undefined
  return inDirectory(files, (directory) => {
    const places = readIntake(directory, 0).groups.map((group) => placeOf(files, group))
    const first = places.findIndex(
      ({ file, from, to }) => !isSame(files, damage.files, file, from, to),
    )
    if (first === -1) return undefined
    const cut = new Map(files)
    for (const { file, from, to } of places.slice(first)) {
      const image = Buffer.from(cut.get(file)!)
      cut.set(file, image.fill(0, from, to))
    }
    return cut
  })
}

function isSame(one: Files, other: Files, file: string, from: number, to: number): boolean {
  const bytes = other.get(file)?.subarray(from, to)
  return bytes !== undefined && one.get(file)!.subarray(from, to).equals(bytes)
}

function differences(truth: Contents, read: Contents | typeof REFUSED): string[] {
  if (read === REFUSED) return ['nothing can be read']
  return [...truth.keys()]
    .filter((key) => truth.get(key) !== read.get(key))
    .map((key) => `${key}: ${shown(read.get(key))} for ${shown(truth.get(key))}`)
}

/** Items that nobody has ever written so. */
function impossible(base: Base, read: Contents, when: string): string[] {
  return [...read].flatMap(([key, value]) => {
    if (value === undefined || value === REFUSED || value === base.truth.get(key)) return []
    if (/^(?:records|snapshots|stream|head|heads|events)\b/.test(key)) return [] // made of others
    if (base.ever.get(key)?.has(value)) return []
    if (key.startsWith('fence ') && value === '0') return []
    return [
      `${when}, though never written: ${key}: ${shown(value)} for ${shown(base.truth.get(key))}`,
    ]
  })
}

type Repaired = Readonly<{ contents: Contents; restored: Restored }>

function repair(base: Base, { files }: Damage, parts: Parts): Repaired | Error {
  const database = new DatabaseSync(':memory:')
  try {
    const restored = inDirectory(files, (directory) =>
      rebuild(directory, parts.pages(files), database),
    )
    const { reading } = new Filing(database, RETENTION_MS)
    const sources = { reading, tables: new Tables(database) }
    return { contents: contentsOf(sources, base.names, base.positions), restored }
  } catch (error) {
    return error instanceof Error ? error : new Error(String(error))
  } finally {
    database.close()
  }
}

function unkept(base: Base, damage: Damage, repaired: Repaired): string[] {
  const wrong: string[] = []
  for (const [key, spans] of base.own) {
    if (base.truth.get(key) === undefined || isKept(base, repaired, key)) continue
    const isIntact =
      damage.touched?.has(key) !== true &&
      (damage.touched !== undefined ||
        spans.every(({ file, from, to }) => isSame(base.files, damage.files, file, from, to)))
    if (isIntact) wrong.push(`not kept: ${key}: ${shown(repaired.contents.get(key))}`)
  }
  return wrong
}

function isKept({ truth }: Base, { contents, restored }: Repaired, key: string): boolean {
  const [was, is] = [truth.get(key), contents.get(key)]
  if (was === is) return true
  // Behind a lost group versions move up, where nothing tells which streams it had.
  const moved = restored.lost.groups > 0 && key.startsWith('event ')
  return moved && typeof is === 'string' && typeof was === 'string' && noSeq(is) === noSeq(was)
}

function noSeq(event: string): string {
  return event.replace(/"seq":\d+,/, '')
}

function shown(value: string | typeof REFUSED | undefined): string {
  return value === REFUSED ? 'refused' : value === undefined ? 'nothing' : value.slice(0, 120)
}
