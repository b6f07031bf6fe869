/**
 * Journals to be damaged: their files, what readers are given, and which bytes each item is on.
 *
 *   closed    everything is in the tables, and there is no log beside them
 *   killed    some groups wait in the intake, and the tables have a log
 *   reopened  killed, opened again and killed before anything was written
 */
import { mkdtempSync, readdirSync, rmdirSync, rmSync, unlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync, type SQLOutputValue } from 'node:sqlite'

import { FrameReader } from '../../../src/journal/sqlite/frame-reader.ts'
import { GROUP_CRC_BYTES, GROUP_HEADER_BYTES } from '../../../src/journal/sqlite/frame.ts'
import { readIntake, type Group } from '../../../src/journal/sqlite/intake.ts'
import { openDirectory } from '../../../src/journal/sqlite/opening.ts'
import { imageBytes, readPages, type Pages } from '../../../src/journal/sqlite/pages.ts'
import { salvage, type FoundRow } from '../../../src/journal/sqlite/salvage.ts'
import { TABLES_FILE } from '../../../src/journal/sqlite/schema.ts'
import { Tables } from '../../../src/journal/sqlite/tables.ts'
import { random } from '../../../src/std/index.ts'
import { contentsOf, keyOf, REFUSED, refusable, type Contents, type Names } from './contents.ts'
import { RETENTION_MS, Scribe, type Files } from './scribe.ts'

export const LOG_FILE: string = `${TABLES_FILE}-wal`

export type BaseKind = 'closed' | 'killed' | 'reopened'

/** Bytes of a file. */
export type Span = Readonly<{ file: string; from: number; to: number }>

export type OldRow = Readonly<{ table: string; values: readonly SQLOutputValue[] }>

export type Base = Readonly<{
  seed: number
  kind: BaseKind
  names: Names
  pageBytes: number
  files: Files
  /** The last group that is in the tables. */
  filed: number
  positions: number
  truth: Contents
  /** Every value that anything which may be overwritten has ever had. */
  ever: ReadonlyMap<string, ReadonlySet<string>>
  /** The bytes each item is on. */
  own: ReadonlyMap<string, readonly Span[]>
  /** The tables as they were at an earlier moment. */
  older: Buffer
  /** Rows at that moment, of tables whose rows may be overwritten. */
  oldRows: readonly OldRow[]
}>

const GROUPS = [8, 12, 20]
const OVERWRITTEN = ['streams', 'records', 'snapshots', 'fences', 'digests', 'anchor']

export function makeBase(seed: number, kind: BaseKind): Base {
  const chance = random(seed)
  const directory = mkdtempSync(join(tmpdir(), 'flytower-base-'))
  try {
    const scribe = new Scribe(directory, chance)
    const groups = chance.pick(GROUPS)
    const old = chance.below(groups - 6) + 3
    let older: Buffer = Buffer.alloc(0)
    for (let n = 0; n < groups; n++) {
      scribe.group()
      if (chance.below(5) === 0 || n === old) scribe.settle()
      if (chance.below(12) === 0) scribe.checkpoint()
      if (n === old) older = tablesOf(scribe.files())
    }
    const { filing } = scribe.opened
    const positions = filing.position
    if (kind === 'closed') scribe.settle()
    const { filed } = filing
    if (kind === 'closed') scribe.close()
    if (kind === 'reopened') scribe.reopen()
    const files = scribe.files()
    const own = ownOf(files, directory, filed)
    const oldRows = rowsOf(older, join(directory, 'older.db'))
    if (kind !== 'closed') scribe.close()
    const { names, ever } = scribe
    const truth = readFiles(files, names, positions)
    if (truth === REFUSED) throw new Error('the journal cannot be opened')
    const { pageBytes } = pagesOf(files)
    return {
      seed,
      kind,
      names,
      pageBytes,
      files,
      filed,
      positions,
      truth,
      ever,
      own,
      older,
      oldRows,
    }
  } finally {
    rmSync(directory, { recursive: true })
  }
}

/** What readers are given by a journal that is opened on these files. */
export function readFiles(
  files: Files,
  names: Names,
  positions: number,
): Contents | typeof REFUSED {
  return inDirectory(files, (directory) => readDirectory(directory, names, positions))
}

export function readDirectory(
  directory: string,
  names: Names,
  positions: number,
): Contents | typeof REFUSED {
  const opened = refusable(() => openDirectory(directory, RETENTION_MS))
  if (opened === REFUSED) return REFUSED
  const { filing, database, lock } = opened
  try {
    const sources = { reading: filing.reading, tables: new Tables(database) }
    return contentsOf(sources, names, positions)
  } finally {
    database.close()
    lock.release()
  }
}

