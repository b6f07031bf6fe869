/**
 * The thread that owns the tables: it lays groups on the desk, files them, and answers reads.
 *
 *   a group comes      it is on the desk, and read from there
 *   the writer turns   what the writer will want to write over is filed, a step at a time
 *   nothing comes      everything is filed
 *
 * Before a question is answered, all groups are laid whose commits may have been answered, so whoever was
 * answered and asks then reads what was committed. Between two
 * steps some questions are answered, never all that may come: who reads without end must not keep
 * groups from being filed.
 */
import { receiveMessageOnPort, workerData, type MessagePort } from 'node:worker_threads'
import { Accident, fault, systemClock, unreachable } from '../../std/index.ts'
import { readOnly, unknownOutcome } from '../accidents.ts'
import { READ_LIMIT_MAX } from '../journal.ts'
import { damaged } from './damage.ts'
import { isContradiction, isCorrupt, isFull } from './errors.ts'
import type { Filing } from './filing.ts'
import { removeIntake } from './intake.ts'
import { openDirectory, type Opened } from './opening.ts'
import {
  done,
  faultOf,
  post,
  STATUS,
  Words,
  type FromFiler,
  type Read,
  type Start,
  type ToFiler,
} from './wire.ts'

export type FilerData = Readonly<{
  directory: string
  retentionMs: number
  words: SharedArrayBuffer
  main: MessagePort
  writer: MessagePort
}>

/** Without anything new for so long, what is on the desk is filed. */
const IDLE_MS = 10
/** How long a filer without room on the disk waits before it tries again. */
const RETRY_MS = 250
/** Items of one step, which takes about a millisecond. */
const STEP_ITEMS = 256
/** Questions that are answered between two steps. */
const QUESTIONS = 16

class Filer {
  readonly #words: Words
  readonly #main: MessagePort
  readonly #writer: MessagePort
  readonly #opened: Opened
  readonly #filing: Filing
  readonly #directory: string
  readonly #retentionMs: number
  /** The group up to which there is filing to do. */
  #target = 0
  /** When to try again after there was no room. */
  #retryMs = 0
  #isClosing = false

  constructor({ directory, words, main, writer, retentionMs }: FilerData, opened: Opened) {
    this.#directory = directory
    this.#words = new Words(words)
    this.#main = main
    this.#writer = writer
    this.#opened = opened
    this.#filing = opened.filing
    this.#retentionMs = retentionMs
  }

  run(): void {
    this.#begin()
    while (!this.#isClosing) {
      const seen = this.#words.filerSeen
      const hasCome = this.#takeIn()
      this.#retry()
      if (this.#hasWork()) this.#step()
      else if (!hasCome) this.#rest(seen)
    }
    this.#end()
  }

  #begin(): void {
    const { filing, token, damage } = this.#opened
    const { position, last: number } = filing
    this.#words.filed = number
    this.#words.flushes = filing.flushes
    if (damage === undefined) {
      const start: Start = { type: 'start', token, position, number, at: filing.lastAt() }
      post(this.#writer, start)
      this.#words.wakeWriter()
    } else this.#words.status = STATUS.damaged
    this.#say({ type: 'opened', ...(damage && { damage: damage.fault }) })
  }

  #takeIn(): boolean {
    let hasCome = this.#takeGroups()
    for (let n = 0; n < QUESTIONS; n++) {
      const received = receiveMessageOnPort(this.#main)
      if (received === undefined) break
      hasCome = true
      this.#takeAnswered()
      this.#take(received.message)
    }
    return hasCome
  }

  #takeGroups(): boolean {
    let hasCome = false
    for (;;) {
      const received = receiveMessageOnPort(this.#writer)
      if (received === undefined) return hasCome
      hasCome = true
      this.#take(received.message)
    }
  }

  /** The writer answers a group before it posts it: what is not here yet will be in a moment. */
  #takeAnswered(): void {
    const { answered } = this.#words
    this.#takeGroups()
    if (this.#filing.last >= answered) return
    this.#words.isFilerResting = true
    for (;;) {
      const seen = this.#words.filerSeen
      this.#takeGroups()
      if (this.#filing.last >= answered) break
      this.#words.filerSleep(seen, Infinity)
    }
    this.#words.isFilerResting = false
  }

  #take(message: ToFiler): void {
    switch (message.type) {
      case 'group': {
        const { buffer, number, at, position, count, wanted } = message
        this.#target = Math.max(this.#target, wanted)
        const group = { number, at, position, count, bytes: Buffer.from(buffer) }
        this.#guard(() => this.#filing.lay(group))
        break
      }
      case 'read':
        this.#answer(message.id, () => this.#read(message.read))
        break
      case 'settle':
        this.#settle(message.id)
        break
      case 'close':
        this.#isClosing = true
        break
      default:
        unreachable(message)
    }
  }

  #settle(id: number): void {
    this.#guard(() => this.#filing.settle())
    this.#tell()
    this.#answer(id, () => {
      if (this.#words.status === STATUS.full) throw readOnly()
      if (this.#words.status !== STATUS.well)
        throw damaged('not everything can be filed into the tables', { table: 'unknown' })
      return undefined
    })
  }

