/**
 * The pages of a SQLite file as its bytes give them, without SQLite: what repair reads when SQLite
 * itself refuses, and how a damaged log is told from one that a crash cut short.
 *
 * The log (`-wal`) holds whole pages, each in a frame whose checksum goes on from the frame before it.
 * Its frames up to the last commit mark that checks out are laid over the file, as SQLite does it.
 * SQLite drops the rest without a word. Here it is looked at: a frame that does not check out although
 * later transactions follow it was durable once, because a transaction is flushed before the next one
 * begins. So that log is damaged, and all of it is laid over the file, the frames that do not check out
 * too: each row says for itself whether it is right. If nothing follows, nobody can tell damage from a
 * write that a crash cut short, and such a write was never acknowledged.
 *
 * Whatever the bytes say, nothing here throws and nothing runs on for ever.
 */
import { closeSync, fstatSync, openSync, readSync } from 'node:fs'

/** A file, or an image of one in memory. What lies beyond its end is missing, not an error. */
export interface Bytes {
  readonly size: number
  read(offset: number, length: number): Buffer
  close(): void
}

/**
 *   none     there is no log, or nothing was committed to it
 *   whole    it ends where its last transaction ends
 *   torn     behind its last whole transaction there is one that does not check out
 *   damaged  behind its last whole transaction there are several: SQLite would forget them
 */
export type LogState = Readonly<{
  type: 'none' | 'whole' | 'torn' | 'damaged'
  /** The first frame that does not check out, from 0, where there is one. */
  frame?: number
}>

export interface Pages {
  readonly pageBytes: number
  readonly count: number
  readonly log: LogState
  /** The latest version of a page, numbered from 1, as far as the file reaches. */
  page(number: number): Buffer | undefined
  /**
   * Other versions of pages than the latest: those in the file, which are later where the log was cut,
   * and those behind frames that do not check out and may not be of that page at all.
   */
  hidden(): Iterable<Buffer>
  /** Where the log is torn: with the transaction that is not whole, for whoever knows that it was once. */
  withTorn(): Pages
  /** Those of the file, for whoever knows that it is later than its log, which is hidden then. */
  withoutLog(): Pages
}

const PAGE_BYTES_MIN = 512
const PAGE_BYTES_MAX = 65_536
const MAGIC = 'SQLite format 3\0'
const LOG_MAGIC = 0x377f0682 // its last bit says in which order of bytes the checksums are computed
const LOG_HEADER_BYTES = 32
const FRAME_HEADER_BYTES = 24
/** How much of a file is looked at to find out how large its pages are. */
const SAMPLE_BYTES = 16_777_216
const PAGE_KINDS: ReadonlySet<number> = new Set([0x02, 0x05, 0x0a, 0x0d])

export function fileBytes(path: string): Bytes {
  const descriptor = openSync(path, 'r')
  return {
    size: fstatSync(descriptor).size,
    read(offset, length) {
      const bytes = Buffer.allocUnsafe(length)
      let filled = 0
      while (filled < length) {
        const read = readSync(descriptor, bytes, filled, length - filled, offset + filled)
        if (read === 0) break
        filled += read
      }
      return bytes.subarray(0, filled)
    },
    close: () => closeSync(descriptor),
  }
}

export function imageBytes(image: Buffer): Bytes {
  return {
    size: image.length,
    read: (offset, length) => image.subarray(offset, offset + length),
    close() {},
  }
}

export function readPages(file: Bytes, log: Bytes = imageBytes(Buffer.alloc(0))): Pages {
  const pageBytes = pageBytesOf(file) ?? pageBytesOfLog(log) ?? likelyPageBytes(file)
  return laid(false)

  function laid(isTornLaid: boolean): Pages {
    const pagesInFile = Math.ceil(file.size / pageBytes)
    const overlay = readLog(log, { pageBytes, pagesInFile, isTornLaid })
    return {
      pageBytes,
      count: Math.max(pagesInFile, overlay.pages),
      log: overlay.state,
      page: (number) => version(number, overlay.latest.get(number)),
      *hidden() {
        for (const number of overlay.latest.keys()) {
          const page = version(number, undefined)
          if (page !== undefined) yield page
        }
        for (const offset of overlay.hidden) yield log.read(offset, pageBytes)
      },
      withTorn: () => laid(true),
      withoutLog: () => alone(overlay),
    }
  }

  function alone(overlay: Overlay): Pages {
    return {
      pageBytes,
      count: Math.ceil(file.size / pageBytes),
      log: overlay.state,
      page: (number) => version(number, undefined),
      *hidden() {
        for (const offset of [...overlay.latest.values(), ...overlay.hidden])
          yield log.read(offset, pageBytes)
      },
      withTorn: () => laid(true),
      withoutLog: () => alone(overlay),
    }
  }

  function version(number: number, offset: number | undefined): Buffer | undefined {
    if (number < 1) return undefined
    const page =
      offset === undefined
        ? file.read((number - 1) * pageBytes, pageBytes)
        : log.read(offset, pageBytes)
    if (page.length === 0) return undefined
    return page.length === pageBytes ? page : Buffer.concat([page], pageBytes) // cut within a page
  }
}

