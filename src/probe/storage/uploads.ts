/**
 * Bundles that were sent to the server instead of being put where it can fetch them.
 *
 *   <root>/<id>/              the bundle, and `evidence/` after its test
 *   <root>/incoming-<…>/      an upload on its way; none outlives the server
 *
 * An upload is there as a whole or not at all, and replaces an earlier one of the same id.
 */
import { createWriteStream } from 'node:fs'
import { chmod, mkdir, mkdtemp, readdir, rename } from 'node:fs/promises'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'

import { assert, fault, type Fault } from '../../std/index.ts'
import { BUNDLE_LIMITS_DEFAULT } from '../bundle/read-bundle.ts'
import { isStorageAccident, ofFiles, tooLarge } from './accidents.ts'
import { removeTree } from './staging.ts'
import type { BundleLimits, StorageFault } from './storage.ts'
import { unzip } from './unzip.ts'

export interface Uploads {
  /** Where the bundle of that id is, if there is one. */
  directoryOf(id: string): string
  /** Takes a ZIP archive; `path` is what to start the test with. */
  receive(
    id: string,
    archive: AsyncIterable<Uint8Array>,
    options: Readonly<{ signal: AbortSignal }>,
  ): Promise<Readonly<{ ok: true; path: string }> | StorageFault | Fault<'upload-busy'>>
  remove(id: string): Promise<void>
  /** Removes every upload whose id is not to be kept. */
  sweep(isKept: (id: string) => boolean): Promise<void>
}

export type UploadsOptions = Readonly<{ root: string; limits?: BundleLimits }>

const INCOMING = 'incoming-'
const ID = /^[A-Za-z0-9][A-Za-z0-9_-]{0,127}$/

export async function createUploads(options: UploadsOptions): Promise<Uploads> {
  const { root, limits = BUNDLE_LIMITS_DEFAULT } = options
  const busy = new Set<string>()
  await mkdir(root, { recursive: true, mode: 0o700 })
  await chmod(root, 0o700)
  await sweep((name) => !name.startsWith(INCOMING))

  return {
    directoryOf,

    async receive(id, archive, { signal }) {
      const directory = directoryOf(id)
      if (busy.has(id))
        return fault('upload-busy', `another upload for ${id} is on its way`, {
          remedy: 'wait for it, or send one at a time',
        })
      busy.add(id)
      let incoming: string | undefined
      try {
        incoming = await mkdtemp(join(root, INCOMING))
        const file = join(incoming, 'archive.zip')
        await pipeline(archive, bounded, createWriteStream(file, { mode: 0o600 }), { signal })
        const bundle = join(incoming, 'bundle')
        await mkdir(bundle, { mode: 0o700 })
        await unzip(file, bundle, { limits, signal })
        await removeTree(directory)
        await rename(await rootOf(bundle), directory)
        return { ok: true, path: `upload:${id}` }
      } catch (error) {
        const known = ofFiles(`upload:${id}`, error)
        if (isStorageAccident(known)) return known.fault
        throw known
      } finally {
        if (incoming !== undefined) await removeTree(incoming)
        busy.delete(id)
      }
    },

    remove: (id) => removeTree(directoryOf(id)),
    sweep,
  }

  function directoryOf(id: string): string {
    assert(ID.test(id) && !id.startsWith(INCOMING), 'an upload is named after its test')
    return join(root, id)
  }

  async function sweep(isKept: (name: string) => boolean): Promise<void> {
    for (const name of await readdir(root)) if (!isKept(name)) await removeTree(join(root, name))
  }

  async function* bounded(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
    let bytes = 0
    for await (const chunk of chunks) {
      bytes += chunk.length
      if (bytes > limits.totalBytes)
        throw tooLarge('.', `the archive has more than ${limits.totalBytes} bytes`)
      yield chunk
    }
  }
}

/** Whoever packs a folder gets an archive with nothing but that folder in it. */
async function rootOf(bundle: string): Promise<string> {
  const entries = await readdir(bundle, { withFileTypes: true })
  const [only] = entries
  const isWrapped = entries.length === 1 && only?.isDirectory() === true && only.name !== 'features'
  return isWrapped ? join(bundle, only.name) : bundle
}
