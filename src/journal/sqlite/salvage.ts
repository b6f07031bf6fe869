/**
 * Every row of ours that can still be read from the pages of a file, with or without a way to it.
 *
 * First the trees are walked from their roots. In a file that is whole every page is then accounted for:
 * it is part of a tree, it holds what was too large for a page of one, or it is free. Where that is not
 * so, all pages that are left are searched. A row is given out only if its own crc proves it. For
 * history that is all there is to say, because it is never changed: a row that was once right is right.
 * So it is taken from free pages too. What may be overwritten can also be *old*, and so each row says how
 * it stands:
 *
 *   sound     it is where its tree leads to
 *   stray     nothing leads to its page, and the page is not free: it was lost with the way to it, and
 *             whatever the tree leads to in its place is old
 *   astray    its key does not belong on its page, or its page is free as well: the page is old, or the
 *             one that leads to it, or the list of free pages
 *   doubtful  it lies in free space of a page, the log hides its page, its page should be the rest of
 *             another row, or nobody knows whether its page was given back: most likely it is old
 */
import { DatabaseSync } from 'node:sqlite'

import { contentOf, type Cell, type PageContent, type PageKind, type Value } from './cells.ts'
import { isFirstPage, type Pages } from './pages.ts'
import { rightRow, TABLES, type RightRow, type TableName } from './rows.ts'
import { MIGRATIONS } from './schema.ts'

/** `pages` are those that it is on: a row that is too large for one goes on elsewhere. */
export type FoundRow = RightRow &
  Readonly<{ type: 'row'; standing: Standing; pages: readonly number[] }>

export type Standing = 'sound' | 'stray' | 'astray' | 'doubtful'

/** A row that is where it should be and not what it was; its values are hints at best. */
export type Wrong = Readonly<{
  type: 'wrong'
  table: TableName
  values: readonly Value[]
  page: number
}>

export type Found =
  | FoundRow
  | Wrong
  /** What an index says about a row: a second witness, which has no crc. */
  | Readonly<{ type: 'entry'; index: IndexName; values: readonly Value[]; page: number }>
  | Readonly<{ type: 'unreadable'; page: number; tree: string }>

export type IndexName = (typeof INDEXES)[number]

const INDEXES = [
  'events_by_stream',
  'sqlite_autoindex_streams_1',
  'sqlite_autoindex_ledger_1',
  'sqlite_autoindex_digests_1',
] as const
const KEYED: readonly TableName[] = ['records', 'snapshots', 'fences']
const NUMBERED: readonly TableName[] = ['events', 'streams', 'ledger', 'digests', 'anchor']
const SCHEMA = 'sqlite_schema'
// The anchor comes first, because it says which of the other rows are still wanted.
const ROOTS = "select name, rootpage from sqlite_schema order by name <> 'anchor', rootpage"
const HIDDEN = 0 // a version of a page that another took the place of has no number

const UNSEEN = 0
const IN_USE = 1
const FREE = 2
/** A row should go on there. */
const OVERFLOW = 3

type Key = readonly Value[]
type Place = Readonly<{ number: number; tree: string; from?: Key; to?: Key }>

export function* salvage(pages: Pages): Generator<Found> {
  const seen = new Uint8Array(pages.count + 1)
  const freeIsKnown = markFree(pages, seen)
  for (const [tree, root] of rootsOf(pages)) yield* walk(pages, seen, { tree, number: root })
  for (const [number, state] of seen.entries()) {
    if (number === 0 || state === IN_USE) continue
    const content = read(pages, number)
    if (content === undefined) continue
    const isStray = freeIsKnown && state === UNSEEN
    for (const found of judged(content, { number, tree: '' }, isStray ? 'stray' : 'doubtful'))
      if (!freeIsKnown || state !== FREE || isHistory(found)) yield found
  }
  for (const page of pages.hidden()) {
    const content = contentOf(pages, page, 2)
    if (content !== undefined) yield* judged(content, { number: HIDDEN, tree: '' }, 'doubtful')
  }
}

/** Whether the list of free pages can be followed to its end. */
export function markFree(pages: Pages, seen: Uint8Array): boolean {
  const head = pages.page(1)
  if (head === undefined || !isFirstPage(head)) return false
  let trunk = head.readUInt32BE(32)
  let left = head.readUInt32BE(36)
  while (trunk !== 0) {
    const page = mark(trunk) ? pages.page(trunk) : undefined
    if (page === undefined) return false
    const leaves = page.readUInt32BE(4)
    if (leaves > page.length / 4 - 2) return false
    for (let n = 0; n < leaves; n++) if (!mark(page.readUInt32BE(8 + 4 * n))) return false
    left -= leaves + 1
    trunk = page.readUInt32BE(0)
  }
  return left === 0

  function mark(number: number): boolean {
    if (number < 2 || number > pages.count || seen[number] !== UNSEEN) return false
    seen[number] = FREE
    return true
  }
}

/**
 * The trees by name, as the schema in the file gives them. What it does not give is where a database
 * has it that was made just now: roots never move.
 */
function rootsOf(pages: Pages): Map<string, number> {
  const roots = new Map([[SCHEMA, 1], ...expectedRoots()])
  const place = { tree: SCHEMA, number: 1 }
  for (const number of pagesOfTree(pages, place)) {
    for (const { values } of read(pages, number)?.cells ?? []) {
      const [, name, , root] = values
      if (typeof name === 'string' && roots.has(name) && typeof root === 'number')
        if (root > 1 && root <= pages.count) roots.set(name, root)
    }
  }
  return roots
}

