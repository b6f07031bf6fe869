/**
 * The intake: two files that a group of batches is written to and flushed, before it is answered.
 *
 *   a  [group 7][group 8][group 9]....     full: its groups are filed into the tables
 *   b  [group 10][group 11]...........     written to, until it is full and `a` is free again
 *
 * A group is one write and one flush. The files are grown once and written over from then on, since
 * growing a file makes each flush dearer. Nothing is ever cut off or marked: which groups count is
 * told by their numbers alone. Those up to `anchor.filed` are in the tables; those behind it must be
 * there without a gap, because a group is flushed before the next is written. So where one is missing
 * and a later one is there, it was lost to damage; and whatever comes last and does not check out is a
 * write that a crash cut short, which was never answered.
 *
 * Each opening makes files of its own. Whoever had the directory before may still write to the old
 * ones, and harms nobody: they are sealed, which is to say renamed, before they are read, and a group
 * that was flushed to a sealed file is not answered. Their name has the token of the opening, and the salt that each of their
 * groups begins with: no payload can pass for a group, because nobody outside knows the salt.
 */
import {
  closeSync,
  existsSync,
  fdatasyncSync,
  fsyncSync,
  ftruncateSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  unlinkSync,
  writeSync,
} from 'node:fs'
import { join, resolve } from 'node:path'
import { crc32 } from 'node:zlib'
import { GROUP_CRC_BYTES, GROUP_HEADER_BYTES } from './frame.ts'

export type Group = Readonly<{
  /** 1, 2, 3 … over the whole life of a journal. */
  number: number
  /** When its answers were given. */
  at: number
  /** The position before its first event. */
  position: number
  /** How many entries there are. */
  count: number
  /** All of it: the entries stand between the header and the crc. */
  bytes: Buffer
}>

/** What a file has before it is first written to; a group that is larger than that has one alone. */
export const INTAKE_FILE_BYTES = 4_194_304

const SALT_BYTES = 8
const FILL_BYTES = 1_048_576
const PROBE_BYTES = 4_096
/** What the name of a sealed file ends with. */
const SEALED = '.sealed'
const NAME = /^intake-(\d+)-([0-9a-f]{16})-[ab](?:\.sealed)?$/

/** Fills in what stands around the entries. */
export function sealGroup(bytes: Buffer, salt: Buffer, head: Omit<Group, 'bytes'>): void {
  salt.copy(bytes)
  bytes.writeUInt32LE(bytes.length, SALT_BYTES)
  bytes.writeUInt32LE(head.count, SALT_BYTES + 4)
  bytes.writeDoubleLE(head.number, SALT_BYTES + 8)
  bytes.writeDoubleLE(head.at, SALT_BYTES + 16)
  bytes.writeDoubleLE(head.position, SALT_BYTES + 24)
  const end = bytes.length - GROUP_CRC_BYTES
  bytes.writeUInt32LE(crc32(bytes.subarray(0, end)), end)
}

/** The group that stands at `offset`, if one does and all of it is right. */
export function groupAt(bytes: Buffer, offset: number, salt: Buffer): Group | undefined {
  if (offset + GROUP_HEADER_BYTES + GROUP_CRC_BYTES > bytes.length) return undefined
  if (salt.compare(bytes, offset, offset + SALT_BYTES) !== 0) return undefined
  const length = bytes.readUInt32LE(offset + SALT_BYTES)
  if (length < GROUP_HEADER_BYTES + GROUP_CRC_BYTES || offset + length > bytes.length)
    return undefined
  const end = offset + length - GROUP_CRC_BYTES
  if (crc32(bytes.subarray(offset, end)) !== bytes.readUInt32LE(end)) return undefined
  return {
    number: bytes.readDoubleLE(offset + SALT_BYTES + 8),
    at: bytes.readDoubleLE(offset + SALT_BYTES + 16),
    position: bytes.readDoubleLE(offset + SALT_BYTES + 24),
    count: bytes.readUInt32LE(offset + SALT_BYTES + 4),
    bytes: bytes.subarray(offset, offset + length),
  }
}

export type Found = Readonly<{
  /** Behind `filed`, in their order, up to the first that is missing. */
  groups: readonly Group[]
  /** The number of a group that was answered once and is not there, where there is one. */
  missing?: number
  /** Groups behind the missing one. */
  stranded: readonly Group[]
}>

/** What an intake holds that is not in tables which were filed up to group `filed`. */
export function readIntake(directory: string, filed: number): Found {
  const byNumber = new Map<number, Group>()
  for (const { path, salt } of latest(directory))
    for (const group of groupsIn(readFileSync(path), salt))
      if (group.number > filed) byNumber.set(group.number, group)
  const found = [...byNumber.values()].toSorted((a, b) => a.number - b.number)
  const gap = found.findIndex(({ number }, index) => number !== filed + 1 + index)
  if (gap === -1) return { groups: found, stranded: [] }
  return { groups: found.slice(0, gap), missing: filed + 1 + gap, stranded: found.slice(gap) }
}

