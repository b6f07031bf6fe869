/**
 * The thread that makes commits durable: it judges what has come, writes what was granted as one group,
 * flushes, answers and hands the group to the filer, in this order. The filer is told beforehand that a
 * group was answered, and answers no question before it has that group.
 *
 *   open --no room for a group--> read-only --there is room--> open
 *     '--a write or a flush fails, or the directory is lost--> failed
 *
 * A group is what has come in the meantime, up to a bound: about as many commits as are filed while
 * it is flushed. More of them would be answered later and filed no sooner. On a fast disk it is as many
 * as keep the flushes below 10 for 1 000 commits.
 */
import { receiveMessageOnPort, workerData, type MessagePort } from 'node:worker_threads'
import { Accident, assert, fault, freshId, systemClock, type Fault } from '../../std/index.ts'
import { readOnly, unknownOutcome } from '../accidents.ts'
import { judge } from '../verdict.ts'
import { isFull } from './errors.ts'
import { FrameReader, type Brief } from './frame-reader.ts'
import { GROUP_CRC_BYTES, GROUP_HEADER_BYTES, setToken } from './frame.ts'
import { Grants } from './grants.ts'
import { Intake, sealGroup } from './intake.ts'
import { taken } from './lock.ts'
import { REPAIR_REMEDY } from './report.ts'
import { DIRECTORY_FENCE } from './schema.ts'
import {
  done,
  faultOf,
  post,
  REFUSED,
  STATUS,
  Words,
  type Ack,
  type FromWriter,
  type Start,
  type ToWriter,
} from './wire.ts'

export type WriterData = Readonly<{
  directory: string
  retentionMs: number
  words: SharedArrayBuffer
  main: MessagePort
  filer: MessagePort
}>

/** Buffers of entries that make a group together, and how they were judged. */
type Group = {
  readonly buffers: Buffer[]
  /** Where the granted entries stand: in which buffer, from where, up to where. */
  readonly ranges: [buffer: Buffer, start: number, end: number][]
  /** How many entries have come, and how many of them were granted. */
  count: number
  kept: number
  bytes: number
  now: number
  position: number
  readonly granted: number[]
  readonly refused: Ack['refused'][number][]
}

/** How long it takes to file a commit: about so many microseconds. */
const FILED_US = 5
const GROUP_COMMITS_MIN = 112
const GROUP_COMMITS_MAX = 4_096
const GROUP_BYTES_MAX = 1_048_576
/** How much the latest flush counts in what a flush is taken to last. */
const FLUSH_WEIGHT = 0.1
/** How long a writer without room waits before it tries again. */
const PROBE_MS = 250
const SALT_DIGITS = 16

class Writer {
  readonly #words: Words
  readonly #main: MessagePort
  readonly #filer: MessagePort
  readonly #grants: Grants
  readonly #intake: Intake
  #number: number
  #position: number
  #at: number
  #released = 0
  /** What the filer was told that will be written over next. */
  #wanted = 0
  #isReadOnly = false
  /** What a group needs that there was no room for, while it is read-only. */
  #refusedBytes = 0
  #isClosing = false
  #flushMs = 0

