/**
 * One run of a process under load, recorded, and what is found where power is cut anywhere in it.
 *
 * The recording has what the process said among what it did to its files, so that for each cut it is
 * known what had been acknowledged by then.
 */
import { cpSync, rmSync } from 'node:fs'
import { join } from 'node:path'

import { random, type Random } from '../../src/std/index.ts'
import type { Report } from './child.ts'
import { History } from './history.ts'
import { checkImage } from './image.ts'
import { readRecordings, RecordedDisk, type Deed, type Luck } from './recording.ts'
import { freshDirectory, isSaying, Subject, workplace } from './subject.ts'

export type Run = Readonly<{ base: string; deeds: readonly Deed[] }>

/** Power is cut before deed number `before` is done. */
export type Cut = Readonly<{ before: number; luck: Luck }>

/** One image in so many is opened with all that belongs to it. */
const WHOLE_EVERY = 10

type RunOptions = Readonly<{
  name: string
  seed: number
  batches: number
  /** No batch is asked for before the last was answered, so that each has a flush of its own. */
  oneByOne?: boolean
  large?: boolean
  /** Said to the shim before the journal is opened, and once it is. */
  faults?: readonly string[]
  laterFaults?: readonly string[]
}>

/** From an empty directory to a clean end, with the journal opened a second time in the middle. */
export async function recordRun(options: RunOptions): Promise<Run> {
  const { name, seed, batches, oneByOne, large, faults = [], laterFaults = [] } = options
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
      ...(large === true && { size: 'large' as const }),
    }
    subject.tell({ type: 'load', options: load, watched: true })
    await subject.report('loaded')
  }
  return { base, deeds: readRecordings(logs) }
}

/**
 * The worst moments there are: each flush is about to end, and all that is not flushed is lost. Once
 * after each change of names, that change is the only thing that is not.
 */
export function worstCuts({ deeds }: Run): Cut[] {
  const cuts: Cut[] = []
  let hasRenamed = false
  for (const [before, { type }] of [...deeds, { type: 'sync' } as const].entries()) {
    if (type === 'create' || type === 'unlink' || type === 'rename') hasRenamed = true
    if (type !== 'sync') continue
    cuts.push({ before, luck: 'none' })
    if (hasRenamed || before === deeds.length) cuts.push({ before, luck: 'names' })
    hasRenamed = false
  }
  return cuts
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
  const image = join(workplace(), 'image')
  let [text, done] = ['', 0]
  for (const [n, cut] of cuts.toSorted((a, b) => a.before - b.before).entries()) {
    for (; done < cut.before; done++) {
      const deed = run.deeds[done]!
      disk.do(deed)
      if (deed.type === 'said') text += deed.text
    }
    disk.cut(image, cut.luck)
    try {
      await checkImage(image, historyOf(text), n % WHOLE_EVERY === 0)
    } catch (error) {
      throw failure(run, cut, error)
    }
  }
  return cuts.length
}

function failure({ deeds }: Run, { before, luck }: Cut, cause: unknown): Error {
  const kept = typeof luck === 'string' ? luck : `as seed ${luck.seed} has it`
  const where = `power was cut before deed ${before} of ${deeds.length}`
  return new Error(`${where}, kept of what was not flushed: ${kept}`, { cause })
}

/** What an observer knew at a cut: a word that was cut off is none. */
export function historyOf(text: string): History {
  const history = new History()
  for (const line of text.split('\n').slice(0, -1)) {
    const report = JSON.parse(line) as Report
    if (isSaying(report)) history.note(report)
    if (report.type === 'dumped') history.settle(report.dump)
  }
  return history
}
