/** `restore`: makes a data directory out of a backup. Nothing that is there is ever overwritten. */
import { resolve } from 'node:path'

import { restoreDirectory } from '../../journal/index.ts'
import type { Asked } from '../cli.ts'
import { dataDirectory, journalBytes } from '../directory.ts'
import { EXIT, type Io } from '../io.ts'
import { withProgress } from '../progress.ts'

export async function restore({ config, json }: Asked, from: string, io: Io): Promise<number> {
  const directory = dataDirectory(config.config)
  const backup = resolve(from)
  const measure = { total: journalBytes(backup), done: () => journalBytes(directory) }
  const { checked } = await withProgress(io, `restoring to ${directory}`, measure, () =>
    restoreDirectory(backup, directory),
  )
  if (json) io.out(`${JSON.stringify({ ok: true, directory, backup, checked }, undefined, 2)}\n`)
  else
    io.out(
      `${directory}: restored from ${backup}: ${checked.events} events of ${checked.streams} streams, ` +
        `${checked.records} records\n`,
    )
  return EXIT.fine
}
