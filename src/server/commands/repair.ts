/** `repair`: makes a damaged data directory whole from everything in it that is still right. */
import { resolve } from 'node:path'

import { repairDirectory, type RepairReport } from '../../journal/index.ts'
import type { Asked } from '../cli.ts'
import { journalBytes, requireJournal } from '../directory.ts'
import { EXIT, type Io } from '../io.ts'
import { withProgress } from '../progress.ts'

const LOSSES_SHOWN = 20

export async function repair(
  { config, json }: Asked,
  into: string | undefined,
  io: Io,
): Promise<number> {
  const directory = requireJournal(config.config)
  const total = journalBytes(directory)
  const measure = into === undefined ? { total } : { total, done: () => journalBytes(into) }
  const report = await withProgress(io, `repairing ${directory}`, measure, () =>
    repairDirectory(directory, into === undefined ? {} : { into: resolve(into) }),
  )
  if (json) io.out(`${JSON.stringify({ ok: true, ...report }, undefined, 2)}\n`)
  else io.out(textOf(report))
  return EXIT.fine
}

function textOf({
  directory,
  original,
  kept,
  lost,
  share,
  losses,
  unlisted,
}: RepairReport): string {
  const lines = [
    `${directory}: repaired, ${Number((share * 100).toFixed(3))} % of all rows are kept`,
    `  kept ${kept.events} events of ${kept.streams} streams, ${kept.records} records, ${kept.answers} answers`,
    `  lost ${lost.events} events of ${lost.streams} streams, ${lost.records} records, ${lost.answers} answers`,
    ...losses.slice(0, LOSSES_SHOWN).map(({ message }) => `  ${message}`),
  ]
  const more = Math.max(0, losses.length - LOSSES_SHOWN) + unlisted
  if (more > 0) lines.push(`  and ${more} more; --json has ${losses.length} of them`)
  lines.push(`what was there is in ${original}`)
  return `${lines.join('\n')}\n`
}
