/** Packs a bundle for an upload: what `unzip` takes, and nothing it would leave out. */
import { join } from 'node:path'
import { PassThrough } from 'node:stream'

import { BUNDLE_LIMITS_DEFAULT } from '../bundle/read-bundle.ts'
import { filesBelow } from '../bundle/files.ts'
import { ofFiles, refusedFile, tooLarge } from './accidents.ts'

/** Throws a `StorageFault` when there is something in the directory that a bundle cannot have. */
export async function zipBundle(directory: string): Promise<AsyncIterable<Uint8Array>> {
  const most = BUNDLE_LIMITS_DEFAULT.files
  const { files, refused, isCut } = await filesBelow(directory, most).catch((error: unknown) => {
    throw ofFiles(directory, error)
  })
  const [first] = refused
  if (first !== undefined) throw refusedFile(first.name, first.why)
  if (isCut) throw tooLarge('.', `it has more than ${most} files`)

  const { ZipFile } = await import('yazl')
  const zip = new ZipFile()
  const packed = zip.outputStream.pipe(new PassThrough())
  zip.on('error', (error: Error) => packed.destroy(error))
  for (const { name } of files) zip.addFile(join(directory, name), name)
  zip.end()
  return packed
}
