/** A file that the config names, as data: YAML, and so JSON too. */
import { readFileSync, statSync } from 'node:fs'

import { Accident, fault } from '../std/index.ts'

/** Such as all places of an estate. */
export const DATA_FILE_BYTES_MAX = 67_108_864

export async function readDataFile(path: string): Promise<unknown> {
  try {
    if (statSync(path).size > DATA_FILE_BYTES_MAX) throw new Error('it is too large')
    const text = readFileSync(path, 'utf8')
    if (path.endsWith('.json')) return JSON.parse(text)
    const { parse } = await import('yaml')
    return parse(text, { maxAliasCount: 0 })
  } catch (cause) {
    throw new Accident(
      fault('unreadable-file', `the file ${path} cannot be read: ${String(cause)}`, {
        path,
        remedy: 'see that it is there, can be read by this user, and is YAML or JSON',
      }),
      { cause },
    )
  }
}