/** Whether it begins as the first page of every SQLite file does. */
export function isFirstPage(page: Buffer): boolean {
  return page.toString('latin1', 0, MAGIC.length) === MAGIC
}

function pageBytesOf(file: Bytes): number | undefined {
  const header = file.read(0, 18)
  if (header.length < 18 || !isFirstPage(header)) return undefined
  const stated = header.readUInt16BE(16)
  return possible(stated === 1 ? PAGE_BYTES_MAX : stated)
}

function pageBytesOfLog(log: Bytes): number | undefined {
  const header = log.read(0, 12)
  if (header.length < 12 || (header.readUInt32BE(0) & ~1) >>> 0 !== LOG_MAGIC) return undefined
  return possible(header.readUInt32BE(8))
}

function possible(bytes: number): number | undefined {
  const power = bytes > 0 && (bytes & (bytes - 1)) === 0
  return power && bytes >= PAGE_BYTES_MIN && bytes <= PAGE_BYTES_MAX ? bytes : undefined
}

/** The size at whose multiples most pages stand; the first one is the one that is damaged. */
function likelyPageBytes(file: Bytes): number {
  const sample = file.read(0, Math.min(file.size, SAMPLE_BYTES))
  let likely = { bytes: PAGE_BYTES_MIN, pages: -1 }
  for (let bytes = PAGE_BYTES_MIN; bytes <= PAGE_BYTES_MAX; bytes *= 2) {
    let pages = 0
    for (let at = bytes; at + bytes <= sample.length; at += bytes)
      if (looksLikePage(sample.subarray(at, at + bytes))) pages += 1
    if (pages > likely.pages) likely = { bytes, pages }
  }
  return likely.bytes
}

/** It is part of a tree, and all its cells are on it; where it has none, it says how long it is. */
function looksLikePage(page: Buffer): boolean {
  if (!PAGE_KINDS.has(page[0]!)) return false
  const pointers = page[0]! < 0x0a ? 12 : 8
  const count = page.readUInt16BE(3)
  const first = page.readUInt16BE(5) || PAGE_BYTES_MAX
  if (count === 0) return first === page.length
  if (pointers + 2 * count > first) return false
  for (let n = 0; n < count; n++) {
    const at = page.readUInt16BE(pointers + 2 * n)
    if (at < first || at >= page.length) return false
  }
  return true
}

type Overlay = Readonly<{
  state: LogState
  /** Where in the log the latest version of a page is. */
  latest: ReadonlyMap<number, number>
  /**
   * Where in the log the versions are that a frame took the place of which does not check out, and those
   * that do not say which page they are.
   */
  hidden: readonly number[]
  /** How many pages the file has after the last commit. */
  pages: number
}>

type LogOptions = Readonly<{ pageBytes: number; pagesInFile: number; isTornLaid: boolean }>

type Frame = Readonly<{
  page: number
  /** How many pages the file has after the transaction that ends here; 0 where none ends. */
  mark: number
  offset: number
  /** It has the salt of the present use of the log; others were left by an earlier one, or are damaged. */
  current: boolean
  /** And its checksum goes on from that of the frame before. */
  right: boolean
}>

function readLog(log: Bytes, { pageBytes, pagesInFile, isTornLaid }: LogOptions): Overlay {
  const header = log.read(0, LOG_HEADER_BYTES)
  const whole = headerIsWhole(header, pageBytes)
  const frames = [...framesOf(log, { pageBytes, ...(whole && { header }) })]

  const broken = whole ? frames.findIndex(({ right }) => !right) : 0
  const sound = broken === -1 ? frames.length : broken
  const rest = frames.slice(sound)
  const marks = rest.filter(
    ({ mark, current, right }, n) => mark > 0 && (right || (current && n === 0)),
  )
  const damaged = rest.some(({ right }) => right) && marks.length >= (whole ? 2 : 1)

  const end =
    1 +
    frames.findLastIndex(({ right, mark, current }, n) =>
      isTornLaid ? current : right && mark > 0 && (damaged || n < sound),
    )
  const pages = isTornLaid ? reachOf(frames, pagesInFile) : (frames[end - 1]?.mark ?? 0)
  const latest = new Map<number, number>()
  const hidden: number[] = []
  for (const frame of frames.slice(0, end)) {
    const offset = latest.get(frame.page)
    if (!frame.right && offset !== undefined) hidden.push(offset)
    if (frame.right || isPossible(frame)) latest.set(frame.page, frame.offset)
    else hidden.push(frame.offset)
  }
  const torn = !damaged && frames.slice(isTornLaid ? sound : end).some(({ current }) => current)
  const type = damaged ? 'damaged' : torn ? 'torn' : end > 0 ? 'whole' : 'none'
  return {
    state: (damaged || torn) && broken !== -1 ? { type, frame: sound } : { type },
    latest,
    hidden,
    pages,
  }

  function isPossible({ page }: Frame): boolean {
    return page >= 1 && page <= Math.max(pages, pagesInFile)
  }
}