export function inDirectory<T>(files: Files, work: (directory: string) => T): T {
  const directory = mkdtempSync(join(tmpdir(), 'flytower-damaged-'))
  try {
    for (const [name, image] of files) writeFileSync(join(directory, name), image)
    return work(directory)
  } finally {
    // Several times as fast as removing it with all there is in it.
    for (const name of readdirSync(directory)) unlinkSync(join(directory, name))
    rmdirSync(directory)
  }
}

/** The tables with their log laid over them. */
export function tablesOf(files: Files): Buffer {
  const pages = pagesOf(files)
  return Buffer.concat(Array.from({ length: pages.count }, (_, n) => pages.page(n + 1)!))
}

export function pagesOf(files: Files): Pages {
  const log = files.get(LOG_FILE) ?? Buffer.alloc(0)
  return readPages(imageBytes(files.get(TABLES_FILE)!), imageBytes(log))
}

function rowsOf(image: Buffer, path: string): OldRow[] {
  writeFileSync(path, image)
  const database = new DatabaseSync(path)
  const rows = OVERWRITTEN.flatMap((table) =>
    database
      .prepare(`select * from ${table}`)
      .all()
      .map((row) => ({ table, values: Object.values(row) })),
  )
  database.close()
  return rows
}

function ownOf(files: Files, directory: string, filed: number): Map<string, readonly Span[]> {
  const pages = pagesOf(files)
  const own = new Map<string, readonly Span[]>()
  for (const [item, ...numbers] of foundIn(pages))
    own.set(
      item,
      numbers.map((number) => spanOf(files, pages.page(number)!)),
    )
  for (const group of groupsIn(directory)) if (group.number > filed) addGroup(own, files, group)
  return own
}

/** Each item that is where its tree leads to, and the pages it is on. */
export function* foundIn(pages: Pages): Generator<[item: string, ...pages: number[]]> {
  const names = new Map<number, string>()
  const rows = [...salvage(pages)].filter(
    (found) => found.type === 'row' && found.standing === 'sound',
  )
  for (const found of rows) {
    if (found.type !== 'row') continue
    if (found.table === 'streams') names.set(found.row.id, found.row.name)
    if (found.table === 'digests') names.set(-found.row.id, found.row.name)
  }
  for (const found of rows) {
    const item = found.type === 'row' ? itemOf(found, names) : undefined
    if (item !== undefined && found.type === 'row') yield [item, ...found.pages]
  }
}

/** All that are in the intake, those that were filed included. */
export function groupsIn(directory: string): Group[] {
  const { groups, stranded } = readIntake(directory, 0)
  return [...groups, ...stranded]
}

function itemOf(found: FoundRow, names: ReadonlyMap<number, string>): string | undefined {
  switch (found.table) {
    case 'events':
      return keyOf.event(found.row.position)
    case 'records':
      return keyOf.record(names.get(-found.row.collection) ?? '', found.row.key)
    case 'ledger':
      return keyOf.answer(found.row.key)
    case 'snapshots': {
      const { stream, fold, seq } = found.row
      return keyOf.snapshot(names.get(stream) ?? '', fold, seq)
    }
    case 'fences':
      return keyOf.fence(found.row.name)
    case 'streams':
      return keyOf.name(found.row.name)
    case 'digests':
      return keyOf.collection(found.row.name)
    case 'anchor':
      return undefined
  }
}

/** Pages are parts of the images they were read from. */
function spanOf(files: Files, part: Buffer): Span {
  for (const [file, image] of files) {
    const from = part.byteOffset - image.byteOffset
    if (part.buffer === image.buffer && from >= 0 && from + part.length <= image.length)
      return { file, from, to: from + part.length }
  }
  throw new Error('the page is part of no file')
}

function addGroup(own: Map<string, readonly Span[]>, files: Files, group: Group): void {
  const span = placeOf(files, group)
  let { position } = group
  const put = (key: string): unknown => own.set(key, [span])
  const reader = new FrameReader(
    group.bytes,
    GROUP_HEADER_BYTES,
    group.bytes.length - GROUP_CRC_BYTES,
  )
  while (!reader.isDone)
    reader.entry({
      event: () => put(keyOf.event(++position)),
      record: (collection, key, value) => {
        if (value === null) own.delete(keyOf.record(collection, key))
        else put(keyOf.record(collection, key))
      },
      answer: (key) => put(keyOf.answer(key)),
      snapshot: (stream, seq, fold) => put(keyOf.snapshot(stream, fold, seq)),
      fence: (name) => put(keyOf.fence(name)),
    })
}

export function placeOf(files: Files, group: Group): Span {
  for (const [file, image] of files) {
    const from = file.startsWith('intake') ? image.indexOf(group.bytes) : -1
    if (from >= 0) return { file, from, to: from + group.bytes.length }
  }
  throw new Error('the group is in no file')
}
