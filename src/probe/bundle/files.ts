/**
 * The files of a directory, as names below it, in order.
 *
 * Links are never followed, so a walk stays below its root and ends; what is neither a file nor a
 * directory is named instead of opened, because opening a pipe or a device may wait for ever.
 */
import { lstat, opendir } from 'node:fs/promises'
import { join } from 'node:path'

import { isLeftOut, nameProblem } from './file-name.ts'

export type FoundFile = Readonly<{ name: string; bytes: number }>

export type FoundFiles = Readonly<{
  files: readonly FoundFile[]
  /** What is there and cannot be part of a bundle. */
  refused: readonly Readonly<{ name: string; why: string }>[]
  /** There are more entries than were asked for, directories included, and the rest was not looked at. */
  isCut: boolean
}>

export async function filesBelow(directory: string, most: number): Promise<FoundFiles> {
  const files: FoundFile[] = []
  const refused: { name: string; why: string }[] = []
  const waiting = ['']
  let entries = 0
  for (let below = waiting.pop(); below !== undefined; below = waiting.pop())
    for await (const entry of await opendir(join(directory, below))) {
      const name = below === '' ? entry.name : `${below}/${entry.name}`
      if (isLeftOut(name)) continue
      entries += 1
      if (entries > most) return { files, refused, isCut: true }
      const problem = nameProblem(name)
      if (problem !== undefined) refused.push({ name, why: problem })
      else if (entry.isDirectory()) waiting.push(name)
      else if (entry.isFile())
        files.push({ name, bytes: (await lstat(join(directory, name))).size })
      else refused.push({ name, why: entry.isSymbolicLink() ? 'it is a link' : 'it is no file' })
    }
  return { files: files.toSorted(byName), refused: refused.toSorted(byName), isCut: false }
}

function byName(a: Readonly<{ name: string }>, b: Readonly<{ name: string }>): number {
  return a.name < b.name ? -1 : 1
}