/**
 * How many pages there are when all frames are laid. A frame that is as it was does not check out behind one
 * that is not; but whatever page it says, every page behind the file has a frame.
 */
function reachOf(frames: readonly Frame[], pagesInFile: number): number {
  const pagesMax = pagesInFile + frames.length
  let most = 0
  for (const { current, page } of frames)
    if (current && page <= pagesMax) most = Math.max(most, page)
  return most
}

function headerIsWhole(header: Buffer, pageBytes: number): boolean {
  return (
    header.length === LOG_HEADER_BYTES &&
    (header.readUInt32BE(0) & ~1) >>> 0 === LOG_MAGIC &&
    header.readUInt32BE(8) === pageBytes &&
    same(sumOf(header.subarray(0, 24), { a: 0, b: 0 }, littleEndian(header)), sumAt(header, 24))
  )
}

/** Where the header cannot be trusted, as most machines have it. */
function littleEndian(header?: Buffer): boolean {
  return header === undefined || (header[3]! & 1) === 0
}

/** Without a header that can be trusted the first frames give the salt. */
function* framesOf(log: Bytes, options: { pageBytes: number; header?: Buffer }): Generator<Frame> {
  const frameBytes = FRAME_HEADER_BYTES + options.pageBytes
  const count = Math.floor((log.size - LOG_HEADER_BYTES) / frameBytes)
  const order = littleEndian(options.header)
  const salt = options.header?.subarray(16, 24) ?? saltOf(log, frameBytes, count)
  let before: readonly Sum[] = options.header === undefined ? [] : [sumAt(options.header, 24)]
  for (let n = 0; n < count; n++) {
    const offset = LOG_HEADER_BYTES + n * frameBytes
    const header = log.read(offset, FRAME_HEADER_BYTES)
    const stated = sumAt(header, 16)
    const current = header.compare(salt, 0, 8, 8, 16) === 0
    const content = log.read(offset + FRAME_HEADER_BYTES, current ? options.pageBytes : 0)
    const sums = before.map((from) =>
      sumOf(content, sumOf(header.subarray(0, 8), from, order), order),
    )
    const right = current && sums.some((sum) => same(sum, stated))
    // Either the frame is damaged or the sum it states is: the next one may go on from both.
    before = right || !current ? [stated] : [stated, ...sums.slice(0, 1)]
    const [page, mark] = [header.readUInt32BE(0), header.readUInt32BE(4)]
    yield { page, mark, offset: offset + FRAME_HEADER_BYTES, current, right }
  }
}

/** The one that two frames in a row have: damage to the header may reach into the first frame. */
function saltOf(log: Bytes, frameBytes: number, count: number): Buffer {
  let before = Buffer.alloc(0)
  for (let n = 0; n < count; n++) {
    const header = log.read(LOG_HEADER_BYTES + n * frameBytes, FRAME_HEADER_BYTES)
    const salt = header.subarray(8, 16)
    if (salt.equals(before) || count === 1) return Buffer.from(salt)
    before = Buffer.from(salt)
  }
  return before
}

type Sum = Readonly<{ a: number; b: number }>

function sumOf(bytes: Buffer, from: Sum, little: boolean): Sum {
  let { a, b } = from
  for (let at = 0; at + 8 <= bytes.length; at += 8) {
    const one = little ? bytes.readUInt32LE(at) : bytes.readUInt32BE(at)
    const two = little ? bytes.readUInt32LE(at + 4) : bytes.readUInt32BE(at + 4)
    a = (a + one + b) >>> 0
    b = (b + two + a) >>> 0
  }
  return { a, b }
}

function sumAt(bytes: Buffer, at: number): Sum {
  return { a: bytes.readUInt32BE(at), b: bytes.readUInt32BE(at + 4) }
}

function same(one: Sum, other: Sum): boolean {
  return one.a === other.a && one.b === other.b
}
