/**
 * `backup`: copies the data to a directory that is not there yet. Where a server has the data, it is the
 * server that is asked, so that everything it has acknowledged is in the copy.
 */
import { resolve } from 'node:path'

import { describeDirectory, sqliteJournal } from '../../journal/index.ts'
import { Accident, fault } from '../../std/index.ts'
import { askServer } from '../asking-server.ts'
import type { Asked } from '../cli.ts'
import { TOKEN_VARIABLE } from '../config.ts'
import { journalBytes, readNote, requireJournal, type ServerNote } from '../directory.ts'
import { EXIT, quoted, type Io } from '../io.ts'
import { withProgress } from '../progress.ts'

const BACKUP_MS_MAX = 3_600_000

export async function backup({ config, json }: Asked, to: string, io: Io): Promise<number> {
  const directory = requireJournal(config.config)
  const target = resolve(io.directory, to)
  const server = readNote(directory, describeDirectory(directory).holder)
  const measure = {
    total: journalBytes(directory),
    done: () => journalBytes(`${target}.partial`),
  }
  await withProgress(io, `backing up ${directory}`, measure, () =>
    server === undefined ? backupHere(directory, target, io) : backupThere(server, target, io),
  )
  const by = server === undefined ? 'this command' : `the server at ${server.url}`
  if (json) io.out(`${JSON.stringify({ ok: true, directory, target, by }, undefined, 2)}\n`)
  else io.out(`${directory}: copied to ${target} by ${by}\n`)
  return EXIT.fine
}

async function backupHere(directory: string, target: string, io: Io): Promise<void> {
  await using journal = await sqliteJournal({ directory, clock: io.clock })
  if (journal.state === 'damaged')
    throw new Accident(
      fault('damaged', `${directory} is damaged, and so would be the copy`, {
        directory,
        remedy: `${io.self} repair ${quoted(directory)}`,
      }),
    )
  await journal.backup(target)
}

async function backupThere({ url }: ServerNote, target: string, io: Io): Promise<void> {
  await askServer(`${url}/backups`, {
    method: 'POST',
    body: { directory: target },
    token: io.environment[TOKEN_VARIABLE],
    deadlineMs: BACKUP_MS_MAX,
  })
}
