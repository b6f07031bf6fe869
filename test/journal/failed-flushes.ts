/**
 * A process whose nth flush fails: whatever it flushes later, what this one covered is not safe. Flushes are
 * counted thread by thread, so before the process is gone a second thread may come to its own nth.
 */
import assert from 'node:assert/strict'
import { rmSync } from 'node:fs'
import { join } from 'node:path'

import { History } from './history.ts'
import { listen } from './kills.ts'
import { checkCuts } from './power-cuts.ts'
import { readRecordings } from './recording.ts'
import { freshDirectory, workplace } from './subject.ts'

export const EXIT_CODE = 70

/** Enough to come to any of the flushes; who has done all of them has ignored one that failed. */
const BATCHES_AFTER_MAX = 6_000

export type Failure = Readonly<{ acknowledged: number; wasOpen: boolean }>

/** In an empty directory, flush number `nth` fails, be it while the journal is made or under load. */
export async function failFlush(nth: number, seed: number): Promise<Failure> {
  const directory = freshDirectory('failed-flush')
  const log = join(workplace(), 'failed-flush.log')
  rmSync(log, { force: true })
  const history = new History()
  const wasOpen = await loadUntilFailure(directory, log, history, nth, seed)
  const deeds = readRecordings([log])
  assert.ok(deeds.some(({ type }) => type === 'failed-sync'))
  const end = deeds.length
  await checkCuts({ base: freshDirectory('failed-base'), deeds }, [
    { before: end, luck: 'none' },
    { before: end, luck: 'all' },
  ])
  await serveAgain(directory, history)
  return { acknowledged: history.acknowledged, wasOpen }
}

async function loadUntilFailure(
  directory: string,
  log: string,
  history: History,
  nth: number,
  seed: number,
): Promise<boolean> {
  await using subject = listen({ directory, faults: { log }, wrapper: failing(nth) }, history)
  subject.tell({ type: 'open', directory })
  const opening = await Promise.race([
    subject.report('opened'),
    subject.report('not-opened'),
    subject.exited,
  ])
  if ('type' in opening && opening.type === 'not-opened') return false
  if ('type' in opening) {
    const options = { ...history.start(), seed, batches: BATCHES_AFTER_MAX }
    subject.tell({ type: 'load', options, watched: true })
    const end = await Promise.race([subject.report('loaded'), subject.exited])
    assert.ok(!('type' in end), `flush ${nth} failed and it went on`)
  }
  const { code, signal, stderr } = await subject.exited
  assert.equal(code, EXIT_CODE, `flush ${nth} failed and it ended: ${code ?? signal}\n${stderr}`)
  return 'type' in opening
}

/** What was acknowledged is served after a restart, and more can be. */
async function serveAgain(directory: string, history: History): Promise<void> {
  await using subject = listen({ directory }, history)
  await subject.open()
  history.settle(await subject.dump(history.keys))
  subject.tell({ type: 'load', options: { ...history.start(), seed: 1, batches: 10 } })
  await subject.report('loaded')
  history.settle(await subject.dump(history.keys))
}

/** It is traced from a process aside, so that the one we know is the traced one. */
function failing(nth: number): string[] {
  const calls = 'fsync,fdatasync'
  const options = ['-D', '-f', '-qq', '--seccomp-bpf', '-o', '/dev/null']
  return [
    'strace',
    ...options,
    '-e',
    `trace=${calls}`,
    '-e',
    `inject=${calls}:error=EIO:when=${nth}`,
  ]
}
