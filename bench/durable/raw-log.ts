/**
 * The limit of every durable figure: bytes that are already there, one `write` and one `fdatasync`
 * per group, nothing else. The file is written through once beforehand and then overwritten in
 * place, round and round, since growing a file makes each flush dearer.
 */
import { closeSync, fdatasyncSync, fsyncSync, openSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { Worker } from 'node:worker_threads'

const FILE_BYTES = 67_108_864
const FILL_BYTES = 1_048_576

export class RawLog implements Disposable {
  readonly #fd: number
  #bytes = Buffer.alloc(FILL_BYTES, 'x')
  #at = 0

  constructor(directory: string) {
    this.#fd = openSync(join(directory, 'raw.log'), 'w')
    for (let at = 0; at < FILE_BYTES; at += FILL_BYTES) {
      writeSync(this.#fd, this.#bytes, 0, FILL_BYTES, at)
    }
    fsyncSync(this.#fd)
  }

  /** On disk when it returns. */
  append(bytes: number): void {
    if (bytes > this.#bytes.length) this.#bytes = Buffer.alloc(bytes, 'x')
    if (this.#at + bytes > FILE_BYTES) this.#at = 0
    writeSync(this.#fd, this.#bytes, 0, bytes, this.#at)
    fdatasyncSync(this.#fd)
    this.#at += bytes
  }

  /** As many items in as many groups, of sizes as equal as can be. Milliseconds it took. */
  replay(items: number, groups: number, itemBytes: number): number {
    const start = performance.now()
    let written = 0
    for (let group = 1; group <= groups; group++) {
      const upTo = Math.round((items * group) / groups)
      this.append((upTo - written) * itemBytes)
      written = upTo
    }
    return performance.now() - start
  }

  [Symbol.dispose](): void {
    closeSync(this.#fd)
  }
}

/** The raw log on its own thread, as whoever must not block on a flush would use it: post, wait. */
export class RawLogThread implements AsyncDisposable {
  readonly #thread: Worker
  #done = Promise.withResolvers<void>()

  constructor(directory: string) {
    this.#thread = new Worker(new URL('raw-log-thread.ts', import.meta.url), {
      workerData: directory,
    })
    this.#thread.on('message', () => this.#done.resolve())
    this.#thread.on('error', (error) => this.#done.reject(error))
  }

  append(text: string): Promise<void> {
    this.#done = Promise.withResolvers()
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- A thread is no window.
    this.#thread.postMessage(text)
    return this.#done.promise
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#thread.terminate()
  }
}
