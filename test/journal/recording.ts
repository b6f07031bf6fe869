/**
 * What a process did to its files, as the shim wrote it down, and what a power cut would have left.
 *
 * A disk holds what was flushed. What was written since may be there or not, sector by sector and in
 * any order; a name that was made, removed or changed since the directory was flushed may be so or not,
 * but no later change without the earlier ones. What a failed flush should have kept is on no disk, and
 * no later flush brings it back, since the system has taken it for written. All of that is drawn at random, or nothing at all of it
 * is kept, or of it the names alone, which are the worst cases for what was acknowledged.
 */
import assert from 'node:assert/strict'
import {
  closeSync,
  ftruncateSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeSync,
} from 'node:fs'
import { join } from 'node:path'

import type { Random } from '../../src/std/index.ts'

export type Deed =
  | Readonly<{ type: 'write'; path: string; offset: number; data: Buffer }>
  /** Covers the deeds before number `begun`; one that failed has forgotten them for good. */
  | Readonly<{ type: 'sync' | 'failed-sync'; path: string; begun: number }>
  | Readonly<{ type: 'truncate'; path: string; length: number }>
  | Readonly<{ type: 'create' | 'unlink'; path: string }>
  | Readonly<{ type: 'rename'; path: string; to: string }>
  | Readonly<{ type: 'said'; text: string }>

/** How much of what was not flushed is found after the cut: of content and names, or of names alone. */
export type Luck = 'none' | 'names' | 'all' | Random

type Content =
  | Readonly<{ type: 'write'; offset: number; data: Buffer }>
  | Readonly<{ type: 'truncate'; length: number }>
type Naming = Extract<Deed, { type: 'create' | 'unlink' | 'rename' }>

/** The root itself, as a path below it. */
const DIRECTORY = ''
const HEAD_BYTES = 24
const SECTORS = [512, 4_096]
const ZEROS = Buffer.alloc(65_536)

/** Recordings of one process after the other in the same directory, as one. */
export function readRecordings(paths: readonly string[]): Deed[] {
  const deeds: Deed[] = []
  for (const path of paths) deeds.push(...readRecording(path, deeds.length))
  return deeds
}

