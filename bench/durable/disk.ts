/**
 * A directory on a real disk for the length of a run. Where temporary files live in memory a flush
 * costs nothing and every ratio would be a lie, so such places are passed over.
 */
import { mkdtempSync, rmSync, statfsSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const IN_MEMORY: ReadonlySet<number> = new Set([0x01021994 /* tmpfs */, 0x858458f6 /* ramfs */])

export interface Scratch extends Disposable {
  readonly path: string
}

/** Removed with all that is in it when it is disposed of. */
export function scratch(): Scratch {
  const parent = [tmpdir(), '/var/tmp', process.cwd()].find(onDisk)
  if (parent === undefined) throw new Error('no temporary directory is on a disk; set TMPDIR')
  const path = mkdtempSync(join(parent, 'flytower-bench-'))
  return { path, [Symbol.dispose]: () => rmSync(path, { recursive: true, force: true }) }
}

function onDisk(path: string): boolean {
  try {
    return !IN_MEMORY.has(statfsSync(path).type)
  } catch {
    return false
  }
}
