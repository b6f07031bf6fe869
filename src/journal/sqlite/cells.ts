/**
 * What is on one page of a SQLite file: its cells, and the values in each.
 *
 * Three kinds of pages hold rows: the leaves of tables, and leaves and inner pages of indexes, because a
 * table `without rowid` is an index that has everything. The inner pages of tables hold only the way
 * to others. A cell whose bytes make no sense is left out, and so is one whose overflow pages do not
 * end where its length says; its neighbours are not affected. Nothing here throws.
 */
import type { Pages } from './pages.ts'

export type Value = number | string | Buffer | null

export type Cell = Readonly<{
  /** The number of the row, in a table that has them. */
  rowid?: number
  values: readonly Value[]
  /** The bytes it takes on its page. */
  start: number
  end: number
  /** The overflow pages that have the rest of it. */
  overflow: readonly number[]
  /** In an inner page: the page with everything before this cell. */
  child?: number
  /** It lies where the page says that nothing is: what was deleted may still be read there. */
  outside: boolean
}>

export type PageKind = 'table-leaf' | 'table-inner' | 'index-leaf' | 'index-inner'

export type PageContent = Readonly<{
  kind: PageKind
  cells: readonly Cell[]
  /** In an inner page: the page with everything after its last cell. */
  last?: number
  /** Cells that made no sense. */
  skipped: number
  /** Pages that overflow leads to which does not end as it should: they are no part of a tree. */
  astray: readonly number[]
}>

const KINDS: Readonly<Record<number, PageKind>> = {
  0x02: 'index-inner',
  0x05: 'table-inner',
  0x0a: 'index-leaf',
  0x0d: 'table-leaf',
}
const FILE_HEADER_BYTES = 100
const INTEGER_BYTES = [0, 1, 2, 3, 4, 6, 8]
const COLUMNS_MAX = 64
const NONE: readonly number[] = []

/** `undefined` for a page of another kind, or for none that makes sense. */
export function contentOf(pages: Pages, page: Buffer, number: number): PageContent | undefined {
  const at = number === 1 ? FILE_HEADER_BYTES : 0
  const kind = KINDS[page[at]!]
  if (kind === undefined) return undefined
  const inner = kind === 'index-inner' || kind === 'table-inner'
  const pointers = at + (inner ? 12 : 8)
  const stated = page.readUInt16BE(at + 3)
  const count = Math.min(stated, (page.length - pointers) >> 1)
  const free = freeRangesOf(page, at, pointers + 2 * count)

  const cells: Cell[] = []
  const astray: number[] = []
  for (let n = 0; n < count; n++) {
    const start = page.readUInt16BE(pointers + 2 * n)
    const cell = cellAt(pages, page, { start, kind, astray })
    if (cell === undefined) continue
    const outside = free.some(([from, to]) => cell.start < to && cell.end > from)
    cells.push(outside ? { ...cell, outside } : cell)
  }
  const skipped = stated - cells.length
  return { kind, cells, skipped, astray, ...(inner && { last: page.readUInt32BE(at + 8) }) }
}

/** Where the page says that no cell is: between the pointers and the first cell, and in its free blocks. */
function freeRangesOf(page: Buffer, at: number, pointersEnd: number): [number, number][] {
  const ranges: [number, number][] = [[0, pointersEnd]]
  const first = page.readUInt16BE(at + 5) || 65_536
  if (first > pointersEnd) ranges.push([pointersEnd, first])
  let block = page.readUInt16BE(at + 1)
  let passed = 0
  while (block > passed && block + 4 <= page.length) {
    ranges.push([block, block + page.readUInt16BE(block + 2)])
    passed = block
    block = page.readUInt16BE(block)
  }
  return ranges
}

function cellAt(
  pages: Pages,
  page: Buffer,
  { start, kind, astray }: { start: number; kind: PageKind; astray: number[] },
): Cell | undefined {
  const reader = { bytes: page, at: start }
  const inner = kind === 'index-inner' || kind === 'table-inner'
  const child = inner ? readPageNumber(reader) : undefined
  if (inner && child === undefined) return undefined
  const base = { start, outside: false, overflow: NONE, ...(child !== undefined && { child }) }
  if (kind === 'table-inner') {
    const rowid = readVarint(reader)
    return rowid === undefined ? undefined : { ...base, rowid, values: [], end: reader.at }
  }
  const length = readVarint(reader)
  const rowid = kind === 'table-leaf' ? readVarint(reader) : undefined
  if (length === undefined || (kind === 'table-leaf' && rowid === undefined)) return undefined
  const local = localBytes(length, page.length, kind)
  const localEnd = reader.at + local
  const end = local < length ? localEnd + 4 : localEnd
  if (end > page.length) return undefined
  const { payload, overflow } =
    local < length
      ? overflowing(pages, page.subarray(reader.at, end), length)
      : { payload: page.subarray(reader.at, localEnd), overflow: NONE }
  const values = payload && valuesOf(payload)
  if (values === undefined) astray.push(...overflow)
  return values && { ...base, ...(rowid !== undefined && { rowid }), values, end, overflow }
}

