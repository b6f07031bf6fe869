/**
 * The two threads of a journal, seen from the one that uses it.
 *
 * They keep the process alive only while something is asked of them: whoever waits for an answer gets
 * it, and a program that has forgotten its journal ends. What was accepted is then on disk, and is
 * filed when the directory is opened again.
 */
import { MessageChannel, receiveMessageOnPort, Worker, type MessagePort } from 'node:worker_threads'
import { PRODUCT } from '../../std/index.ts'
import type { FilerData } from './filer.ts'
import {
  post,
  Words,
  type FromFiler,
  type FromWriter,
  type ToFiler,
  type ToWriter,
} from './wire.ts'
import type { WriterData } from './writer.ts'

export interface Listener {
  onWriter(message: FromWriter): void
  onFiler(message: FromFiler): void
  /** A thread has ended although nobody told it to. */
  onLost(cause: unknown): void
}

export class Threads {
  readonly #words = new Words()
  readonly #writer: MessagePort
  readonly #filer: MessagePort
  readonly #workers: readonly Worker[]
  readonly #listener: Listener
  #isHeld = true
  #isEnding = false

  constructor(directory: string, retentionMs: number, listener: Listener) {
    const writer = new MessageChannel()
    const filer = new MessageChannel()
    const between = new MessageChannel()
    const shared = { directory, retentionMs, words: this.#words.buffer }
    const forWriter = { ...shared, main: writer.port2, filer: between.port1 }
    const forFiler = { ...shared, main: filer.port2, writer: between.port2 }
    this.#listener = listener
    this.#writer = writer.port1
    this.#filer = filer.port1
    this.#writer.on('message', (message: FromWriter) => listener.onWriter(message))
    this.#filer.on('message', (message: FromFiler) => listener.onFiler(message))
    this.#workers = [
      started('filer', forFiler, [filer.port2, between.port2]),
      started('writer', forWriter, [writer.port2, between.port1]),
    ]
    for (const worker of this.#workers) {
      const lost = (cause: unknown): void => {
        if (!this.#isEnding) listener.onLost(cause)
      }
      worker.unref()
      worker.on('error', lost)
      worker.on('exit', () => lost(new Error('a thread of the journal has ended')))
    }
  }

  /** Flushes of the tables. */
  get flushes(): number {
    return this.#words.flushes
  }

  toWriter(message: ToWriter, transfer?: ArrayBuffer[]): void {
    post(this.#writer, message, transfer)
    this.#words.wakeWriter()
  }

  toFiler(message: ToFiler): void {
    post(this.#filer, message)
    this.#words.wakeFiler()
  }

  /** Whether the process is to live on for what they will say. */
  hold(isHeld: boolean): void {
    if (isHeld === this.#isHeld) return
    this.#isHeld = isHeld
    for (const port of [this.#writer, this.#filer]) {
      if (isHeld) port.ref()
      else port.unref()
    }
  }

  /** The writer tells the filer when it is done; where it never began, the filer is told at once. */
  close(isWriterIdle: boolean): void {
    if (isWriterIdle) this.toFiler({ type: 'close' })
    else this.toWriter({ type: 'close' })
  }

  /** Hears what they have said already: two ports keep no order between them. */
  hear(): void {
    const next = receiveMessageOnPort
    for (let said = next(this.#writer); said !== undefined; said = next(this.#writer))
      this.#listener.onWriter(said.message)
    for (let said = next(this.#filer); said !== undefined; said = next(this.#filer))
      this.#listener.onFiler(said.message)
  }

  async end(): Promise<void> {
    this.#isEnding = true
    this.#writer.close()
    this.#filer.close()
    await Promise.all(this.#workers.map((worker) => worker.terminate()))
  }
}

function started(name: string, data: FilerData | WriterData, transferList: MessagePort[]): Worker {
  // The thread's file has the extension of this one: .ts in development, .js when released.
  const extension = /\.\w+$/.exec(import.meta.url)?.[0] ?? '.js'
  return new Worker(new URL(`./${name}${extension}`, import.meta.url), {
    name: `${PRODUCT} journal ${name}`,
    workerData: data,
    transferList,
    execArgv: [], // what the program preloads is not for these threads
  })
}