function readRecording(path: string, first: number): Deed[] {
  const bytes = readFileSync(path)
  const deeds: Deed[] = []
  for (let at = 0; at + HEAD_BYTES <= bytes.length;) {
    const [op, pathLength, dataLength, begun] = [0, 4, 8, 12].map((n) => bytes.readUInt32LE(at + n))
    const offset = Number(bytes.readBigUInt64LE(at + 16))
    const pathAt = at + HEAD_BYTES
    const dataAt = pathAt + pathLength!
    at = dataAt + dataLength!
    if (at > bytes.length) break // it was killed while this was written
    const name = bytes.toString('utf8', pathAt, dataAt).replace(/^\//, '')
    deeds.push(deedOf(op!, name, bytes.subarray(dataAt, at), offset, first + begun!))
  }
  return deeds
}

function deedOf(op: number, path: string, data: Buffer, offset: number, begun: number): Deed {
  switch (op) {
    case 1:
      return { type: 'write', path, offset, data }
    case 2:
      return { type: 'sync', path, begun }
    case 3:
      return { type: 'truncate', path, length: offset }
    case 4:
      return { type: 'create', path }
    case 5:
      return { type: 'unlink', path }
    case 6:
      return { type: 'rename', path, to: data.toString().replace(/^\//, '') }
    case 7:
      return { type: 'said', text: data.toString() }
    case 8:
      return { type: 'failed-sync', path, begun }
    default:
      throw new Error(`a recording has no deed ${op}`)
  }
}

/** A disk to which recorded deeds are done one by one, and that can be cut off after any. */
export class RecordedDisk {
  /** The files by their names of this moment, and by those that are safe. */
  readonly #names = new Map<string, DiskFile>()
  #safeNames = new Map<string, DiskFile>()
  readonly #namings: { number: number; deed: Naming; file: DiskFile }[] = []
  #number = 0

  /** `directory` is what was there, and safe, when the recording began. */
  constructor(directory: string) {
    for (const name of readdirSync(directory)) {
      if (name.endsWith('-shm')) continue
      this.#names.set(name, new DiskFile(readFileSync(join(directory, name))))
    }
    this.#safeNames = new Map(this.#names)
  }

  do(deed: Deed): void {
    const number = this.#number++
    switch (deed.type) {
      case 'write':
      case 'truncate':
        this.#file(deed.path).pending.push({ number, content: deed })
        break
      case 'sync':
        if (deed.path === DIRECTORY) this.#settleNames(deed.begun)
        else this.#file(deed.path).settle(deed.begun)
        break
      case 'failed-sync':
        if (deed.path !== DIRECTORY) this.#file(deed.path).forget(deed.begun)
        break
      case 'create':
      case 'unlink':
      case 'rename': {
        const file = deed.type === 'create' ? new DiskFile(Buffer.alloc(0)) : this.#file(deed.path)
        this.#namings.push({ number, deed, file })
        rename(this.#names, deed, file)
        break
      }
      case 'said':
        break
      default:
        deed satisfies never
    }
  }

  /** Writes to `directory` what is found there once power is back. */
  cut(directory: string, luck: Luck): void {
    const names = new Map(this.#safeNames)
    const kept = amount(luck, this.#namings.length)
    for (const { deed, file } of this.#namings.slice(0, kept)) rename(names, deed, file)
    rmSync(directory, { recursive: true, force: true })
    mkdirSync(directory)
    for (const [name, file] of names) writeSparse(join(directory, name), file.after(luck))
  }

  #file(path: string): DiskFile {
    const file = this.#names.get(path)
    assert.ok(file !== undefined, `the recording has no file '${path}'`)
    return file
  }

  #settleNames(begun: number): void {
    while (this.#namings.length > 0 && this.#namings[0]!.number < begun) {
      const { deed, file } = this.#namings.shift()!
      rename(this.#safeNames, deed, file)
    }
  }
}

class DiskFile {
  #safe: Bytes
  pending: { number: number; content: Content }[] = []

  constructor(safe: Buffer) {
    this.#safe = new Bytes(safe)
  }

  settle(begun: number): void {
    for (const { number, content } of this.pending) if (number < begun) this.#safe.apply(content)
    this.forget(begun)
  }

  forget(begun: number): void {
    this.pending = this.pending.filter(({ number }) => number >= begun)
  }

  after(luck: Luck): Buffer {
    if (luck === 'none' || luck === 'names' || this.pending.length === 0) return this.#safe.buffer
    const found = new Bytes(Buffer.from(this.#safe.buffer))
    const contents = this.pending.map(({ content }) => content)
    if (luck === 'all') for (const content of contents) found.apply(content)
    else for (const content of survivors(contents, luck)) found.apply(content)
    return found.buffer
  }
}

class Bytes {
  #held: Buffer
  #length: number

  constructor(bytes: Buffer) {
    this.#held = bytes
    this.#length = bytes.length
  }

  get buffer(): Buffer {
    return this.#held.subarray(0, this.#length)
  }

  apply(content: Content): void {
    if (content.type === 'truncate') return this.#resize(content.length)
    const end = content.offset + content.data.length
    if (end > this.#length) this.#resize(end)
    content.data.copy(this.#held, content.offset)
  }

  #resize(length: number): void {
    if (length > this.#held.length) {
      const larger = Buffer.alloc(Math.max(length, this.#held.length * 2))
      this.#held.copy(larger, 0, 0, this.#length)
      this.#held = larger
    } else if (length > this.#length) this.#held.fill(0, this.#length, length)
    this.#length = length
  }
}

/** Either the first few and a part of the next, or each sector by itself. */
function survivors(contents: readonly Content[], dice: Random): Content[] {
  const sector = dice.pick(SECTORS)
  if (dice.below(2) === 0) {
    const whole = dice.below(contents.length + 1)
    const torn = contents.slice(whole, whole + 1).flatMap((content) => sectorsOf(content, sector))
    return [...contents.slice(0, whole), ...torn.slice(0, dice.below(torn.length + 1))]
  }
  const chance = dice.next()
  return contents.flatMap((content) =>
    sectorsOf(content, sector).filter(() => dice.next() < chance),
  )
}

function sectorsOf(content: Content, sector: number): Content[] {
  if (content.type === 'truncate') return [content]
  const { offset, data } = content
  const parts: Content[] = []
  for (let at = 0; at < data.length;) {
    const end = Math.min(data.length, at + sector - ((offset + at) % sector))
    parts.push({ type: 'write', offset: offset + at, data: data.subarray(at, end) })
    at = end
  }
  return parts
}

function rename(names: Map<string, DiskFile>, deed: Naming, file: DiskFile): void {
  if (deed.type !== 'create') names.delete(deed.path)
  if (deed.type === 'create') names.set(deed.path, file)
  if (deed.type === 'rename') names.set(deed.to, file)
}

function amount(luck: Luck, most: number): number {
  if (luck === 'none') return 0
  return typeof luck === 'string' ? most : luck.below(most + 1)
}

/** What is all zeros takes no time and no room. */
function writeSparse(path: string, bytes: Buffer): void {
  const fd = openSync(path, 'w')
  ftruncateSync(fd, bytes.length)
  for (let at = 0; at < bytes.length; at += ZEROS.length) {
    const block = bytes.subarray(at, at + ZEROS.length)
    if (block.compare(ZEROS, 0, block.length) !== 0) writeSync(fd, block, 0, block.length, at)
  }
  closeSync(fd)
}
