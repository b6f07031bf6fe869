/**
 * One run of a process under load, recorded, and what is found where power is cut anywhere in it.
 *
 * The recording has what the process said among what it did to its files, so that for each cut it is
 * known what had been acknowledged by then.
 */
import { cpSync, rmSync } from 'node:fs'
import { join } from 'node:path'

import { sqliteJournal } from '../../src/journal/index.ts'
import { random, type Random } from '../../src/std/index.ts'
import type { Report } from './child.ts'
import { dumpOf } from './dump.ts'
import { History } from './history.ts'
import { readRecordings, RecordedDisk, type Deed, type Luck } from './recording.ts'
import { freshDirectory, isSaying, Subject, workplace, type SubjectOptions } from './subject.ts'

export type Run = Readonly<{ base: string; deeds: readonly Deed[] }>

/** Power is cut before deed number `before` is done. */
export type Cut = Readonly<{ before: number; luck: Luck }>

type RunOptions = Readonly<{
  name: string
  seed: number
  batches: number
  /** No batch is asked for before the last was answered, so that each has a flush of its own. */
  oneByOne?: boolean
  /** Said to the shim before the journal is opened, and once it is. */
  faults?: readonly string[]
  laterFaults?: readonly string[]
  nodeArgs?: SubjectOptions['nodeArgs']
}>

/** From an empty directory to a clean end, with the journal opened a second time in the middle. */
export async function recordRun(options: RunOptions): Promise<Run> {
  const { name, seed, batches, oneByOne, faults = [], laterFaults = [], nodeArgs = [] } = options
  const directory = freshDirectory(name)
  const base = freshDirectory(`${name}-base`)
  const logs = [0, 1].map((half) => join(workplace(), `${name}-${half}.log`))
  cpSync(directory, base, { recursive: true })
  const history = new History()
  for (const [half, log] of logs.entries()) {
    rmSync(log, { force: true })
    await using subject = new Subject({
      directory,
      faults: { log },
      nodeArgs,
      onReport: (report) => isSaying(report) && history.note(report),
    })
    for (const line of faults) subject.tell({ type: 'faults', line })
    await subject.open()
    history.settle(await subject.dump(history.keys))
    for (const line of laterFaults) subject.tell({ type: 'faults', line })
    const load = {
      ...history.start(),
      seed: seed + half,
      batches: Math.ceil(batches / 2),
      ...(oneByOne === true && { clients: 1, burst: 1 }),
    }
    subject.tell({ type: 'load', options: load, watched: true })
    await subject.report('loaded')
  }
  return { base, deeds: readRecordings(logs) }
}

/** The worst moments there are: each flush is about to end, and all that is not flushed is lost. */
export function worstCuts({ deeds }: Run): Cut[] {
  const flushes = deeds.flatMap(({ type }, before) => (type === 'sync' ? [before] : []))
  return [...flushes, deeds.length].map((before) => ({ before, luck: 'none' }))
}

export function randomCuts({ deeds }: Run, dice: Random, count: number): Cut[] {
  return Array.from({ length: count }, () => ({
    before: dice.below(deeds.length + 1),
    luck: dice.below(8) === 0 ? 'all' : random(dice.below(2 ** 32)),
  }))
}

/** Throws at the first cut after which something is wrong; says how many images were good. */
export async function checkCuts(run: Run, cuts: readonly Cut[]): Promise<number> {
  const disk = new RecordedDisk(run.base)
  let text = ''
  let done = 0
  for (const { before, luck } of cuts.toSorted((a, b) => a.before - b.before)) {
    for (; done < before; done++) {
      const deed = run.deeds[done]!
      disk.do(deed)
      if (deed.type === 'said') text += deed.text
    }
    const image = join(workplace(), 'image')
    disk.cut(image, luck)
    try {
      await checkImage(image, historyOf(text))
    } catch (error) {
      const kept = typeof luck === 'string' ? luck : `as seed ${luck.seed} has it`
      throw new Error(
        `power was cut before deed ${before} of ${run.deeds.length}, kept of what was not flushed: ${kept}`,
        { cause: error },
      )
    }
  }
  return cuts.length
}

async function checkImage(directory: string, history: History): Promise<void> {
  {
    await using journal = await sqliteJournal({ directory })
    history.settle(await dumpOf(journal, history.keys))
  }
}

function historyOf(text: string): History {
  const history = new History()
  const lines = text.split('\n').slice(0, -1)
  for (const line of lines) {
    const report = JSON.parse(line) as Report
    if (isSaying(report)) history.note(report)
    if (report.type === 'dumped') history.settle(report.dump)
  }
  return history
}