  constructor({ directory, retentionMs, words, main, filer }: WriterData, start: Start) {
    this.#words = new Words(words)
    this.#main = main
    this.#filer = filer
    this.#number = start.number
    this.#position = start.position
    this.#at = start.at
    const salt = freshId().replaceAll('-', '').slice(0, SALT_DIGITS)
    this.#intake = new Intake(directory, start.token, salt)
    this.#grants = new Grants(directory, retentionMs)
    // Whoever opened the directory before the files were there has sealed others only.
    if (currentToken(this.#grants, start.token) !== start.token) throw taken()
  }

  run(): void {
    this.#say({ type: 'ready' })
    for (;;) {
      const seen = this.#words.writerSeen
      const group = this.#collect()
      if (group.count > 0) this.#work(group)
      else if (this.#isClosing) return this.#end()
      else this.#rest(seen)
    }
  }

  #collect(): Group {
    const group: Group = {
      buffers: [],
      ranges: [],
      count: 0,
      kept: 0,
      bytes: 0,
      now: 0,
      position: this.#position,
      granted: [],
      refused: [],
    }
    const commitsMax = Math.min(
      Math.max((this.#flushMs * 1_000) / FILED_US, GROUP_COMMITS_MIN),
      GROUP_COMMITS_MAX,
    )
    while (group.count < commitsMax && group.bytes < GROUP_BYTES_MAX) {
      const received = receiveMessageOnPort(this.#main)
      if (received === undefined) break
      const message: ToWriter = received.message
      if (message.type === 'close') this.#isClosing = true
      else {
        group.buffers.push(Buffer.from(message.buffer))
        group.count += message.count
        group.bytes += message.buffer.byteLength
        group.now = message.now
      }
    }
    return group
  }

  #work(group: Group): void {
    const number = this.#number + 1
    this.#at = Math.max(this.#at, group.now)
    this.#release()
    this.#grants.begin(number, group.now)
    for (const buffer of group.buffers) this.#judge(group, buffer)
    this.#grants.judged()
    if (group.kept === 0) return this.#answer(group, 0)

    const bytes = assembled(group)
    const position = this.#position
    sealGroup(bytes, this.#intake.salt, {
      number,
      at: this.#at,
      position,
      count: group.kept,
    })
    const refusal = this.#write(number, bytes)
    if (refusal !== undefined) {
      this.#grants.undo()
      return this.#refuse(group, refusal)
    }
    this.#grants.keep()
    this.#number = number
    this.#position = group.position
    // Whoever has the directory may read the group or not, so nobody is answered.
    if (this.#intake.isSealed) throw taken()
    this.#words.answered = number
    this.#answer(group, bytes.length)
    this.#hand(bytes, number, position, group.kept)
  }

  #judge(group: Group, buffer: Buffer): void {
    const end = buffer.length - GROUP_CRC_BYTES
    const reader = new FrameReader(buffer, GROUP_HEADER_BYTES, end)
    while (!reader.isDone) {
      const start = reader.at
      const brief = reader.brief()
      try {
        const verdict =
          brief.type === 'take'
            ? this.#take(group, brief.name, buffer, start)
            : this.#rule(group, brief)
        if (verdict === undefined) keep(group, buffer, start, brief.end)
        else refuse(group, verdict)
      } catch (error) {
        refuse(group, faultOf(error, unknownOutcome))
        if (!(error instanceof Accident)) throw error
      }
    }
  }

  #take(group: Group, name: string, buffer: Buffer, start: number): undefined {
    const token = this.#grants.takeFence(name)
    setToken(buffer, start, token)
    group.granted.push(token, 0)
  }

  #rule(
    group: Group,
    { batch, events }: Extract<Brief, { type: 'batch' }>,
  ): Ack['refused'][number] | undefined {
    const verdict = judge(this.#grants, batch)
    if (verdict !== 'granted') return verdict
    const { streams = [] } = batch
    const versions = streams.map(
      (append) => this.#grants.version(append.stream) + append.events.length,
    )
    group.position += events
    this.#grants.grant(batch, group.position, this.#at)
    group.granted.push(group.position, versions.length, ...versions)
    return undefined
  }

  /** Durable when it returns nothing; otherwise why nothing was kept. */
  #write(number: number, bytes: Buffer): Fault | undefined {
    const intake = this.#intake
    this.#refusedBytes = bytes.length
    if (!intake.hasRoom(bytes.length)) {
      const refusal = this.#awaitRoom()
      if (refusal !== undefined) return refusal
      intake.turn()
    }
    try {
      intake.write(bytes)
    } catch (error) {
      if (isFull(error)) return readOnly().fault
      throw error
    }
    const since = systemClock.monotonic()
    intake.flush(number, bytes.length)
    const tookMs = systemClock.monotonic() - since
    this.#flushMs += (tookMs - this.#flushMs) * FLUSH_WEIGHT
    this.#be('open')
    return undefined
  }

  /** Waits until what would be written over is in the tables; says why if that cannot be. */
  #awaitRoom(): Fault | undefined {
    for (;;) {
      const seen = this.#words.writerSeen
      if (this.#words.filed >= this.#intake.lastOfOther) return undefined
      const { status } = this.#words
      if (status === STATUS.full) return readOnly().fault
      if (status !== STATUS.well) return stopped().fault
      this.#words.writerSleep(seen, Infinity)
    }
  }

  #release(): void {
    const { filed } = this.#words
    if (filed === this.#released) return
    this.#released = filed
    this.#grants.release(filed)
  }

  #hand(bytes: Buffer<ArrayBuffer>, number: number, position: number, count: number): void {
    const wanted = this.#intake.lastOfOther
    const { buffer } = bytes
    const head = { number, at: this.#at, position, count, wanted }
    post(this.#filer, { type: 'group', buffer, ...head }, [buffer])
    if (wanted === this.#wanted) return this.#words.nudgeFiler()
    this.#wanted = wanted
    this.#words.wakeFiler()
  }

  #answer({ granted, refused }: Group, bytes: number): void {
    if (this.#words.status === STATUS.failed) throw stopped()
    this.#say({ type: 'ack', granted, refused, bytes })
  }

  /** Nothing of the group was kept, and what was judged by it does not count either. */
  #refuse({ count }: Group, why: Ack['refused'][number]): void {
    if ('code' in why && why.code === 'read-only') this.#be('read-only')
    const granted = new Array<number>(count).fill(REFUSED)
    const refused = new Array<Ack['refused'][number]>(count).fill(why)
    this.#say({ type: 'ack', granted, refused, bytes: 0 })
  }

  #rest(seen: number): void {
    if (this.#words.writerSleep(seen, this.#isReadOnly ? PROBE_MS : Infinity)) return
    const { lastOfOther } = this.#intake
    if (!this.#intake.hasRoom(this.#refusedBytes) && this.#words.filed < lastOfOther) return
    try {
      this.#intake.probe()
      this.#be('open')
    } catch (error) {
      if (!isFull(error)) throw error
    }
  }

  #be(state: 'open' | 'read-only'): void {
    if (this.#isReadOnly === (state === 'read-only')) return
    this.#isReadOnly = state === 'read-only'
    this.#say({ type: 'state', state })
  }

  #end(): void {
    this.#grants.close()
    this.#intake.close()
    post(this.#filer, { type: 'close' })
    this.#words.wakeFiler()
  }

  #say(message: FromWriter): void {
    post(this.#main, message)
  }
}

const data: WriterData = workerData
begin()

function begin(): void {
  const words = new Words(data.words)
  try {
    created(awaitStart(words)).run()
  } catch (error) {
    words.status = STATUS.failed
    post(data.main, { type: 'failed', fault: faultOf(error, unknownOutcome) })
  }
  done()
}

function created(start: Start): Writer {
  try {
    return new Writer(data, start)
  } catch (error) {
    throw isFull(error) ? readOnly() : error
  }
}

/** A fence that is damaged says nothing; the lock still says whose the directory is. */
function currentToken(grants: Grants, token: number): number {
  try {
    return grants.filedToken(DIRECTORY_FENCE)
  } catch (error) {
    if (error instanceof Accident) return token
    throw error
  }
}

function awaitStart(words: Words): Start {
  for (;;) {
    const seen = words.writerSeen
    const received = receiveMessageOnPort(data.filer)
    if (received !== undefined) return received.message
    words.writerSleep(seen, Infinity)
  }
}

function keep(group: Group, buffer: Buffer, start: number, end: number): void {
  group.kept += 1
  const last = group.ranges.at(-1)
  if (last !== undefined && last[0] === buffer && last[2] === start) last[2] = end
  else group.ranges.push([buffer, start, end])
}

function refuse(group: Group, why: Ack['refused'][number]): void {
  group.granted.push(REFUSED)
  group.refused.push(why)
}

/** The granted entries with room around them. */
function assembled({ buffers, ranges, count, kept }: Group): Buffer<ArrayBuffer> {
  const [first] = buffers
  if (buffers.length === 1 && kept === count && isExact(first!)) return first
  let length = GROUP_HEADER_BYTES + GROUP_CRC_BYTES
  for (const [, start, end] of ranges) length += end - start
  const bytes = Buffer.from(new ArrayBuffer(length))
  let at = GROUP_HEADER_BYTES
  for (const [buffer, start, end] of ranges) at += buffer.copy(bytes, at, start, end)
  assert(at === length - GROUP_CRC_BYTES, 'a group is as long as its entries')
  return bytes
}

function isExact(buffer: Buffer): buffer is Buffer<ArrayBuffer> {
  return buffer.buffer instanceof ArrayBuffer && buffer.buffer.byteLength === buffer.length
}

function stopped(): Accident {
  return new Accident(
    fault('damaged', 'the tables are damaged, nothing is written any more', {
      remedy: REPAIR_REMEDY,
    }),
  )
}