/** Tells whoever still writes to the files of earlier openings that they have lost the directory. */
export function sealIntake(directory: string): void {
  for (const { path } of intakeFiles(directory))
    if (!path.endsWith(SEALED)) renameSync(path, path + SEALED)
}

/** Removes the files of all openings before that of `token`. */
export function removeIntake(directory: string, token: number): void {
  for (const file of intakeFiles(directory)) if (file.token < token) unlinkSync(file.path)
}

/** The files that the writer of one opening fills by turns. */
export class Intake {
  readonly salt: Buffer
  readonly #paths: readonly string[]
  readonly #files: readonly number[]
  readonly #fileBytes: number
  /** The number of the last group in each. */
  readonly #last = [0, 0]
  #current = 0
  #end = 0

  constructor(
    directory: string,
    token: number,
    salt: string,
    fileBytes: number = INTAKE_FILE_BYTES,
  ) {
    this.#fileBytes = fileBytes
    this.salt = Buffer.from(salt, 'hex')
    const paths = ['a', 'b'].map((file) => resolve(directory, `intake-${token}-${salt}-${file}`))
    this.#paths = paths
    try {
      this.#files = paths.map((path) => filled(path, fileBytes))
      syncDirectory(directory)
    } catch (error) {
      for (const path of paths) rmSync(path, { force: true })
      throw error
    }
  }

  /** Whether a group of so many bytes is for the file that is written to. */
  hasRoom(bytes: number): boolean {
    return this.#end === 0 || this.#end + bytes <= this.#fileBytes
  }

  /** The group up to which the tables must be filed before the other file can be written over. */
  get lastOfOther(): number {
    return this.#last[1 - this.#current]!
  }

  /**
   * Whether somebody else has the directory, who may have read what was written last or not. The file
   * is not asked for its mode or anything else that comes with its times: Linux would date the next
   * write more finely for it, which makes its flush dearer by half.
   */
  get isSealed(): boolean {
    return !existsSync(this.#paths[this.#current]!)
  }

  /** From here on the other file is written to. */
  turn(): void {
    this.#current = 1 - this.#current
    this.#end = 0
    // What a large group has made longer gets its length back.
    ftruncateSync(this.#files[this.#current]!, this.#fileBytes)
  }

  /** Without the flush that must follow it has done nothing, even where it throws half way. */
  write(bytes: Buffer): void {
    const file = this.#files[this.#current]!
    let written = 0
    while (written < bytes.length)
      written += writeSync(file, bytes, written, bytes.length - written, this.#end + written)
  }

  /** Makes what was written last durable, as group `number`. If this throws, nobody knows. */
  flush(number: number, bytes: number): void {
    fdatasyncSync(this.#files[this.#current]!)
    this.#last[this.#current] = number
    this.#end += bytes
  }

  /** Finds out whether there is room: what it writes is no group. */
  probe(): void {
    const file = this.#files[this.#current]!
    writeSync(file, Buffer.alloc(PROBE_BYTES), 0, PROBE_BYTES, this.#end)
    fdatasyncSync(file)
  }

  close(): void {
    for (const file of this.#files) closeSync(file)
  }
}

function filled(path: string, bytes: number): number {
  const file = openSync(path, 'wx+')
  const zeros = Buffer.alloc(Math.min(bytes, FILL_BYTES))
  for (let at = 0; at < bytes; at += zeros.length) writeSync(file, zeros, 0, zeros.length, at)
  fsyncSync(file)
  return file
}

function syncDirectory(directory: string): void {
  const descriptor = openSync(directory, 'r')
  fsyncSync(descriptor)
  closeSync(descriptor)
}

function* groupsIn(bytes: Buffer, salt: Buffer): Iterable<Group> {
  let at = 0
  while (at !== -1) {
    const group = groupAt(bytes, at, salt)
    if (group !== undefined) yield group
    at = group === undefined ? bytes.indexOf(salt, at + 1) : at + group.bytes.length
  }
}

type IntakeFile = Readonly<{ path: string; token: number; salt: Buffer }>

/** All that counted was filed before an opening made files of its own. */
function latest(directory: string): IntakeFile[] {
  const files = intakeFiles(directory)
  const token = Math.max(...files.map((file) => file.token))
  return files.filter((file) => file.token === token)
}

function intakeFiles(directory: string): IntakeFile[] {
  return readdirSync(directory).flatMap((name) => {
    const [, token, salt] = NAME.exec(name) ?? []
    if (token === undefined || salt === undefined) return []
    return [{ path: join(directory, name), token: Number(token), salt: Buffer.from(salt, 'hex') }]
  })
}
