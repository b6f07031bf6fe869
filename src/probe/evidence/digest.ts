/** What files are known by: their SHA-256, and one for a whole directory that depends on all of them. */
import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { readdir } from 'node:fs/promises'
import { join, relative, sep } from 'node:path'
import { pipeline } from 'node:stream/promises'

import type { EvidenceFile } from '../record.ts'

/** Files below a directory in the order of their names; links are left out. */
export async function digestsOf(directory: string): Promise<readonly EvidenceFile[]> {
  const entries = await readdir(directory, { recursive: true, withFileTypes: true })
  const paths = entries
    .filter((each) => each.isFile())
    .map((each) => join(each.parentPath, each.name))
  const files: EvidenceFile[] = []
  for (const path of paths)
    files.push({ name: relative(directory, path).split(sep).join('/'), ...(await digestOf(path)) })
  return files.toSorted((a, b) => (a.name < b.name ? -1 : 1))
}

/**
 * Each link of the chain depends on all before it, so no file can be changed, left out, added or moved
 * without another last link.
 */
export function chainOf(first: string, files: readonly EvidenceFile[]): string {
  return files.reduce(
    (link, { name, bytes, sha256 }) => hashOf(JSON.stringify([link, name, bytes, sha256])),
    hashOf(first),
  )
}

function hashOf(text: string): string {
  return createHash('sha256').update(text).digest('hex')
}

async function digestOf(path: string): Promise<Omit<EvidenceFile, 'name'>> {
  const hash = createHash('sha256')
  let bytes = 0
  await pipeline(createReadStream(path), async (chunks: AsyncIterable<Buffer>) => {
    for await (const chunk of chunks) {
      hash.update(chunk)
      bytes += chunk.length
    }
  })
  return { bytes, sha256: hash.digest('hex') }
}
