/**
 * Flushes as the operating system sees them: strace counts those of a whole process, opening and
 * closing included, and says how many there were for each 1 000 commits. Without strace there is no
 * such figure; what a program says of itself is none.
 */
import { execFile } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { scratch } from './disk.ts'
import { PROCESS } from './rounds.ts'

const CALLS = 'fsync,fdatasync,msync,sync,syncfs,sync_file_range'
const RUN_MS_MAX = 60_000

export async function flushesPer1000(
  commits: number,
  say: (line: string) => void,
): Promise<number | undefined> {
  using directory = scratch()
  const table = join(directory.path, 'strace')
  const watched = [process.execPath, PROCESS, 'flood', JSON.stringify({ count: commits })]
  // The filter in the kernel leaves all other calls at full speed.
  const args = ['-f', '--seccomp-bpf', '-c', '-o', table, '-e', `trace=${CALLS}`, ...watched]
  try {
    await promisify(execFile)('strace', args, { timeout: RUN_MS_MAX })
    return (totalCalls(await readFile(table, 'utf8')) * 1_000) / commits
  } catch (error) {
    say(`flushes could not be counted; is strace installed? ${String(error).split('\n')[0]}`)
    return undefined
  }
}

/** The number of calls in the last row, `100.00    0.002311          47        49           total`. */
export function totalCalls(table: string): number {
  const calls = /^\s*[\d.]+\s+[\d.]+\s+\d+\s+(\d+)\s+(?:\d+\s+)?total$/m.exec(table)?.[1]
  if (calls === undefined) throw new Error('the table of strace has no total')
  return Number(calls)
}
