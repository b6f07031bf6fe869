/** `verify`: looks for damage in a data directory that nobody uses. */
import { verifyDirectory, type VerifyReport } from '../../journal/index.ts'
import type { Asked } from '../cli.ts'
import { journalBytes, requireJournal } from '../directory.ts'
import { EXIT, quoted, type Io } from '../io.ts'
import { withProgress } from '../progress.ts'

const FINDINGS_SHOWN = 20

export async function verify({ config, json }: Asked, io: Io): Promise<number> {
  const directory = requireJournal(config.config)
  const measure = { total: journalBytes(directory) }
  const report = await withProgress(io, `verifying ${directory}`, measure, () =>
    verifyDirectory(directory),
  )
  if (json) io.out(`${JSON.stringify(report, undefined, 2)}\n`)
  else io.out(textOf(directory, report, io.self))
  return report.ok ? EXIT.fine : EXIT.trouble
}

function textOf(directory: string, report: VerifyReport, self: string): string {
  const { ok, checked, findings, unlisted, losses, torn } = report
  const lines = [
    `${directory}: ${ok ? 'no damage' : 'damaged'}`,
    `  looked at ${checked.events} events of ${checked.streams} streams, ${checked.records} records, ` +
      `${checked.answers} answers, ${checked.snapshots} snapshots`,
    ...(torn ? ['  the last write was cut short by a crash; nobody had been told of it'] : []),
    ...(losses.events + losses.answers > 0
      ? [
          `  an earlier repair has marked ${losses.events} events and ${losses.answers} answers as lost`,
        ]
      : []),
    ...findings.slice(0, FINDINGS_SHOWN).map(({ type, message }) => `  ${type}: ${message}`),
  ]
  const more = Math.max(0, findings.length - FINDINGS_SHOWN) + unlisted
  if (more > 0) lines.push(`  and ${more} more; --json has ${findings.length} of them`)
  if (!ok) lines.push(`what to do: ${self} repair ${quoted(directory)}`)
  return `${lines.join('\n')}\n`
}
