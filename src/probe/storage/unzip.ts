/**
 * Unpacks an archive that a stranger sent.
 *
 * What the archive says about itself is judged before anything is written, and what comes out of it is
 * measured again on the way: names, links, double entries, sizes and how much less was sent than comes
 * out. Nobody sees a part of it: who calls removes the directory when this throws.
 */
import { crc32 } from 'node:zlib'

import type { Entry, ZipFile } from 'yauzl'

import { isLeftOut, shownName } from '../bundle/file-name.ts'
import { refusedFile, tooLarge } from './accidents.ts'
import { createIntake } from './intake.ts'
import type { BundleLimits } from './storage.ts'

export type UnzipOptions = Readonly<{ limits: BundleLimits; signal: AbortSignal }>

/** Text seldom packs better than 30 to 1; deflate goes to 1 032. */
export const COMPRESSION_RATIO_MAX = 200
/** Below it a ratio says nothing: a megabyte harms nobody. */
export const COMPRESSION_JUDGED_BYTES_MIN = 1_048_576

const FILE_TYPE = 0o170000
const REGULAR = 0o100000
const DIRECTORY = 0o040000

export async function unzip(
  archive: string,
  directory: string,
  { limits, signal }: UnzipOptions,
): Promise<void> {
  const yauzl = await import('yauzl')
  // Names are decoded here and not by the library, so that a refusal can name the entry.
  const zip = await yauzl
    .openPromise(archive, { decodeStrings: false, autoClose: false })
    .catch((error: unknown) => {
      throw damaged(error)
    })
  try {
    if (zip.entryCount > limits.files) throw tooLarge('.', `it has more than ${limits.files} files`)
    const intake = createIntake(directory, limits)
    const wanted: { name: string; entry: Entry }[] = []
    let packed = 0
    let unpacked = 0
    for await (const entry of entriesOf(zip)) {
      signal.throwIfAborted()
      const { generalPurposeBitFlag, fileNameRaw, extraFields } = entry
      const name = yauzl.getFileNameLowLevel(generalPurposeBitFlag, fileNameRaw, extraFields, true)
      const isDirectory = name.endsWith('/')
      judgeEntry(name, entry, isDirectory)
      packed += entry.compressedSize
      unpacked += entry.uncompressedSize
      intake.announce(isDirectory ? name.slice(0, -1) : name, entry.uncompressedSize)
      if (!isDirectory && !isLeftOut(name)) wanted.push({ name, entry })
    }
    judgeRatio('.', packed, unpacked)
    for (const { name, entry } of wanted)
      await intake.write(name, contentOf(zip, name, entry), signal)
  } finally {
    zip.close()
  }
}

function judgeEntry(name: string, entry: Entry, isDirectory: boolean): void {
  const type = (entry.externalFileAttributes >>> 16) & FILE_TYPE
  if (type !== 0 && type !== (isDirectory ? DIRECTORY : REGULAR))
    throw refusedFile(name, 'it is a link, or no file')
  if (entry.isEncrypted()) throw refusedFile(name, 'it is encrypted')
  if (!entry.canDecodeFileData()) throw refusedFile(name, 'it is packed in an unusual way')
  judgeRatio(name, entry.compressedSize, entry.uncompressedSize)
}

function judgeRatio(name: string, packed: number, unpacked: number): void {
  if (unpacked >= COMPRESSION_JUDGED_BYTES_MIN && unpacked > packed * COMPRESSION_RATIO_MAX)
    throw tooLarge(name, `it grows more than ${COMPRESSION_RATIO_MAX} times when it is unpacked`)
}

async function* entriesOf(zip: ZipFile): AsyncGenerator<Entry> {
  try {
    yield* zip.eachEntry()
  } catch (error) {
    throw damaged(error)
  }
}

/** The library holds the content to the size that was announced; the checksum is held here. */
async function* contentOf(zip: ZipFile, name: string, entry: Entry): AsyncGenerator<Uint8Array> {
  let sum = 0
  try {
    const content: AsyncIterable<Uint8Array> = await zip.openReadStreamPromise(entry)
    for await (const chunk of content) {
      sum = crc32(chunk, sum)
      yield chunk
    }
  } catch (error) {
    throw damaged(error, name)
  }
  if (sum !== entry.crc32) throw refusedFile(name, 'it is damaged: its checksum is another')
}

function damaged(error: unknown, name = 'the archive'): Error {
  const why = error instanceof Error ? error.message : String(error)
  return refusedFile(name, `it is no proper ZIP: ${shownName(why)}`)
}
