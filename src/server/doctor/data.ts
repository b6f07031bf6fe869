/**
 * The data directory: whether it can be used, whether there is room, who has it, and whether what is in it
 * is right. Looking changes nothing.
 */
import { accessSync, constants, existsSync, readdirSync, statfsSync, statSync } from 'node:fs'
import { hostname } from 'node:os'
import { dirname, join } from 'node:path'

import { verifyDirectory, type DirectoryReport } from '../../journal/index.ts'
import { Accident } from '../../std/index.ts'
import { askServer } from '../asking-server.ts'
import { journalBytes, type ServerNote } from '../directory.ts'
import { quoted, type Io } from '../io.ts'
import { withProgress } from '../progress.ts'
import { aboutBytes } from '../units.ts'
import { ok, skipped, trouble, warning, type Check } from './check.ts'

/** Opening a journal takes 8 MiB, and filing what is in it some more. */
export const SPACE_BYTES_MIN = 33_554_432
/** Below it there is room, but somebody should know. */
const SPACE_BYTES_LOW = 4 * SPACE_BYTES_MIN
const INODES_MIN = 16
const READY_MS_MAX = 5_000

export function checkPermissions(directory: string): Check {
  const name = 'permissions'
  const found = nearestExisting(directory)
  if (!statSync(found).isDirectory())
    return trouble(name, 'it is not a directory', {
      where: found,
      advice: 'set data.directory to a directory, or to a name that is not taken',
    })
  const files = found === directory ? readdirOf(found).map((each) => join(found, each)) : []
  for (const path of [found, ...files]) {
    const refusal = accessRefusal(path)
    if (refusal === 'EROFS')
      return trouble(name, 'the file system can only be read', {
        where: path,
        advice: 'mount it so that it can be written to, or set data.directory to another one',
      })
    if (refusal !== undefined)
      return trouble(name, `this user may not read and write it (${refusal})`, {
        where: path,
        command: isOurs(path)
          ? `chmod -R u+rwX ${quoted(found)}`
          : `sudo chown -R "$(id -un)" ${quoted(found)}`,
      })
  }
  return ok(
    name,
    existsSync(directory) ? 'it can be read and written' : 'it can be made',
    directory,
  )
}

export function checkSpace(directory: string, { leftovers }: DirectoryReport): Check {
  const name = 'space'
  const where = nearestExisting(directory)
  const { bavail, bsize, files, ffree } = statfsSync(where)
  const free = bavail * bsize
  if (files > 0 && ffree < INODES_MIN)
    return trouble(name, `the file system has room for ${ffree} more files only`, {
      where,
      advice: 'remove files from it that nobody needs',
    })
  if (free >= SPACE_BYTES_LOW) return ok(name, `${aboutBytes(free)} are free`, where)
  const message = `${aboutBytes(free)} are free, and ${aboutBytes(SPACE_BYTES_MIN)} is the least`
  const more = { where, command: roomCommand(where, leftovers) }
  return free < SPACE_BYTES_MIN ? trouble(name, message, more) : warning(name, message, more)
}

export async function checkHolder(
  directory: string,
  { holder }: DirectoryReport,
  server: ServerNote | undefined,
): Promise<Check> {
  const name = 'lock'
  if (holder === undefined) return ok(name, 'nobody has it', directory)
  const [, pid, host] = /^process (\d+) on (.+)$/.exec(holder) ?? []
  const where = directory
  if (pid === undefined)
    return trouble(name, `it is in use by ${holder}`, { where, advice: 'wait until that is done' })
  if (host !== hostname())
    return trouble(name, `it is in use by ${holder}`, {
      where,
      advice: `end process ${pid} on ${host}`,
    })
  const command = `kill -TERM ${pid}`
  if (server === undefined)
    return trouble(name, `it is in use by process ${pid}, which says nowhere that it serves`, {
      where,
      command,
    })
  try {
    await askServer(`${server.url}/readyz?verbose`, { method: 'GET', deadlineMs: READY_MS_MAX })
    return ok(name, `the server at ${server.url} has it, process ${pid}, and is ready`, where)
  } catch (error) {
    const why = error instanceof Accident ? error.fault.message : String(error)
    return trouble(name, `process ${pid} has it, but is not ready: ${why}`, { where, command })
  }
}

export function checkSchema(directory: string, report: DirectoryReport): Check {
  const name = 'schema'
  const { isJournal, schema, schemaKnown } = report
  if (!isJournal) return ok(name, 'there is no data yet; the server makes it', directory)
  if (schema === undefined) return skipped(name, 'it cannot be read; see damage')
  if (schema > schemaKnown)
    return trouble(name, `the data has version ${schema}, and this program knows ${schemaKnown}`, {
      where: directory,
      advice: 'run the version of the program that wrote it, or restore a backup of an earlier one',
    })
  const note = schema < schemaKnown ? `; the server brings it to ${schemaKnown}` : ''
  return ok(name, `version ${schema}${note}`, directory)
}

export async function checkDamage(
  directory: string,
  report: DirectoryReport,
  io: Io,
): Promise<Check> {
  const name = 'damage'
  if (!report.isJournal) return ok(name, 'there is nothing that could be damaged', directory)
  if (report.schema === 0) return ok(name, 'nothing has been written to it yet', directory)
  const command = `${io.self} repair ${quoted(directory)}`
  try {
    const measure = { total: journalBytes(directory) }
    const found = await withProgress(io, `looking for damage in ${directory}`, measure, () =>
      verifyDirectory(directory),
    )
    const rows = found.checked.events + found.checked.records + found.checked.answers
    const lost = found.losses.events + found.losses.answers
    const notes = [
      ...(found.torn
        ? ['the last write was cut short by a crash, nobody had been told of it']
        : []),
      ...(lost > 0 ? [`an earlier repair has marked ${lost} rows as lost`] : []),
    ]
    if (found.ok) return ok(name, [`none in ${rows} rows`, ...notes].join('; '), directory)
    const count = found.findings.length + found.unlisted
    return trouble(name, `${count} findings, the first: ${found.findings[0]?.message}`, {
      where: directory,
      command,
    })
  } catch (error) {
    if (!(error instanceof Accident)) throw error
    return trouble(name, `it could not be looked for: ${error.fault.message}`, {
      where: directory,
      certainty: 'likely',
      advice: String(error.detail['remedy']),
    })
  }
}

/** What is left over goes first; where nothing is, somebody has to choose. */
function roomCommand(where: string, leftovers: DirectoryReport['leftovers']): string {
  return leftovers.length > 0
    ? `rm -r ${leftovers.map(({ path }) => quoted(path)).join(' ')}`
    : `du -axh ${quoted(mountOf(where))} | sort -h | tail -n 20`
}

/** The topmost directory of the file system that a path is on. */
function mountOf(path: string): string {
  const above = dirname(path)
  return above !== path && statSync(above).dev === statSync(path).dev ? mountOf(above) : path
}

function nearestExisting(path: string): string {
  return existsSync(path) ? path : nearestExisting(dirname(path))
}

function readdirOf(directory: string): string[] {
  try {
    return readdirSync(directory)
  } catch {
    return [] // access to the directory itself says why
  }
}

function accessRefusal(path: string): string | undefined {
  try {
    const isDirectory = statSync(path).isDirectory()
    accessSync(path, constants.R_OK | constants.W_OK | (isDirectory ? constants.X_OK : 0))
    return undefined
  } catch (error) {
    return error instanceof Error && 'code' in error ? String(error.code) : String(error)
  }
}

function isOurs(path: string): boolean {
  return statSync(path).uid === process.getuid?.()
}
