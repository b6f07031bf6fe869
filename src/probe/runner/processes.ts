/**
 * The processes of a run as the kernel shows them below `/proc`: how much they weigh, and which of
 * them are left.
 *
 * Where there is no `/proc` a run weighs nothing, and leaves nothing that its group does not have.
 */
import { readdir, readFile } from 'node:fs/promises'

import { MARK } from './command.ts'

export type Weight = Readonly<{ processes: number; bytes: number }>

const SWEEPS_MAX = 200

/** The process and all below it, parents first. */
export async function familyOf(pid: number): Promise<readonly number[]> {
  const family = [pid]
  for (const each of family) family.push(...(await childrenOf(each))) // which grows meanwhile
  return family
}

/** Memory that is shared with others does not count. */
export async function weigh(pid: number): Promise<Weight> {
  const family = await familyOf(pid)
  const statuses = await Promise.all(family.map((each) => textOf(`/proc/${each}/status`)))
  const alive = statuses.filter((status) => status !== '')
  const kilobytes = alive.flatMap((status) =>
    [...status.matchAll(/^Rss(?:Anon|Shmem):\s+(\d+) kB$/gm)].map(([, count]) => Number(count)),
  )
  return {
    processes: alive.length,
    bytes: 1_024 * kilobytes.reduce((sum, each) => sum + each, 0),
  }
}

/** Kills what left the group of a run, as a daemon does, until nothing of it is left. */
export async function endMarked(mark: string, pause: () => Promise<void>): Promise<void> {
  for (let n = 0; n < SWEEPS_MAX; n += 1) {
    const left = await markedBy(mark)
    if (left.length === 0) return
    for (const pid of left) signal(pid, 'SIGKILL')
    await pause()
  }
}

/** Processes that were started by a run, however far they went from it. */
async function markedBy(mark: string): Promise<readonly number[]> {
  const wanted = `${MARK}=${mark}`
  const pids = (await namesIn('/proc')).filter((name) => /^\d+$/.test(name))
  const found = await Promise.all(
    pids.map(async (pid) =>
      (await textOf(`/proc/${pid}/environ`)).split('\0').includes(wanted) ? [Number(pid)] : [],
    ),
  )
  return found.flat()
}

/** A process that is gone already is as good as killed. */
export function signal(pid: number, name: 'SIGTERM' | 'SIGKILL'): void {
  try {
    process.kill(pid, name)
  } catch {
    // it is gone
  }
}

async function childrenOf(pid: number): Promise<readonly number[]> {
  const threads = await namesIn(`/proc/${pid}/task`)
  const lists = await Promise.all(
    threads.map((thread) => textOf(`/proc/${pid}/task/${thread}/children`)),
  )
  return lists.flatMap((list) =>
    list
      .split(' ')
      .filter((child) => child !== '')
      .map(Number),
  )
}

/** A process may end at any moment, and then there is nothing to read. */
async function textOf(path: string): Promise<string> {
  return readFile(path, 'latin1').catch(() => '')
}

async function namesIn(path: string): Promise<readonly string[]> {
  return readdir(path).catch(() => [])
}