/** How many bytes of a payload are on the page of its cell itself. */
function localBytes(length: number, pageBytes: number, kind: PageKind): number {
  const most = kind === 'table-leaf' ? pageBytes - 35 : shareOf(pageBytes, 64)
  if (length <= most) return length
  const least = shareOf(pageBytes, 32)
  const even = least + ((length - least) % (pageBytes - 4)) // leaves no overflow page half full
  return even <= most ? even : least
}

function shareOf(pageBytes: number, parts: number): number {
  return Math.floor(((pageBytes - 12) * parts) / 255) - 23
}

type Payload = Readonly<{ payload?: Buffer; overflow: readonly number[] }>

/**
 * `begin` ends with the number of the first overflow page. Each page of the chain is met once; without a
 * payload it does not end as it should.
 */
function overflowing(pages: Pages, begin: Buffer, length: number): Payload {
  const parts = [begin.subarray(0, -4)]
  const met = new Set<number>()
  let missing = length - (begin.length - 4)
  let next = begin.readUInt32BE(begin.length - 4)
  while (missing > 0) {
    const page = next < 2 || next > pages.count || met.has(next) ? undefined : pages.page(next)
    if (page === undefined) return { overflow: [...met] }
    met.add(next)
    const part = page.subarray(4, 4 + Math.min(missing, page.length - 4))
    parts.push(part)
    missing -= part.length
    next = page.readUInt32BE(0)
  }
  const overflow = [...met]
  return next === 0 ? { payload: Buffer.concat(parts, length), overflow } : { overflow }
}

/** A record: the length of its header, the type of each value, then the values. */
function valuesOf(payload: Buffer): Value[] | undefined {
  const header = { bytes: payload, at: 0 }
  const headerEnd = readVarint(header)
  if (headerEnd === undefined || headerEnd < header.at || headerEnd > payload.length)
    return undefined
  const values: Value[] = []
  let at = headerEnd
  while (header.at < headerEnd) {
    const type = readVarint(header)
    if (type === undefined || header.at > headerEnd || values.length === COLUMNS_MAX)
      return undefined
    const bytes = bytesOf(type)
    if (bytes === undefined || at + bytes > payload.length) return undefined
    values.push(valueAt(payload, at, type))
    at += bytes
  }
  return at === payload.length ? values : undefined
}

function bytesOf(type: number): number | undefined {
  if (type >= 12) return (type - (type % 2) - 12) / 2
  if (type === 7) return 8
  if (type === 8 || type === 9) return 0
  return INTEGER_BYTES[type]
}

function valueAt(payload: Buffer, at: number, type: number): Value {
  if (type >= 12) {
    const end = at + bytesOf(type)!
    return type % 2 === 0 ? payload.subarray(at, end) : payload.toString('utf8', at, end)
  }
  if (type === 0) return null
  if (type === 6) return Number(payload.readBigInt64BE(at))
  if (type === 7) return payload.readDoubleBE(at)
  if (type >= 8) return type - 8
  return payload.readIntBE(at, INTEGER_BYTES[type]!)
}

type Reader = { bytes: Buffer; at: number }

function readPageNumber(reader: Reader): number | undefined {
  if (reader.at + 4 > reader.bytes.length) return undefined
  reader.at += 4
  return reader.bytes.readUInt32BE(reader.at - 4)
}

/** Seven bits a byte, the highest first. The ninth byte would have eight, but none of ours is so long. */
function readVarint(reader: Reader): number | undefined {
  let value = 0
  for (let n = 0; n < 8; n++) {
    const byte = reader.bytes[reader.at]
    if (byte === undefined) return undefined
    reader.at += 1
    value = value * 128 + (byte & 0x7f)
    if (byte < 0x80) return value
  }
  return undefined
}
