/**
 * A backlog that outlives its process, from outside: how long the next process takes until it answers, counted from
 * when it is started, and how much memory it has, as the operating system says.
 */
import { fork, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { scratch } from '../durable/disk.ts'
import { stopped } from '../stock/server-process.ts'
import type { Heard } from './backlog-process.ts'

export type Backlog = Readonly<{
  messages: number
  loadS: number
  restartS: number
  /** Of sending, receiving and deleting one message, in milliseconds. */
  backlogP99: number
  emptyP99: number
  rssMb: number
  /** The most it ever had, while it was reading included. */
  peakMb: number
}>

const PROGRAM = join(import.meta.dirname, 'backlog-process.ts')

export async function measureBacklog(messages: number, cycles: number): Promise<Backlog> {
  using directory = scratch()
  const loadMs = await load(directory.path, messages)
  const start = performance.now()
  const child = fork(PROGRAM, ['open', directory.path, String(messages), String(cycles)])
  try {
    await hear(child)
    const restartMs = performance.now() - start
    const p99 = await hear(child)
    if (typeof p99 === 'string') throw new Error(`said ${p99}`)
    const status = readFileSync(`/proc/${child.pid}/status`, 'latin1')
    return {
      messages,
      loadS: loadMs / 1_000,
      restartS: restartMs / 1_000,
      backlogP99: p99.backlog,
      emptyP99: p99.empty,
      rssMb: megabytes(status, 'VmRSS'),
      peakMb: megabytes(status, 'VmHWM'),
    }
  } finally {
    await stopped(child)
  }
}

async function load(directory: string, messages: number): Promise<number> {
  const start = performance.now()
  const child = fork(PROGRAM, ['load', directory, String(messages)])
  try {
    await hear(child)
    const tookMs = performance.now() - start
    if (child.exitCode === null) await once(child, 'exit')
    return tookMs
  } finally {
    await stopped(child)
  }
}

async function hear(child: ChildProcess): Promise<Heard> {
  const ended = once(child, 'exit').then(([code]) => {
    throw new Error(`the process has ended with ${code}`)
  })
  ended.catch(() => undefined)
  const [heard]: Heard[] = await Promise.race([once(child, 'message'), ended])
  return heard!
}

/** `VmRSS:    123456 kB` */
export function megabytes(status: string, field: string): number {
  const kilobytes = new RegExp(`^${field}:\\s+(\\d+) kB$`, 'm').exec(status)?.[1]
  if (kilobytes === undefined) throw new Error(`there is no ${field}`)
  return (Number(kilobytes) * 1_024) / 1e6
}
