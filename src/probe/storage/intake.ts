/**
 * Takes in the files of a bundle, whoever sends them, and lets nothing through that a bundle cannot have.
 *
 * Each name is checked and taken once; a file is written below the directory and nowhere else, follows
 * no link and replaces nothing; bytes are counted as they come, so what a sender claims does not matter.
 */
import { createWriteStream } from 'node:fs'
import { mkdir, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { pipeline } from 'node:stream/promises'

import { nameProblem } from '../bundle/file-name.ts'
import { codeOf, refusedFile, tooLarge } from './accidents.ts'
import type { BundleLimits } from './storage.ts'

export interface Intake {
  /** Throws when the name cannot be taken, or was; a name that was announced may be written. */
  announce(name: string, bytes: number): void
  /** Writes a file that was announced; after a failure it is as if it had not been tried. */
  write(name: string, content: AsyncIterable<Uint8Array>, signal: AbortSignal): Promise<void>
}

export function createIntake(directory: string, limits: BundleLimits): Intake {
  const names = new Set<string>()
  let announced = 0
  let written = 0

  return {
    announce(name, bytes) {
      const problem = nameProblem(name)
      if (problem !== undefined) throw refusedFile(name, problem)
      if (names.has(name)) throw refusedFile(name, 'it is there twice')
      names.add(name)
      announced += bytes
      if (names.size > limits.files) throw tooLarge('.', `it has more than ${limits.files} files`)
      if (bytes > limits.fileBytes) throw fileTooLarge(name)
      if (announced > limits.totalBytes) throw bundleTooLarge()
    },

    async write(name, content, signal) {
      const path = join(directory, name)
      let bytes = 0
      try {
        await mkdir(dirname(path), { recursive: true, mode: 0o700 })
        const file = createWriteStream(path, { flags: 'wx', mode: 0o600 })
        await pipeline(content, counted, file, { signal })
      } catch (error) {
        written -= bytes
        // A file where another one needs a directory, or the other way round.
        if (['EEXIST', 'ENOTDIR', 'EISDIR'].includes(codeOf(error)))
          throw refusedFile(name, 'it is a file and a directory')
        await rm(path, { force: true })
        throw error
      }

      async function* counted(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
        for await (const chunk of chunks) {
          bytes += chunk.length
          written += chunk.length
          if (bytes > limits.fileBytes) throw fileTooLarge(name)
          if (written > limits.totalBytes) throw bundleTooLarge()
          yield chunk
        }
      }
    },
  }

  function fileTooLarge(name: string): Error {
    return tooLarge(name, `it has more than ${limits.fileBytes} bytes`)
  }

  function bundleTooLarge(): Error {
    return tooLarge('.', `it has more than ${limits.totalBytes} bytes`)
  }
}