let expected: readonly [name: string, root: number][] | undefined

function expectedRoots(): readonly [name: string, root: number][] {
  if (expected !== undefined) return expected
  const database = new DatabaseSync(':memory:')
  try {
    for (const migration of MIGRATIONS) database.exec(migration)
    const rows = database.prepare(ROOTS).all()
    return (expected = rows.map(({ name, rootpage }) => [String(name), Number(rootpage)]))
  } finally {
    database.close()
  }
}

function pagesOfTree(pages: Pages, root: Place): number[] {
  const numbers: number[] = []
  const seen = new Uint8Array(pages.count + 1)
  const found = walk(pages, seen, root)
  while (found.next().done !== true);
  for (const [number, state] of seen.entries()) if (state === IN_USE) numbers.push(number)
  return numbers
}

/** Each page is met once, so a tree that leads back to itself ends too. */
function* walk(pages: Pages, seen: Uint8Array, root: Place): Generator<Found> {
  const places = [root]
  for (;;) {
    const place = places.pop()
    if (place === undefined) return
    const { number, tree } = place
    const isNew = number >= 1 && number <= pages.count && seen[number] !== IN_USE
    const content = isNew ? read(pages, number) : undefined
    if (content === undefined) {
      yield { type: 'unreadable', page: number, tree }
      continue
    }
    const standing = seen[number] === FREE ? 'astray' : 'sound'
    seen[number] = IN_USE
    for (const { overflow } of content.cells) for (const page of overflow) seen[page] = IN_USE
    for (const page of content.astray) if (seen[page] === UNSEEN) seen[page] = OVERFLOW
    yield* judged(content, place, standing)
    if (content.last === undefined) continue
    if (content.skipped > 0) yield { type: 'unreadable', page: number, tree }
    places.push(...childrenOf(content, place).toReversed())
  }
}

function read(pages: Pages, number: number): PageContent | undefined {
  const page = pages.page(number)
  return page && contentOf(pages, page, number)
}

/** A key on an inner page bounds its children, if the row it belongs to is right. */
function childrenOf({ kind, cells, last }: PageContent, place: Place): Place[] {
  const { tree } = place
  const keys = cells.map((cell) => {
    const right = rowIn(cell, kind)
    return right?.table === tree && within(keyOf(cell, right), place)
      ? keyOf(cell, right)
      : undefined
  })
  const children = [...cells.map(({ child }) => child!), last!]
  return children.map((number, n) => {
    const from = keys.slice(0, n).findLast((key) => key !== undefined) ?? place.from
    const to = keys.slice(n).find((key) => key !== undefined) ?? place.to
    return { number, tree, ...(from && { from }), ...(to && { to }) }
  })
}

function* judged(content: PageContent, place: Place, standing: Standing): Generator<Found> {
  const { number: page, tree } = place
  for (const cell of content.kind === 'table-inner' ? [] : content.cells) {
    const right = rowIn(cell, content.kind)
    const values = valuesOf(cell)
    if (right !== undefined) {
      const isAstray = tree !== '' && (tree !== right.table || !within(keyOf(cell, right), place))
      const pages = [page, ...cell.overflow]
      const standingThere = cell.outside ? 'doubtful' : isAstray ? 'astray' : standing
      yield { ...right, type: 'row', standing: standingThere, pages }
    } else if (isIndex(tree)) yield { type: 'entry', index: tree, values, page }
    else if (isTable(tree)) yield { type: 'wrong', table: tree, values, page }
  }
}

/** What is never changed, and what says itself which of its versions is the last. */
function isHistory(found: Found): boolean {
  return found.type === 'row' && ['events', 'streams', 'ledger', 'fences'].includes(found.table)
}

/** What the cell is a row of, if it is a row of ours. */
function rowIn(cell: Cell, kind: PageKind): RightRow | undefined {
  if (kind === 'table-inner') return undefined
  const values = valuesOf(cell)
  for (const table of cell.rowid === undefined ? KEYED : NUMBERED) {
    const right = rightRow(table, values)
    if (right !== undefined) return right
  }
  return undefined
}

function keyOf({ values }: Cell, { table }: RightRow): Key {
  return values.slice(0, TABLES[table].keyed)
}

/** The number of a row stands for its first column, which is stored as null. */
function valuesOf({ rowid, values }: Cell): readonly Value[] {
  return rowid !== undefined && values[0] === null ? [rowid, ...values.slice(1)] : values
}

function within(key: Key, { from, to }: Place): boolean {
  return !(from && compare(from, key) >= 0) && !(to && compare(key, to) >= 0)
}

/** As SQLite orders them: numbers before texts, texts by their bytes. */
function compare(one: Key, other: Key): number {
  for (const [n, a] of one.entries()) {
    const b = other[n]
    if (typeof a === 'number' && typeof b === 'number') {
      if (a !== b) return a - b
    } else if (typeof a === 'string' && typeof b === 'string') {
      const order = a === b ? 0 : Buffer.compare(Buffer.from(a), Buffer.from(b))
      if (order !== 0) return order
    } else {
      return typeof a === 'number' ? -1 : 1
    }
  }
  return 0
}

function isIndex(tree: string): tree is IndexName {
  return (INDEXES as readonly string[]).includes(tree)
}

function isTable(tree: string): tree is TableName {
  return Object.hasOwn(TABLES, tree)
}
