/** Judges a bundle before it is sent anywhere: a directory, or the archive that would be uploaded. */
import { createReadStream } from 'node:fs'
import { stat } from 'node:fs/promises'
import { join } from 'node:path'

import { isFault, type Fault } from '../../std/index.ts'
import type { Bundle } from '../bundle/directive.ts'
import type { BundleFault } from '../bundle/finding.ts'
import { readBundle } from '../bundle/read-bundle.ts'
import { isStorageAccident, ofFiles } from './accidents.ts'
import { removeTree } from './staging.ts'
import type { StorageFault } from './storage.ts'
import { createUploads } from './uploads.ts'

export type ValidateOptions = Readonly<{
  /** Where an archive may be unpacked; nothing of it is there afterwards. */
  scratch: string
  signal: AbortSignal
}>

export async function validateBundle(
  path: string,
  options: ValidateOptions,
): Promise<Bundle | BundleFault | StorageFault | Fault<'upload-busy'>> {
  try {
    return (await stat(path)).isDirectory()
      ? await readBundle(path)
      : await validateArchive(path, options)
  } catch (error) {
    const known = ofFiles(path, error)
    if (isStorageAccident(known)) return known.fault
    throw known
  }
}

async function validateArchive(
  path: string,
  { scratch, signal }: ValidateOptions,
): ReturnType<typeof validateBundle> {
  const root = join(scratch, 'validate')
  try {
    const uploads = await createUploads({ root })
    const received = await uploads.receive('bundle', createReadStream(path), { signal })
    return isFault(received) ? received : await readBundle(uploads.directoryOf('bundle'))
  } finally {
    await removeTree(root)
  }
}