  #answer(id: number, read: () => unknown): void {
    try {
      this.#say({ type: 'answer', id, value: read() })
    } catch (error) {
      const why = faultOf(error, (cause) =>
        damaged(`the tables cannot be read: ${String(cause)}`, { table: 'unknown' }, cause),
      )
      this.#say({ type: 'unanswered', id, fault: why })
    }
  }

  #read(read: Read): unknown {
    const { reading } = this.#filing
    switch (read.type) {
      case 'position':
        return this.#filing.position
      case 'version':
        return reading.version(read.stream)
      case 'stream':
        return reading.stream(read.stream, read.after, read.limit)
      case 'all':
        return reading.all(read.after, read.limit)
      case 'streams':
        return reading.streams(read.prefix, read.after, read.limit)
      case 'records':
        return reading.records(read.collection, read.prefix, read.after, read.limit)
      case 'get':
        return reading.getRecords(read.collection, read.keys)
      case 'lookup':
        return reading.lookup(read.key, read.now, this.#retentionMs)
      case 'snapshots':
        return reading.snapshots(read.stream, read.fold, READ_LIMIT_MAX)
      default:
        return unreachable(read)
    }
  }

  #hasWork(): boolean {
    return this.#words.status === STATUS.well && this.#filing.filed < this.#target
  }

  #step(): void {
    this.#guard(() => {
      if (this.#filing.file(this.#target, STEP_ITEMS)) this.#filing.commit()
    })
    this.#tell()
  }

  #tell(): void {
    const { filed, flushes } = this.#filing
    if (filed > this.#words.filed) this.#words.filed = filed
    this.#words.flushes = flushes
  }

  #rest(seen: number): void {
    const { status } = this.#words
    if (status === STATUS.full)
      this.#words.filerSleep(seen, Math.max(0, this.#retryMs - systemClock.monotonic()))
    else if (status === STATUS.well && this.#filing.filed < this.#filing.last) {
      // Nobody says that a group has come while there is something left to do: a look now and then
      // costs less than being woken for each.
      const isAwake = this.#words.filerSleep(seen, IDLE_MS)
      if (!isAwake && !this.#takeIn()) this.#target = this.#filing.last
    } else {
      this.#words.isFilerResting = true
      if (!this.#takeIn()) this.#words.filerSleep(seen, Infinity)
      this.#words.isFilerResting = false
    }
  }

  /** Looks for room when it is time, however busy the filer is with questions. */
  #retry(): void {
    if (this.#words.status !== STATUS.full || systemClock.monotonic() < this.#retryMs) return
    this.#words.status = STATUS.well
    this.#target = this.#filing.last
  }

  /** What goes wrong with the tables: no room passes, damage stays, anything else ends it all. */
  #guard(work: () => void): void {
    try {
      work()
    } catch (error) {
      if (isFull(error)) {
        this.#filing.undo()
        this.#words.status = STATUS.full
        this.#retryMs = systemClock.monotonic() + RETRY_MS
        return
      }
      const why = faultOf(error, (cause) =>
        damaged(`the tables are damaged: ${String(cause)}`, { table: 'unknown' }, cause),
      )
      const isOther = !(error instanceof Accident) && !isCorrupt(error) && !isContradiction(error)
      if (isOther || why.code !== 'damaged') throw error
      this.#words.status = STATUS.damaged
      this.#say({ type: 'damaged', fault: why })
    }
  }

  /** What cannot be filed stays in the intake, and is filed when the directory is opened again. */
  #end(): void {
    const { database, lock, token } = this.#opened
    if (this.#words.status !== STATUS.damaged) this.#guard(() => this.#filing.settle())
    if (this.#words.status === STATUS.well) removeIntake(this.#directory, token + 1)
    database.close()
    lock.release()
    this.#say({ type: 'closed' })
  }

  #say(message: FromFiler): void {
    post(this.#main, message)
  }
}

const data: FilerData = workerData
begin()

function begin(): void {
  const opened = open()
  if (opened !== undefined)
    try {
      new Filer(data, opened).run()
    } catch (error) {
      new Words(data.words).status = STATUS.failed
      post(data.main, { type: 'failed', fault: faultOf(error, unknownOutcome) })
    }
  done()
}

function open(): Opened | undefined {
  try {
    return openDirectory(data.directory, data.retentionMs)
  } catch (error) {
    const why = isFull(error) ? readOnly() : error
    post(data.main, { type: 'refused', fault: faultOf(why, unopened) })
    return undefined
  }
}

function unopened(cause: unknown): Accident {
  return new Accident(
    fault('journal-closed', `the journal cannot be opened: ${String(cause)}`, {
      directory: data.directory,
      remedy: 'see to the directory, and open it again',
    }),
  )
}
